package queue

import (
	"context"
	"errors"

	"github.com/smolwc/smolwc/query"
)

// ends ends the jobs of a worker. Those that end while a transaction commits share the
// next one.
type ends struct {
	q    *Queue
	come chan *end
}

type end struct {
	fn   func(context.Context, *query.Tx) error
	err  error
	done chan struct{}
}

// mostEnds is how many jobs one transaction ends at most.
const mostEnds = 64

func newEnds(q *Queue, workers int) *ends { return &ends{q, make(chan *end, workers)} }

// do runs fn in a transaction. An error of fn does not concern others in it.
func (s *ends) do(fn func(context.Context, *query.Tx) error) error {
	e := &end{fn: fn, done: make(chan struct{})}
	s.come <- e
	<-e.done
	return e.err
}

// close lets run return. There must be no further call of do.
func (s *ends) close() { close(s.come) }

func (s *ends) run(ctx context.Context) {
	for e := range s.come {
		all := []*end{e}
		for len(all) < mostEnds {
			e := s.more()
			if e == nil {
				break
			}
			all = append(all, e)
		}
		s.commit(ctx, all)
	}
}

// more is another one that came, or nil.
func (s *ends) more() *end {
	select {
	case e := <-s.come:
		return e
	default:
		return nil
	}
}

// commit ends jobs in one transaction. If one fails for a reason of its own, each gets
// its own transaction.
func (s *ends) commit(ctx context.Context, all []*end) {
	err := s.q.update(ctx, func(tx *query.Tx) error {
		for _, e := range all {
			if e.err = e.fn(ctx, tx); e.err != nil && !errors.Is(e.err, ErrLeaseLost) {
				return e.err
			}
		}
		return nil
	})
	if err != nil && len(all) > 1 && !passes(err) {
		for i := range all {
			s.commit(ctx, all[i:i+1])
		}
		return
	}
	for _, e := range all {
		if err != nil {
			e.err = err
		}
		close(e.done)
	}
}
