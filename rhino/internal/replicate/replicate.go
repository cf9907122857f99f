// Package replicate brings facts from the control to the regions.
//
// For each region it takes facts from the control's queue with a lease, sends them to
// the region at the same time, and ends the leases of the facts that the region stored.
// A fact may come twice, and facts may come in another order: the region compares
// versions. So the process may end at any time, and any number of them may run.
package replicate

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/smolwc/smolwc/rhino"
	"github.com/smolwc/smolwc/rhino/internal/facts"
	"github.com/smolwc/smolwc/rhino/internal/link"
)

// Options say from where, and to where.
type Options struct {
	Control link.Peer
	Regions map[string]link.Peer
	// Timeout bounds each step.
	Timeout time.Duration
	Logger  *slog.Logger
}

// batch is how many facts are on their way to a region at the same time.
const batch = 64

// The pauses after a failure.
const (
	minPause = 20 * time.Millisecond
	maxPause = time.Second
)

// Run brings facts to all regions until the context ends. A region that is down does
// not hold up others.
func Run(ctx context.Context, o Options) {
	var all sync.WaitGroup
	for region, peer := range o.Regions {
		r := &replicator{Options: o, region: region, peer: peer}
		all.Go(func() { r.run(ctx) })
	}
	all.Wait()
}

type replicator struct {
	Options
	region   string
	peer     link.Peer
	settling sync.WaitGroup // at most one goroutine
}

func (r *replicator) run(ctx context.Context) {
	defer r.settling.Wait()
	pause, failing := minPause, false
	for ctx.Err() == nil {
		err := r.step(ctx)
		switch {
		case err == nil:
			if failing {
				r.Logger.Info("replication goes on", "region", r.region)
			}
			pause, failing = minPause, false
			continue
		case !failing && ctx.Err() == nil:
			r.Logger.Warn("replication waits", "region", r.region, "err", err)
		}
		failing = true
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
		}
		pause = min(2*pause, maxPause)
	}
}

// step takes some facts and brings them to the region.
func (r *replicator) step(ctx context.Context) error {
	all, err := r.take(ctx)
	if err != nil || len(all) == 0 {
		return err
	}
	errs := make([]error, len(all))
	var sending sync.WaitGroup
	for i, f := range all {
		sending.Go(func() { errs[i] = r.send(ctx, f) })
	}
	sending.Wait()
	var s rhino.SettleFacts
	for i, f := range all {
		if errs[i] == nil {
			s.Done = append(s.Done, f.ID)
		} else {
			s.Again, err = append(s.Again, f.ID), errs[i]
		}
	}
	r.settling.Wait()
	r.settling.Go(func() { r.settle(context.WithoutCancel(ctx), s) })
	return err
}

// settle ends the leases while the next facts are taken. If that fails, they expire, and
// the facts come again.
func (r *replicator) settle(ctx context.Context, s rhino.SettleFacts) {
	reply, err := r.call(ctx, r.Control, s)
	if err == nil && reply != rhino.FactsSettled {
		err = unexpected("the control", reply)
	}
	if err != nil {
		r.Logger.Warn("facts will be replicated again", "region", r.region, "err", err)
	}
}

func (r *replicator) take(ctx context.Context) ([]rhino.Fact, error) {
	wait := int(r.Timeout.Milliseconds() / 2)
	reply, err := r.call(ctx, r.Control, rhino.TakeFacts{Region: r.region, Max: batch, WaitMs: wait})
	if err != nil {
		return nil, err
	}
	f, ok := reply.(rhino.Facts)
	if !ok {
		return nil, unexpected("the control", reply)
	}
	return f.Facts, nil
}

func (r *replicator) send(ctx context.Context, f rhino.Fact) error {
	m := f.Message()
	reply, err := r.call(ctx, r.peer, m)
	if err != nil {
		return err
	}
	if _, done, _, _ := facts.Of(m); m == nil || reply != done {
		return unexpected("region "+r.region, reply)
	}
	return nil
}

func (r *replicator) call(ctx context.Context, peer link.Peer, m rhino.Message) (rhino.Message, error) {
	ctx, stop := context.WithTimeout(ctx, r.Timeout)
	defer stop()
	return peer.Call(ctx, m)
}

func unexpected(who string, reply rhino.Message) error {
	return fmt.Errorf("%s answered %s %+v", who, rhino.Name(reply), reply)
}
