package writequeue

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
)

// A context ends a write's wait for slow writes before it. The write is then not made,
// and later writes are.
func TestAContextEndsTheWaitForOtherWrites(t *testing.T) {
	q, e := &Queue{most: 1}, slowEngine{make(chan []byte), make(chan error)}
	var done sync.WaitGroup
	write := func(ctx context.Context, key string, want error) {
		rep := repOf(key, 10)
		done.Go(func() {
			if _, err := q.Write(ctx, rep, e.put); !errors.Is(err, want) {
				t.Errorf("write of %s: %v", key, err)
			}
		})
	}
	inEngine, leave := context.WithCancel(t.Context())
	write(inEngine, "first", nil)
	<-e.begun
	leave() // too late: Write returns the outcome of the write
	for _, key := range []string{"a", "b"} {
		ctx, end := context.WithCancel(t.Context())
		write(ctx, "gone-"+key, context.Canceled)
		q.awaitQueued(t, 1)
		end()
		q.awaitQueued(t, 0)
	}
	write(t.Context(), "last", nil)
	q.awaitQueued(t, 1)
	e.end <- nil
	if rep := <-e.begun; bytes.Contains(rep, []byte("gone")) || repCount(rep) != 1 {
		t.Errorf("what nobody waits for is written: %q", rep)
	}
	e.end <- nil
	done.Wait()
	if q.inside != 0 || len(q.waiting) != 0 {
		t.Errorf("%d writes are left in the engine, %d wait", q.inside, len(q.waiting))
	}
}
