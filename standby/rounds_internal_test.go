package standby

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Writes that come while one waits for the standby go on together when it has returned.
func TestWritesGoInRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rounds{most: time.Hour}
		r.enter(t.Context())
		var entered atomic.Int32
		end := make(chan bool)
		for range 3 {
			go func() {
				r.enter(t.Context())
				entered.Add(1)
				<-end
				r.leave()
			}()
			synctest.Wait()
		}
		if n := entered.Load(); n != 0 {
			t.Errorf("%d writes do not wait for the one on its way", n)
		}
		r.leave()
		synctest.Wait()
		if n := entered.Load(); n != 3 {
			t.Errorf("%d of 3 writes go on together", n)
		}
		close(end)
	})
}

// A write waits for a bounded time only: one on its way may need a lock that it has.
func TestAWriteLeavesTheRoundBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, began := rounds{most: mostGathering}, time.Now()
		r.enter(t.Context())
		r.enter(t.Context())
		if waited := time.Since(began); waited != mostGathering {
			t.Errorf("it waited for %v", waited)
		}
	})
}
