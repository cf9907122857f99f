package control

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/queue"
	"github.com/smolwc/smolwc/rhino"
	"github.com/smolwc/smolwc/rhino/internal/facts"
)

// The limits of a replicator's connection.
const (
	maxTake = 100
	maxHeld = 1000 // facts that were taken and not settled
	// look is how often the queue is looked at for leases that have expired.
	look = 5 * time.Second
)

// A Session is one connection. It holds the leases of the facts that were taken on it.
type Session struct {
	*Control
	mu   sync.Mutex
	held map[string]*queue.Job
}

// Session begins a session.
func (c *Control) Session() *Session {
	return &Session{Control: c, held: map[string]*queue.Job{}}
}

// Known reports true: there is the secret.
func (s *Session) Known() bool { return true }

// Serve answers a request.
func (s *Session) Serve(ctx context.Context, m rhino.Message) rhino.Message {
	var reply rhino.Message
	var err error
	switch m := m.(type) {
	case rhino.TakeFacts:
		reply, err = s.take(ctx, m)
	case rhino.SettleFacts:
		reply, err = rhino.FactsSettled, s.settle(ctx, m)
	default:
		reply, err = s.serve(ctx, m)
	}
	return facts.Reply(reply, err, "the control")
}

// Close gives the leases back, so that another replicator can take the facts at once.
func (s *Session) Close() {
	s.mu.Lock()
	again := make([]string, 0, len(s.held))
	for id := range s.held {
		again = append(again, id)
	}
	s.mu.Unlock()
	ctx, stop := context.WithTimeout(context.Background(), s.o.Lease)
	defer stop()
	if err := s.settle(ctx, rhino.SettleFacts{Again: again}); err != nil {
		s.o.Logger.Warn("facts are taken again only after their leases", "err", err)
	}
}

// take takes facts with a lease, and waits if there are no facts to take.
func (s *Session) take(ctx context.Context, m rhino.TakeFacts) (rhino.Message, error) {
	if m.Max < 1 || m.Max > maxTake {
		return rhino.InvalidRequest{Reason: fmt.Sprintf("max is %d; want 1 to %d", m.Max, maxTake)}, nil
	}
	if s.holds()+m.Max > maxHeld {
		return rhino.InvalidRequest{Reason: fmt.Sprintf("%d facts were taken and not settled", s.holds())}, nil
	}
	end := time.NewTimer(time.Duration(max(m.WaitMs, 0)) * time.Millisecond)
	defer end.Stop()
	for {
		woken := s.wait(m.Region)
		if all, err := s.dequeue(ctx, m); err != nil || len(all) > 0 {
			return rhino.Facts{Facts: all}, err
		}
		select {
		case <-woken:
		case <-time.After(look):
		case <-end.C:
			return rhino.Facts{}, nil
		case <-s.o.Stop:
			return rhino.Facts{}, nil
		case <-ctx.Done():
			return rhino.Facts{}, nil
		}
	}
}

func (s *Session) dequeue(ctx context.Context, m rhino.TakeFacts) (all []rhino.Fact, err error) {
	var jobs []*queue.Job
	err = s.db.Update(ctx, func(tx *query.Tx) (err error) {
		jobs, err = s.queue.Dequeue(ctx, tx, m.Region, m.Max, s.o.Lease)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range jobs {
		id := j.ID().String()
		f, err := decode(j.Payload(), id)
		if err != nil {
			return nil, fmt.Errorf("item %s: %w", id, err)
		}
		s.held[id] = j
		all = append(all, f)
	}
	return all, nil
}

func (s *Session) holds() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.held)
}

// settle ends leases. A lost one means that another replicator took the fact, which does
// no harm.
func (s *Session) settle(ctx context.Context, m rhino.SettleFacts) error {
	done, again := s.jobs(m.Done), s.jobs(m.Again)
	if len(done)+len(again) == 0 {
		return nil
	}
	err := s.db.Update(ctx, func(tx *query.Tx) error {
		for _, j := range done {
			if err := j.Complete(ctx, tx, nil); err != nil && !errors.Is(err, queue.ErrLeaseLost) {
				return err
			}
		}
		for _, j := range again {
			if err := j.Release(ctx, tx); err != nil && !errors.Is(err, queue.ErrLeaseLost) {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range append(done, again...) {
		delete(s.held, j.ID().String())
	}
	return nil
}

// jobs are the items with these ids that the session holds.
func (s *Session) jobs(ids []string) (all []*queue.Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if j := s.held[id]; j != nil {
			all = append(all, j)
		}
	}
	return all
}
