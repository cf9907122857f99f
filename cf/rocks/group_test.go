//go:build cgo

package rocks

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cf"
)

// A slowEngine takes batches that are written one at a time, when it is told to.
type slowEngine struct {
	begun chan []byte // what a write has
	end   chan error  // how it ends
}

func (e *slowEngine) put(rep []byte) (cf.Position, error) {
	e.begun <- slices.Clone(rep)
	return 7, <-e.end
}

// repOf is the representation of a batch with one entry.
func repOf(t *testing.T, key string, size int) []byte {
	t.Helper()
	var b cf.Batch
	b.PutMeta(key, make([]byte, size))
	rep, err := appendRep(nil, &b, nil)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// Writes that come while one is in the engine are written as one batch, each once,
// and share its outcome.
func TestWritesAreJoined(t *testing.T) {
	for _, want := range []error{nil, errStalled} {
		q, e := &writeQueue{most: 1}, slowEngine{make(chan []byte), make(chan error)}
		var done sync.WaitGroup
		write := func(key string, size int, want error) {
			rep := repOf(t, key, size)
			done.Go(func() {
				pos, err := q.write(t.Context(), rep, e.put)
				if !errors.Is(err, want) || pos != 7 {
					t.Errorf("write of %s: %d, %v", key, pos, err)
				}
			})
		}
		write("first", 10, nil)
		first := <-e.begun
		keys := []string{"a", "b", "c", "d"}
		for i, key := range keys {
			write(key, 10, want)
			q.awaitQueued(t, i+1)
		}
		write("large", maxGroup, nil)
		q.awaitQueued(t, len(keys)+1)
		e.end <- nil
		second := <-e.begun
		e.end <- want
		third := <-e.begun
		e.end <- nil
		done.Wait()
		if n := repCount(first); n != 1 || !bytes.Contains(first, []byte("first")) {
			t.Errorf("the first write has %d entries: %q", n, first)
		}
		at := -1
		for _, key := range keys {
			next := bytes.Index(second, append([]byte{1}, key...)) // a key, led by its length
			if next <= at {
				t.Errorf("%s is at %d, after %d", key, next, at)
			}
			at = next
		}
		if n := repCount(second); n != uint32(len(keys)) {
			t.Errorf("the joined write has %d entries", n)
		}
		if n := repCount(third); n != 1 || !bytes.Contains(third, []byte("large")) {
			t.Errorf("the large write has %d entries", n)
		}
		if q.inside != 0 || len(q.waiting) != 0 {
			t.Errorf("%d writes are left in the engine, %d wait", q.inside, len(q.waiting))
		}
	}
}

// awaitQueued waits until so many writes wait.
func (q *writeQueue) awaitQueued(t *testing.T, n int) {
	t.Helper()
	for range 10_000 {
		q.mu.Lock()
		waiting := len(q.waiting)
		q.mu.Unlock()
		if waiting == n {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%d writes do not wait", n)
}

// Every write of many writers is there afterwards, and positions only grow.
func TestJoinedWritesAreAllThere(t *testing.T) {
	s, err := Open("", Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const writers, each = 16, 200
	var done sync.WaitGroup
	for w := range writers {
		done.Go(func() {
			var last cf.Position
			for i := range each {
				pos, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
					b.PutMeta(fmt.Sprintf("k/%02d/%03d", w, i), []byte{byte(w), byte(i)})
					return nil
				})
				if err != nil || pos <= last {
					t.Errorf("position %d after %d, %v", pos, last, err)
				}
				last = pos
			}
		})
	}
	done.Wait()
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	meta, err := snap.MetaPrefix(t.Context(), "k/")
	if err != nil || len(meta) != writers*each {
		t.Fatalf("%d entries, %v", len(meta), err)
	}
	for w := range writers {
		for i := range each {
			if got := meta[fmt.Sprintf("k/%02d/%03d", w, i)]; !bytes.Equal(got, []byte{byte(w), byte(i)}) {
				t.Errorf("entry %d of writer %d is %v", i, w, got)
			}
		}
	}
}
