package regions_test

import (
	"slices"
	"testing"

	"github.com/smolwc/smolwc/tikv/cftikv/internal/regions"
)

func TestALongScanTakesFewRequests(t *testing.T) {
	c := newCluster(t, 1)
	c.fill(10_000, 8)
	it := c.iterator()
	var keys []string
	n := c.wire.requests(func() {
		it.Seek(t.Context(), nil)
		keys = walk(t, it)
	})
	if len(keys) != 10_000 || !slices.IsSorted(keys) {
		t.Fatalf("%d keys", len(keys))
	}
	if n > 6 { // 16, 64, 256, 1024, 4096 or more, and the rest
		t.Errorf("%d requests", n)
	}
}

func TestAMoveWithinTheBatchCostsNoRequest(t *testing.T) {
	c := newCluster(t, 1)
	c.fill(1000, 8)
	it := c.iterator()
	it.Seek(t.Context(), []byte(number(100)))
	n := c.wire.requests(func() {
		for _, key := range []int{105, 100, 115, 107} {
			it.Seek(t.Context(), []byte(number(key)))
			at(t, it, number(key))
		}
		it.SeekBefore(t.Context(), []byte(number(110)))
		at(t, it, number(109))
		it.Next(t.Context())
		at(t, it, number(110))
	})
	if n != 0 {
		t.Errorf("%d requests", n)
	}
}

// Beyond the last and the first key there is nothing to ask for again.
func TestTheEndsOfTheKeysAreAskedForOnce(t *testing.T) {
	c := newCluster(t, 1)
	c.put("p/b", "1", "p/c", "1")
	it := c.iterator()
	n := c.wire.requests(func() {
		it.Seek(t.Context(), nil)
		for range 3 {
			it.Seek(t.Context(), []byte("d"))
			it.SeekBefore(t.Context(), []byte("a"))
			if it.Valid() {
				t.Error("at a key")
			}
		}
		it.SeekBefore(t.Context(), []byte("d"))
		at(t, it, "c")
	})
	if n != 1 {
		t.Errorf("%d requests", n)
	}
}

func at(t tester, it *regions.Iterator, key string) {
	t.Helper()
	ok(t, it.Err())
	if !it.Valid() || string(it.Key()) != key {
		t.Fatalf("not at %s", key)
	}
}

// A walk backwards seeks before each key that it has come to.
func TestBatchesGrowBackwards(t *testing.T) {
	c := newCluster(t, 1)
	c.fill(10_000, 8)
	it := c.iterator()
	keys := 0
	n := c.wire.requests(func() {
		for it.SeekBefore(t.Context(), []byte("\xff")); it.Valid(); it.SeekBefore(t.Context(), slices.Clone(it.Key())) {
			keys++
		}
		ok(t, it.Err())
	})
	if keys != 10_000 || n > 7 {
		t.Errorf("%d keys in %d requests", keys, n)
	}
}

// Keys that are far apart are read in small batches.
func TestBatchesShrinkWhenTheyAreNotUsed(t *testing.T) {
	c := newCluster(t, 1)
	c.fill(20_000, 8)
	it := c.iterator(func(o *regions.Options) { o.Ahead = -1 })
	it.Seek(t.Context(), nil)
	for range 1000 {
		it.Next(t.Context())
	}
	for i := 3000; i < 20_000; i += 2000 {
		c.wire.keys.Store(0)
		it.Seek(t.Context(), []byte(number(i)))
		at(t, it, number(i))
	}
	if n := c.wire.keys.Load(); n != 16 {
		t.Errorf("the last batch was of %d keys", n)
	}
}

func TestBatchesAreBoundedInBytes(t *testing.T) {
	c := newCluster(t, 1)
	c.fill(600, 32<<10)
	it := c.iterator()
	it.Seek(t.Context(), nil)
	if n := len(walk(t, it)); n != 600 {
		t.Fatalf("%d keys", n)
	}
	if n := c.wire.keys.Load(); n > 64 { // 2 MiB
		t.Errorf("a batch of %d keys", n)
	}
}

func TestOnlyKeys(t *testing.T) {
	c := newCluster(t, 1)
	c.put("p/a", "1")
	it := c.iterator(func(o *regions.Options) { o.KeysOnly = true })
	it.Seek(t.Context(), nil)
	at(t, it, "a")
	if it.Value() != nil {
		t.Errorf("a value: %q", it.Value())
	}
}

// Keys outside of the bounds are not read, and seeks beyond them end at them.
func TestBounds(t *testing.T) {
	c := newCluster(t, 1)
	c.put("o/z", "1", "p/a", "1", "p/b", "1", "p/c", "1", "p/d", "1", "q/a", "1")
	c.split("p/b")
	it := c.iterator(func(o *regions.Options) { o.Start, o.End = []byte("p/b"), []byte("p/d") })
	it.Seek(t.Context(), nil)
	if keys := walk(t, it); !slices.Equal(keys, []string{"b", "c"}) {
		t.Errorf("keys %q", keys)
	}
	it.SeekBefore(t.Context(), []byte("z"))
	at(t, it, "c")
	for _, empty := range []func(){
		func() { it.Seek(t.Context(), []byte("d")) },
		func() { it.SeekBefore(t.Context(), []byte("b")) },
		func() { it.SeekBefore(t.Context(), nil) },
		func() { it.Next(t.Context()) },
	} {
		if empty(); it.Valid() || it.Err() != nil {
			t.Errorf("valid, or %v", it.Err())
		}
	}
	all := c.iterator()
	all.Seek(t.Context(), nil)
	if keys := walk(t, all); len(keys) != 4 {
		t.Errorf("keys %q", keys)
	}
}

// A snapshot does not change when keys are written, deleted or moved to other regions.
func TestASnapshotStays(t *testing.T) {
	c := newCluster(t, 1)
	c.fill(100, 8)
	it := c.iterator()
	c.put("p/zz", "new")
	tx, err := c.store.Begin()
	ok(t, err)
	ok(t, tx.Delete([]byte("p/"+number(50))))
	ok(t, tx.Commit(t.Context()))
	it.Seek(t.Context(), nil)
	if keys := walk(t, it); len(keys) != 100 {
		t.Errorf("%d keys", len(keys))
	}
}
