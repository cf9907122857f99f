package regions

import (
	"bytes"
	"context"
	"sync"
)

// An ahead reads pages before they are needed, in lanes: a lane reads one region by one
// goroutine. The lanes are bounds of keys, so a region that splits or merges meanwhile
// changes nothing but the number of requests.
type ahead struct {
	cancel context.CancelFunc
	open   chan struct{} // one for each lane that is not read to its end, and for each held
	held   int           // lanes that must not open yet
	lanes  chan *lane    // in order, closed after the last
	err    error         // the reason that there are no more lanes, set before they are closed
	lane   *lane         // the one that pages are taken from
}

type lane struct {
	pages chan page // in order, closed after the last
	err   error     // the reason that there are no more pages, set before they are closed
}

// readAhead begins to read from a raw key. It goes on after the caller's context ends,
// until cancel is called. It begins with one lane, and each page that is taken opens
// another.
func readAhead(ctx context.Context, s *source, from []byte, lanes int, running *sync.WaitGroup) *ahead {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a := &ahead{cancel: cancel, open: make(chan struct{}, lanes), lanes: make(chan *lane, lanes)}
	for ; a.held < lanes-1; a.held++ {
		a.open <- struct{}{}
	}
	running.Go(func() {
		defer close(a.lanes)
		a.err = a.plan(ctx, s, from, running)
	})
	return a
}

// plan opens a lane for each region. It waits while there are enough.
func (a *ahead) plan(ctx context.Context, s *source, from []byte, running *sync.WaitGroup) error {
	for bytes.Compare(from, s.End) < 0 {
		select {
		case a.open <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		loc, err := s.store.GetRegionCache().LocateKey(s.backoffer(ctx), from)
		if err != nil {
			return wrap(ctx, err)
		}
		r := request{from: from, to: s.End, keys: s.sizes.most}
		r.clamp(loc)
		l := &lane{pages: make(chan page, 1)}
		running.Go(func() {
			defer close(l.pages)
			l.err = l.run(ctx, s, r)
		})
		a.lanes <- l // with room for all that are open
		from = r.to
	}
	return nil
}

func (l *lane) run(ctx context.Context, s *source, r request) error {
	for bytes.Compare(r.from, r.to) < 0 {
		p, err := s.fetch(ctx, r)
		if err != nil {
			return err
		}
		select {
		case l.pages <- p:
		case <-ctx.Done():
			return ctx.Err()
		}
		r.from = p.hi
	}
	return nil
}

// next returns the next page, which may be empty. After the last page it must not be
// called.
func (a *ahead) next(ctx context.Context) (page, error) {
	for ctx.Err() == nil {
		if a.lane == nil {
			select {
			case a.lane = <-a.lanes:
			case <-ctx.Done():
				continue
			}
			if a.lane == nil {
				return page{}, a.err
			}
		}
		select {
		case p, ok := <-a.lane.pages:
			if ok {
				a.widen()
				return p, nil
			}
			if a.lane.err != nil {
				return page{}, a.lane.err
			}
			a.lane = nil
			<-a.open
		case <-ctx.Done():
		}
	}
	return page{}, ctx.Err()
}

func (a *ahead) widen() {
	if a.held > 0 {
		a.held--
		<-a.open
	}
}
