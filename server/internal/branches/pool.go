// Package branches opens branches of a database when they are used, and closes them when
// they are not. A branch that is not open holds nothing.
package branches

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// An Opened is an open branch.
type Opened interface {
	// Close is called once, when nothing uses the branch.
	Close() error
}

// A Pool opens branches. It is safe for concurrent use.
type Pool[T Opened] struct {
	// Open opens a branch. Its context ends when the pool is closed.
	Open func(ctx context.Context, name string) (T, error)
	// Most is how many branches are open at most.
	Most int
	// Idle is after how long without use a branch is closed.
	Idle time.Duration
	// Failed is told of a branch that could not be closed.
	Failed func(name string, err error)

	mu     sync.Mutex
	places map[string]*place[T]
	closed bool
	// how often a branch was opened, and how often it could not be
	opened, failed int64
}

// A place is that of a branch which is opened, open or being closed.
type place[T Opened] struct {
	name   string
	opened chan struct{} // is closed when it is open, or could not be opened
	it     T
	err    error // of the open

	uses  int
	since time.Time   // the last use, while nothing uses it
	timer *time.Timer // until it is closed; nil before the first use ended

	ending  bool
	drained chan struct{} // is closed when it ends and the last use ended
	closed  bool          // nothing is open: it does not count
	shut    chan struct{} // is closed with closed
	gone    chan struct{} // is closed when the place is free

	// cut ends the contexts of all uses.
	cut    context.Context
	setCut context.CancelCauseFunc
}

var (
	// ErrFull matches the error of a use while all places are in use.
	ErrFull = errors.New("the branches that may be open are all in use; try again")
	// ErrEnding is the cause of contexts that end because the pool is closed, and the error of
	// later uses.
	ErrEnding = errors.New("the branches are being closed")
	// ErrDropped is the cause of contexts that end because the branch is dropped.
	ErrDropped = errors.New("the branch is dropped")
)

// Use gives a branch, and opens it if necessary. The context that it returns ends with ctx,
// or when the branch must be closed. The caller calls done when it no longer uses the branch.
func (p *Pool[T]) Use(ctx context.Context, name string) (it T, using context.Context, done func(), err error) {
	for {
		pl, wait, err := p.take(name)
		if err != nil {
			return it, ctx, nil, err
		}
		if wait != nil {
			select {
			case <-wait:
				continue
			case <-ctx.Done():
				return it, ctx, nil, ctx.Err()
			}
		}
		select {
		case <-pl.opened:
		case <-ctx.Done():
			p.release(pl)
			return it, ctx, nil, ctx.Err()
		}
		if err := pl.err; err != nil {
			if ended := context.Cause(pl.cut); ended != nil {
				err = ended
			}
			p.release(pl)
			return it, ctx, nil, err
		}
		using, cancel := context.WithCancelCause(ctx)
		forget := context.AfterFunc(pl.cut, func() { cancel(context.Cause(pl.cut)) })
		return pl.it, using, func() { forget(); cancel(nil); p.release(pl) }, nil
	}
}

// take takes a place for a use, or says what to wait for before another try.
func (p *Pool[T]) take(name string) (pl *place[T], wait <-chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, ErrEnding
	}
	if pl = p.places[name]; pl != nil {
		if pl.ending {
			return nil, pl.gone, nil
		}
		pl.uses++
		if pl.timer != nil {
			pl.timer.Stop()
		}
		return pl, nil, nil
	}
	if p.taken() >= p.Most {
		wait, err := p.makeRoom()
		return nil, wait, err
	}
	pl = p.add(name)
	pl.uses = 1
	go func() {
		it, err := p.Open(pl.cut, name)
		p.mu.Lock()
		defer p.mu.Unlock()
		if err == nil {
			p.opened++
		} else if pl.cut.Err() == nil {
			p.failed++
		}
		if pl.it, pl.err = it, err; err != nil && !pl.ending {
			delete(p.places, name)
			pl.closed = true
			defer close(pl.gone)
			defer close(pl.shut)
		}
		close(pl.opened)
	}()
	return pl, nil, nil
}

// add adds a place.
func (p *Pool[T]) add(name string) *place[T] {
	pl := &place[T]{name: name, opened: make(chan struct{}), drained: make(chan struct{}), shut: make(chan struct{}), gone: make(chan struct{})}
	pl.cut, pl.setCut = context.WithCancelCause(context.Background())
	if p.places == nil {
		p.places = map[string]*place[T]{}
	}
	p.places[name] = pl
	return pl
}

// taken is the number of places that count.
func (p *Pool[T]) taken() (n int) {
	for _, pl := range p.places {
		if !pl.closed {
			n++
		}
	}
	return n
}

// makeRoom is closed when a place no longer counts. Nobody waits for the uses of others to end
// while a branch is idle.
func (p *Pool[T]) makeRoom() (<-chan struct{}, error) {
	var oldest, used *place[T]
	for _, pl := range p.places {
		switch {
		case pl.closed:
		case pl.ending && pl.uses == 0:
			return pl.shut, nil
		case pl.ending:
			used = pl
		case pl.uses == 0 && (oldest == nil || pl.since.Before(oldest.since)):
			oldest = pl
		}
	}
	switch {
	case oldest != nil:
		p.end(oldest, ErrEnding, nil)
		return oldest.shut, nil
	case used != nil:
		return used.shut, nil
	}
	return nil, fmt.Errorf("%w: %d", ErrFull, p.Most)
}

func (p *Pool[T]) release(pl *place[T]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pl.uses--; pl.uses > 0 || pl.err != nil && !pl.ending {
		return
	}
	pl.since = time.Now()
	switch {
	case pl.ending:
		close(pl.drained)
	case pl.timer == nil:
		pl.timer = time.AfterFunc(p.Idle, func() { p.expire(pl) })
	default:
		pl.timer.Reset(p.Idle)
	}
}

// expire closes a branch that was not used for long.
func (p *Pool[T]) expire(pl *place[T]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pl.uses == 0 && !pl.ending && p.places[pl.name] == pl && time.Since(pl.since) >= p.Idle {
		p.end(pl, ErrEnding, nil)
	}
}

// end closes a branch when its uses have ended, for which it cancels them, calls then, unless
// it is nil, and frees the place.
func (p *Pool[T]) end(pl *place[T], cause error, then func()) {
	pl.ending = true
	if pl.timer != nil {
		pl.timer.Stop()
	}
	if pl.uses == 0 {
		close(pl.drained)
	}
	pl.setCut(cause)
	go func() {
		<-pl.drained
		<-pl.opened
		if pl.err == nil {
			if err := pl.it.Close(); err != nil {
				p.Failed(pl.name, err)
			}
		}
		p.close(pl)
		if then != nil {
			then()
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.places[pl.name] == pl {
			delete(p.places, pl.name)
			close(pl.gone)
		}
	}()
}

// close says that nothing is open in a place.
func (p *Pool[T]) close(pl *place[T]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !pl.closed {
		pl.closed = true
		close(pl.shut)
	}
}

// Without runs fn while the branch is closed: it cancels all uses with ErrDropped, and later
// ones wait for the end of fn. fn also runs to its end if ctx ends before, but not if it ends
// before another one that closes the branch.
func (p *Pool[T]) Without(ctx context.Context, name string, fn func() error) error {
	for {
		result := make(chan error, 1)
		wait, err := p.without(name, func() { result <- fn() })
		if err != nil {
			return err
		}
		if wait == nil {
			select {
			case err := <-result:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (p *Pool[T]) without(name string, fn func()) (wait <-chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pl := p.places[name]
	switch {
	case p.closed:
		return nil, ErrEnding
	case pl == nil:
		pl = p.add(name)
		pl.err, pl.closed = ErrDropped, true
		close(pl.opened)
		close(pl.shut)
	case pl.ending:
		return pl.gone, nil
	}
	p.end(pl, ErrDropped, fn)
	return nil, nil
}

// Has reports whether a branch is open, or being opened or closed.
func (p *Pool[T]) Has(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.places[name] != nil
}

// Len is the number of branches that are open, or being opened or closed.
func (p *Pool[T]) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.places)
}

// Counts are how many branches are open, or being opened or closed; how often one was opened,
// and how often one could not be.
func (p *Pool[T]) Counts() (open int, opened, failed int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken(), p.opened, p.failed
}

// Close cancels all uses, waits for their ends, and closes the branches. Later uses fail.
func (p *Pool[T]) Close() {
	p.mu.Lock()
	p.closed = true
	var all []*place[T]
	for _, pl := range p.places {
		all = append(all, pl)
		if !pl.ending {
			p.end(pl, ErrEnding, nil)
		}
	}
	p.mu.Unlock()
	for _, pl := range all {
		<-pl.gone
	}
}
