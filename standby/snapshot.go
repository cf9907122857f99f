package standby

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/cf"
)

// errNoCommonPosition: the standby was never exactly at its primary's position.
var errNoCommonPosition = fmt.Errorf("%w: the standby and its primary had no moment in common; try again", cf.ErrUnavailable)

// snapshotTimeout is how long the standby applies nothing while its primary takes a snapshot.
const snapshotTimeout = 10 * time.Second

// A snapshotPoint is where a standby takes a snapshot: at the position of its primary's one.
type snapshotPoint struct {
	at   cf.Position
	took chan snapshotResult // holds one
}

type snapshotResult struct {
	*cf.LogSnapshot
	err error
}

// open takes a snapshot in the primary, and one in the standby when it contains exactly
// the same changes. The standby applies no record until it knows the position: it would
// have gone past it.
func (c *comparison) open(ctx context.Context) (err error) {
	s := c.standby
	if err := s.pauseApplying(ctx); err != nil {
		return err
	}
	held := true
	release := func() {
		if held {
			held = false
			<-s.turn
		}
	}
	defer release()
	position, err := c.openThere(ctx)
	if err != nil {
		return err
	}
	m := &snapshotPoint{position, make(chan snapshotResult, 1)}
	s.snapshotPoint = m
	s.takeSnapshotIfDue(ctx)
	release()
	select {
	case t := <-m.took:
		c.here, err = t.LogSnapshot, t.err
	case <-ctx.Done():
		s.cancelSnapshot(m)
		return ctx.Err()
	}
	if err == nil {
		c.families = append(c.families, c.here.Families...)
		slices.Sort(c.families)
		c.families = slices.Compact(c.families)
	}
	return err
}

// openThere takes the snapshot in the primary.
func (c *comparison) openThere(ctx context.Context) (cf.Position, error) {
	s := c.standby
	id, err := identify(ctx, s.opened)
	if err != nil {
		return 0, ownErr(err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(snapshotTimeout, func() {
		cancel(fmt.Errorf("%w: the primary takes no snapshot within %v", cf.ErrUnavailable, snapshotTimeout))
	})
	defer late.Stop()
	if c.there, err = s.link.Sums(s.link.context(ctx)); err != nil {
		return 0, err
	}
	hello := &smolwcpb.SumsHello{Database: id.uuid, History: id.history.ID, Epoch: messageOf(id.history.Current()), Name: s.o.Name}
	_ = c.ask(&smolwcpb.SumsRequest{Hello: hello}) // the answer gives the reason
	m, err := c.answered()
	if err != nil {
		if why := context.Cause(ctx); errors.Is(why, cf.ErrUnavailable) {
			err = why
		}
		return 0, err
	}
	c.families = m.GetFamilies()
	return cf.Position(m.GetPosition()), nil
}

// pauseApplying makes the standby apply nothing until its turn is given back.
func (s *Standby) pauseApplying(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// takeSnapshotIfDue takes the snapshot for a verification if the standby reached its position. The
// caller holds the turn.
func (s *Standby) takeSnapshotIfDue(ctx context.Context) {
	m := s.snapshotPoint
	if m == nil {
		return
	}
	latest := s.opened.Latest()
	if latest < m.at {
		return
	}
	s.snapshotPoint = nil
	if latest > m.at {
		m.took <- snapshotResult{err: errNoCommonPosition}
		return
	}
	at, err := s.opened.LogSnapshot(context.WithoutCancel(ctx)) // the connection may end meanwhile
	if err == nil && at.At != m.at {
		at.Close()
		err = errNoCommonPosition
	}
	m.took <- snapshotResult{at, ownErr(err)}
}

// cancelSnapshot ends the wait for a snapshotPoint.
func (s *Standby) cancelSnapshot(m *snapshotPoint) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.snapshotPoint = nil
	select {
	case t := <-m.took:
		if t.LogSnapshot != nil {
			t.LogSnapshot.Close()
		}
	default:
	}
}
