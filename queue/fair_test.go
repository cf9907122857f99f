package queue_test

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/queue"
)

var crowd = flag.Int("crowd", 20_000, "how many items one tenant has in TestOneTenantDoesNotHoldUpAnother")

// fill enqueues items in a zone, a thousand in a transaction.
func (f *fixture) fill(zone string, n int, i queue.Item) {
	f.Helper()
	for n > 0 {
		some := min(n, 1000)
		f.do(func(tx *query.Tx) error {
			for range some {
				if _, err := f.q.Enqueue(ctx, tx, zone, i); err != nil {
					return err
				}
			}
			return nil
		})
		n -= some
	}
}

// The item of a tenant with one is taken after a few visits of the zone of a tenant with
// very many.
func TestOneTenantDoesNotHoldUpAnother(t *testing.T) {
	f := begin(t)
	f.fill("crowd", *crowd, queue.Item{Type: "mail"})
	const perVisit, visits = 10, 3
	var ran atomic.Int64
	var gate sync.RWMutex // stops the crowd
	running, served := make(chan struct{}), make(chan int64, 1)
	o := quick()
	o.PerVisit, o.Visits = perVisit, 1
	end := work(t, f.q, queue.Handlers{
		"mail": func(context.Context, *queue.Job) error {
			gate.RLock()
			defer gate.RUnlock()
			if ran.Add(1) == 50 {
				close(running)
			}
			return nil
		},
		"alone": func(context.Context, *queue.Job) error { served <- ran.Load(); return nil },
	}, o)
	<-running
	gate.Lock()
	before := ran.Load()
	f.fill("one", 1, queue.Item{Type: "alone"})
	gate.Unlock()
	if n := <-served - before; n > visits*perVisit {
		t.Errorf("%d items of the crowd ran before the one", n)
	}
	end()
}

// Zones share the workers by their weights while all workers are busy, however few items
// a visit can take.
func TestWeightsHoldWhileAllWorkersAreBusy(t *testing.T) {
	for _, workers := range []int{1, 4, 25} {
		f := begin(t)
		const n = 1200
		f.do(func(tx *query.Tx) error { return f.q.Configure(ctx, tx, "heavy", queue.ZoneConfig{Weight: 3}) })
		f.fill("heavy", n, queue.Item{Type: "mail"})
		f.fill("light", n, queue.Item{Type: "mail"})
		var heavy, light atomic.Int64
		enough := make(chan struct{})
		o := quick()
		o.Workers, o.PerVisit = workers, 5
		end := work(t, f.q, queue.Handlers{"mail": func(_ context.Context, j *queue.Job) error {
			if j.Zone() == "light" {
				light.Add(1)
			} else if heavy.Add(1) == n/2 {
				close(enough)
			}
			return nil
		}}, o)
		<-enough
		if ratio := n / 2 / float64(light.Load()); ratio < 2 || ratio > 4 {
			t.Errorf("%d workers: a zone of weight 3 had %.2f times the items of one of weight 1", workers, ratio)
		}
		end()
	}
}

// Limits of zones and of keys hold while many items wait and two workers run.
func TestLimitsHoldUnderLoad(t *testing.T) {
	f := begin(t)
	const n, limit, perKey = 150, 5, 2
	f.do(func(tx *query.Tx) error {
		return f.q.Configure(ctx, tx, "acme", queue.ZoneConfig{Limit: limit, PerKey: perKey})
	})
	f.do(func(tx *query.Tx) error {
		for i := range n {
			if _, err := f.q.Enqueue(ctx, tx, "acme", queue.Item{Type: "mail", Key: fmt.Sprint(i % 4), Payload: fmt.Append(nil, i%4)}); err != nil {
				return err
			}
		}
		return nil
	})
	var mu sync.Mutex
	now, all, done := map[string]int{}, 0, 0
	change := func(key string, by int) {
		mu.Lock()
		defer mu.Unlock()
		now[key] += by
		all += by
		if now[key] > perKey || all > limit {
			t.Errorf("%d items of the key and %d of the zone run", now[key], all)
		}
		if by < 0 {
			done++
		}
	}
	h := queue.Handlers{"mail": func(ctx context.Context, j *queue.Job) error {
		change(string(j.Payload()), 1)
		time.Sleep(time.Millisecond)
		change(string(j.Payload()), -1)
		return nil
	}}
	ends := []func(){work(t, f.q, h, quick()), work(t, f.q, h, quick())}
	waitFor(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return done == n
	})
	for _, end := range ends {
		end()
	}
}
