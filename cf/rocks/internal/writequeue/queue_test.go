package writequeue

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/wal"
)

// A slowEngine takes one batch at a time, when the test lets it.
type slowEngine struct {
	begun chan []byte // what a write has
	end   chan error  // how it ends
}

func (e *slowEngine) put(rep []byte) (cf.Position, error) {
	e.begun <- slices.Clone(rep)
	return 7, <-e.end
}

// repOf is the representation of a batch with one entry.
func repOf(key string, size int) []byte {
	rep := append(binary.LittleEndian.AppendUint32(make([]byte, 8), 1), wal.RepPut)
	rep = append(binary.AppendUvarint(rep, uint64(len(key))), key...)
	return append(binary.AppendUvarint(rep, uint64(size)), make([]byte, size)...)
}

// Writes that come while another is in the engine are joined into one batch. Each is
// written once, and all share the outcome.
func TestWritesAreJoined(t *testing.T) {
	for _, want := range []error{nil, errors.New("refused")} {
		q, e := &Queue{most: 1}, slowEngine{make(chan []byte), make(chan error)}
		var done sync.WaitGroup
		write := func(key string, size int, want error) {
			rep := repOf(key, size)
			done.Go(func() {
				pos, err := q.Write(t.Context(), rep, e.put)
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

// awaitQueued waits until n writes wait.
func (q *Queue) awaitQueued(t *testing.T, n int) {
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

// The callers of a group may join the next one, if they write again at once: writes of four
// goroutines go by four. Otherwise single ones and groups of three would take turns.
func TestTheCallersOfAGroupJoinTheNextOne(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that the order of goroutines is nearly fixed
	q, rep, puts := &Queue{most: 1}, repOf("key", 10), 0
	put := func([]byte) (cf.Position, error) {
		puts++ // one at a time
		time.Sleep(time.Microsecond)
		return 0, nil
	}
	const goroutines, writes = 4, 250
	var done sync.WaitGroup
	for range goroutines {
		done.Go(func() {
			for range writes {
				if _, err := q.Write(t.Context(), rep, put); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
	if most := writes * 3 / 2; puts > most {
		t.Errorf("%d writes went in %d groups; want %d at most", goroutines*writes, puts, most)
	}
}
