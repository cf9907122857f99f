package regions_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/tikv/cftikv/internal/regions"
	"github.com/tikv/client-go/v2/tikvrpc"
)

// newSplit is a cluster of n keys in regions of 100.
func newSplit(t tester, n int) *cluster {
	t.Helper()
	c := newCluster(t, 1)
	c.fill(n, 8)
	for i := 100; i < n; i += 100 {
		c.split("p/" + number(i))
	}
	values(t, c.iterator(func(o *regions.Options) { o.Ahead = -1 })) // learns the regions
	c.wire.most.Store(0)
	c.wire.keys.Store(0)
	return c
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Error("not within a minute: ", what)
			return
		}
	}
}

func TestRegionsAreReadAtTheSameTime(t *testing.T) {
	c := newSplit(t, 2000)
	var together atomic.Bool
	f := func(r *tikvrpc.Request) error { // from the key 1000 on, four requests wait for each other
		if string(r.Scan().StartKey) >= "p/"+number(1000) {
			eventually(t, "four requests at once", func() bool { return together.Load() || c.wire.running.Load() == 4 })
			together.Store(true)
		}
		return nil
	}
	it := c.iterator()
	it.SetSizes(16, 64, 16)
	it.Seek(t.Context(), nil)
	c.wire.before.Store(&f)
	if n := len(walk(t, it)); n != 2000 {
		t.Errorf("%d keys", n)
	}
	if n := c.wire.most.Load(); n > 4 {
		t.Errorf("%d requests at once", n)
	}
}

// What nobody takes is not read: two batches for each of the regions ahead.
func TestReadingAheadIsBounded(t *testing.T) {
	c := newSplit(t, 2000)
	it := c.iterator(func(o *regions.Options) { o.Ahead = 3 })
	it.SetSizes(4, 16, 4)
	const most = 1 + 3 + 3*2 // a batch of 4, three of 16, and those that wait
	before := c.wire.scans.Load()
	it.Seek(t.Context(), nil)
	for range 4 + 2*16 {
		it.Next(t.Context())
	}
	eventually(t, "batches that wait", func() bool { return c.wire.scans.Load()-before >= most })
	it.Close()
	if n := c.wire.scans.Load() - before; n != most {
		t.Errorf("%d requests", n)
	}
}

// Short scans read nothing that they do not need.
func TestShortScansDoNotReadAhead(t *testing.T) {
	c := newSplit(t, 2000)
	it := c.iterator()
	n := c.wire.requests(func() {
		it.Seek(t.Context(), nil)
		for range 150 {
			it.Next(t.Context())
		}
		it.Close()
	})
	if most := c.wire.most.Load(); most != 1 || n > 7 {
		t.Errorf("%d requests, %d at once", n, most)
	}
}

// A seek into the next batch takes it from those that were read ahead.
func TestSeeksKeepWhatWasReadAhead(t *testing.T) {
	withoutSleep(t)
	c := newCluster(t, 1)
	c.fill(5000, 8)
	it := c.iterator()
	it.SetSizes(100, 100, 200)
	before := c.wire.scans.Load()
	it.Seek(t.Context(), nil)
	for range 350 {
		it.Next(t.Context())
	}
	eventually(t, "two batches that wait", func() bool { return c.wire.scans.Load()-before == 4+2 })
	f := func(*tikvrpc.Request) error { return errors.New("connection refused") }
	c.wire.before.Store(&f)
	it.Seek(t.Context(), []byte(number(430)))
	at(t, it, number(430))
}

// A scan that fails far ahead first returns all keys before that, and can go on.
func TestAScanThatFailsAhead(t *testing.T) {
	withoutSleep(t)
	c := newSplit(t, 2000)
	it := c.iterator()
	it.SetSizes(16, 64, 50)
	it.Seek(t.Context(), nil)
	seen := 0
	for ; it.Valid(); it.Next(t.Context()) {
		at(t, it, number(seen))
		if seen++; seen == 150 {
			c.mock.StopStore(c.ids[0])
		}
	}
	if !errors.Is(it.Err(), cf.ErrUnavailable) || seen < 150 || seen == 2000 {
		t.Fatalf("%d keys, and %v", seen, it.Err())
	}
	c.mock.StartStore(c.ids[0])
	it.Seek(t.Context(), []byte(number(seen)))
	if n := len(walk(t, it)); n != 2000-seen {
		t.Errorf("%d keys after the first %d", n, seen)
	}
}

// A caller that waits for a batch of another goroutine ends with its context.
func TestADeadlineEndsTheWaitForABatchAhead(t *testing.T) {
	c := newSplit(t, 2000)
	it := c.iterator()
	it.SetSizes(16, 64, 16)
	it.Seek(t.Context(), nil)
	held := make(chan struct{})
	f := func(*tikvrpc.Request) error { <-held; return nil }
	c.wire.before.Store(&f)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	for it.Valid() {
		it.Next(ctx)
	}
	if it.Err() != context.DeadlineExceeded {
		t.Errorf("%v", it.Err())
	}
	close(held)
	it.Seek(t.Context(), []byte(number(500)))
	at(t, it, number(500))
}
