package server

import (
	"context"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
)

// A server that has one caller, who asks for one row after another, is faster on one
// processor: with more of them Go wakes another one up for each step of a call, only
// to find that there is nothing left to do there (docs/performance.md). So the process
// has one processor while that is so, and all of them otherwise.

const (
	lookEvery = 5 * time.Millisecond
	// calmLooks is how long callers have to come one after another before they
	// are served by one processor.
	calmLooks = 3
	// idleLooks is how long nobody calls before nobody looks.
	idleLooks = 200

	fewRows    = 1000 // that a read may want
	fewEntries = 10   // that a write may have
)

// processors sets how many processors the process has, by the calls that come.
type processors struct {
	set func(one bool)

	underWay, begun atomic.Int64 // calls
	wanted          atomic.Bool  // there was work for more than one since the last look
	one             atomic.Bool  // there is one
	asleep          atomic.Bool  // nobody looks
	wake            chan struct{}

	last       int64 // calls that had begun at the last look
	calm, idle int   // looks since there was work for more than one, and since there was any
}

func newProcessors(set func(one bool)) *processors {
	return &processors{set: set, wake: make(chan struct{}, 1)}
}

// setProcessors sets how many processors the process has: one, or what Go finds right.
func setProcessors(one bool) {
	if one {
		runtime.GOMAXPROCS(1)
	} else {
		runtime.SetDefaultGOMAXPROCS()
	}
}

// processorsGiven reports whether there is nothing to choose: the user has chosen, or
// there is only one.
func processorsGiven() bool { return os.Getenv("GOMAXPROCS") != "" || runtime.GOMAXPROCS(0) == 1 }

// begin takes note of a call that begins. A nil p does nothing.
func (p *processors) begin() {
	if p == nil {
		return
	}
	p.begun.Add(1)
	if p.underWay.Add(1) > 1 {
		p.want()
	}
	if p.asleep.Load() {
		p.poke()
	}
}

// arrived takes note of a call's request.
func (p *processors) arrived(req any) {
	if p != nil && !isSmall(req) {
		p.want()
	}
}

// end takes note of the end of a call.
func (p *processors) end() {
	if p != nil {
		p.underWay.Add(-1)
	}
}

// want says that there is work for more than one processor.
func (p *processors) want() {
	if !p.wanted.Load() {
		p.wanted.Store(true)
	}
	if p.one.Load() {
		p.poke()
	}
}

func (p *processors) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// isSmall reports whether a request asks for little: a row, or a few.
func isSmall(req any) bool {
	switch r := req.(type) {
	case *bigtablepb.MutateRowRequest, *bigtablepb.CheckAndMutateRowRequest, *bigtablepb.ReadModifyWriteRowRequest, *bigtablepb.PingAndWarmRequest:
		return true
	case *bigtablepb.MutateRowsRequest:
		return len(r.GetEntries()) <= fewEntries
	case *bigtablepb.ReadRowsRequest:
		if len(r.GetRows().GetRowRanges()) == 0 && len(r.GetRows().GetRowKeys()) > 0 {
			return len(r.GetRows().GetRowKeys()) <= fewRows
		}
		return r.GetFilter() == nil && r.GetRowsLimit() > 0 && r.GetRowsLimit() <= fewRows
	}
	return false
}

// run sets the processors until the context ends, and leaves all of them.
func (p *processors) run(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	defer p.choose(false)
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
			if p.wanted.Load() {
				p.choose(false)
			}
		case <-ticker.C:
			if p.look(); p.idle >= idleLooks && !p.sleep(ctx, ticker) {
				return
			}
		}
	}
}

// sleep waits for the next call. It reports whether there is one before the context
// ends.
func (p *processors) sleep(ctx context.Context, ticker *time.Ticker) bool {
	p.asleep.Store(true)
	defer p.asleep.Store(false)
	p.idle = 0
	if p.begun.Load() != p.last { // by one that has not seen that nobody looks
		return true
	}
	ticker.Stop()
	defer ticker.Reset(lookEvery)
	select {
	case <-p.wake:
		return true
	case <-ctx.Done():
		return false
	}
}

// look is called every now and then, and chooses. A call that has been under way since
// the last look is a long one, and worth all processors.
func (p *processors) look() {
	begun := p.begun.Load()
	calls := begun - p.last
	p.last = begun
	switch long := calls == 0 && p.underWay.Load() > 0; {
	case p.wanted.Swap(false) || long:
		p.calm, p.idle = 0, 0
		p.choose(false)
	case calls > 0:
		p.idle = 0
		if p.calm++; p.calm >= calmLooks {
			p.choose(true)
		}
	default:
		p.idle++
	}
}

func (p *processors) choose(one bool) {
	if p.one.Load() != one {
		p.one.Store(one)
		p.set(one)
	}
}
