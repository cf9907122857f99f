package lock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/smolwc/smolwc/internal/lock"
)

// A context ends a wait. A waiter that gave up has no later effect: others do not wait
// for it, and it does not get the lock.
func TestAContextEndsAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lock.NewRW()
		if err := l.RLock(t.Context()); err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var waiting sync.WaitGroup
		waiting.Go(func() {
			if err := l.Lock(short); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got the lock that is shared: %v", err)
			}
		})
		synctest.Wait()
		waiting.Go(func() {
			if err := l.RLock(t.Context()); err != nil { // waits after the waiter that gives up
				t.Error(err)
			}
		})
		waiting.Wait()
		l.RUnlock()
		l.RUnlock()
		if err := l.Lock(t.Context()); err != nil {
			t.Fatal(err)
		}
		done, end := context.WithCancel(t.Context())
		end()
		if err := l.RLock(done); !errors.Is(err, context.Canceled) {
			t.Errorf("shared a lock that another has: %v", err)
		}
		l.Unlock()
	})
}

// An exclusive lock excludes all others.
func TestOneAtATime(t *testing.T) {
	l := lock.NewRW()
	n := 0
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				if err := l.Lock(t.Context()); err != nil {
					t.Error(err)
				}
				n++
				l.Unlock()
				if err := l.RLock(t.Context()); err != nil {
					t.Error(err)
				}
				_ = n
				l.RUnlock()
			}
		})
	}
	all.Wait()
	if n != 800 {
		t.Errorf("counted %d of 800", n)
	}
}
