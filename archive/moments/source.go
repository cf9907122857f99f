package moments

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/standby"
)

// A Source gives standbys the backups and the log of an archive: it is a [standby.Archive]. It is safe for
// concurrent use.
type Source struct {
	Target string // as [archive.Open] takes it
	// Logger gets messages for an operator; nil discards them.
	Logger *slog.Logger
}

var _ standby.Archive = Source{}

// Base implements [standby.Archive]. A moment before the first of the log without a gap is that one.
func (s Source) Base(ctx context.Context, of standby.Archived, at time.Time, dir string) error {
	const op = "begin a standby from the archive"
	a, r, err := s.open(ctx, of)
	if err != nil {
		return fail(op, err)
	}
	x := r.to.run
	from, ok := x.earliest()
	if !ok {
		return fail(op, fmt.Errorf("%w: no backup leads to the newest part of the log%s", ErrNoMoment, r.chain.before()))
	}
	moment := x.end().Until
	if !at.IsZero() {
		moment = max(from, min(moment, at.UnixMicro()))
	}
	if err := r.findTime(ctx, x, moment); err != nil {
		return fail(op, err)
	}
	if err := r.choose(); err != nil {
		return fail(op, err)
	}
	g := r.chain.gens[r.base.Generation]
	if g.Database != of.Database || g.Engine != x.end().segment.summary.Engine {
		return fail(op, fmt.Errorf("%w: backup %d is of database %s on %s, and the log of %s on %s", archive.ErrDamaged, g.ID, g.Database, g.Engine, of.Database, x.end().segment.summary.Engine))
	}
	if err := canReplay(g.Engine); err != nil {
		return fail(op, err)
	}
	s.say("a backup is read for the standby", "backup", g.ID, "bytes", g.Size)
	_, err = a.Restore(ctx, g.ID, dir, archive.RestoreOptions{})
	return fail(op, err)
}

// Log implements [standby.Archive].
func (s Source) Log(ctx context.Context, of standby.Archived, after uint64, at time.Time, take func(*cf.LogRecord, standby.Loads) error) error {
	const op = "read the log in the archive"
	_, r, err := s.open(ctx, of)
	if err != nil {
		return fail(op, err)
	}
	x := r.to.run
	if first := x.parts[0].After; after < first {
		return fail(op, fmt.Errorf("%w: the log after position %d is needed, and the archive holds it without a gap from position %d on%s", ErrNoMoment, after, first, r.chain.before()))
	}
	moment := x.end().Until
	if !at.IsZero() {
		moment = min(moment, at.UnixMicro())
	}
	if err := r.findTime(ctx, x, moment); err != nil {
		return fail(op, err)
	}
	if r.at = after; r.to.last > after {
		r.reach(after)
		r.until = r.to.last
		s.say("the log is read for the standby", "from_position", after, "to_position", r.to.last, "segments", len(r.files))
		err = r.replayFiles(ctx, nil, func(b *block, x *cf.LogRecord) error {
			return take(x, func(ctx context.Context, load, dir string) error { return r.fetchFiles(ctx, b, load, dir) })
		})
		if err == nil && r.at != r.to.last {
			err = fmt.Errorf("%w: the log leads from position %d to %d, and not to %d", archive.ErrDamaged, after, r.at, r.to.last)
		}
	}
	if err == nil && moment == x.end().Until && x.lost != nil { // what follows would be needed
		err = x.lost
	}
	return fail(op, err)
}

// open finds the newest log in the archive, and refuses another one than the primary's.
func (s Source) open(ctx context.Context, of standby.Archived) (*archive.Archive, *restoring, error) {
	a, err := archive.Open(ctx, s.Target)
	if err != nil {
		return nil, nil, err
	}
	c, err := readChain(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case len(c.runs) == 0 && len(c.damage) > 0:
		return nil, nil, c.damage[0]
	case len(c.runs) == 0:
		return nil, nil, fmt.Errorf("%w: there are no segments of the log in the archive", ErrNoMoment)
	}
	x := c.runs[len(c.runs)-1]
	end := x.end()
	switch is := end.segment.summary.Database; {
	case is != of.Database:
		return nil, nil, fmt.Errorf("it %w, %s; the primary has %s", archive.ErrOtherDatabase, is, of.Database)
	case end.History != of.History:
		return nil, nil, fmt.Errorf("%w: its log is of another history of the database than the primary's", ErrNoMoment)
	case end.Epoch != of.Epoch: // it may have what a promotion left out
		return nil, nil, fmt.Errorf("%w: the primary has epoch %d, and the archive ends in epoch %d", ErrNoMoment, of.Epoch, end.Epoch)
	}
	return a, &restoring{chain: c, cache: map[*segment][]*block{}, to: target{run: x}}, nil
}

// before names the gap before the newest run, for an error.
func (c *chain) before() string {
	if n := len(c.runs); n > 1 && c.runs[n-2].lost != nil {
		return ": " + c.runs[n-2].lost.Error()
	} else if why := c.runs[n-1].begins; n > 1 && why != "" {
		return ": " + why
	}
	return ""
}

func (s Source) say(text string, a ...any) {
	if s.Logger != nil {
		s.Logger.Info(text, append(a, "target", s.Target)...)
	}
}
