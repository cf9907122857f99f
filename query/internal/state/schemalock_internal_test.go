package state

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/smolwc/smolwc/internal/lock"
)

// However long a change of the schema waits for a write, another write waits for it for less
// than a tenth of a second.
func TestAWaitingChangeStopsNoWriteForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := schemaLock{lock.NewRW()}
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(l.RLock(t.Context())) // a write that takes long
		changing, end := context.WithCancel(t.Context())
		changed := make(chan error)
		for range 3 {
			go func() { changed <- l.Lock(changing) }()
			time.Sleep(7 * time.Millisecond)
		}
		waits := 0
		for began := time.Now(); time.Since(began) < 5*time.Minute; {
			asked := time.Now()
			must(l.RLock(t.Context()))
			if waited := time.Since(asked); waited > 100*time.Millisecond {
				t.Fatalf("after %v a write waited for %v", asked.Sub(began), waited)
			} else if waited > 0 {
				waits++
			}
			l.RUnlock()
			time.Sleep(time.Millisecond)
		}
		if waits == 0 {
			t.Error("no write has waited")
		}
		end()
		for range 3 {
			if err := <-changed; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		l.RUnlock()
		must(l.Lock(t.Context()))
		l.Unlock()
	})
}

// Writes that are always under way, each for a shorter time than a turn, let a change in.
func TestAChangeComesInBetweenWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := schemaLock{lock.NewRW()}
		ctx, end := context.WithCancel(t.Context())
		var writers sync.WaitGroup
		for i := range 20 {
			writers.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				for ctx.Err() == nil && l.RLock(ctx) == nil {
					time.Sleep(longTurn - time.Millisecond)
					l.RUnlock()
				}
			})
		}
		time.Sleep(time.Second)
		if err := l.Lock(t.Context()); err != nil {
			t.Fatal(err)
		}
		end()
		l.Unlock()
		writers.Wait()
	})
}
