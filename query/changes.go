package query

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
)

// A RowChange is what one commit changed in one row.
type RowChange struct {
	// Key is the row's key; "" in a heartbeat, which says how far the reading
	// is and has no changes.
	Key string
	// Changes are in their order. They are those that were asked for, with the
	// timestamps that they got, except that the delete of a row is one of each
	// family that the table had, that a counter or an append is the set that
	// came of it, and that what was added to distinct values is a
	// [write.MergeChange] of a sketch. Changes of families that have been dropped
	// since are left out.
	Changes []write.Change
	// Time is when the commit was made, by the database's clock. It ascends
	// from commit to commit of a row.
	Time cells.Timestamp
	// TieBreaker tells changes of one commit apart. It ascends with them.
	TieBreaker int
	// Collected: retention has removed surplus versions, and no user anything.
	Collected bool
	// Watermark: no change that comes later has a Time before it.
	Watermark cells.Timestamp

	reader *changeReader
	at     changePosition
	exact  cells.Timestamp // nothing behind at is older
}

// Heartbeat reports whether there is no change, only a token and a watermark.
func (c *RowChange) Heartbeat() bool { return c == nil || len(c.Changes) == 0 }

// Token is where a reading goes on behind this change: see [ChangesAfter]. It is
// bound to the database, to the table's change stream and to the rows that are read,
// and good for as long as the changes behind it are kept.
func (c *RowChange) Token() string {
	if c == nil || c.reader == nil {
		return ""
	}
	return c.reader.token(c.at, c.Watermark, c.exact)
}

// Mutation is the changes as a mutation: applied to rows of a table with the same
// families, change by change in their order, it makes the same of them.
func (c *RowChange) Mutation() *write.Mutation {
	if c == nil {
		return write.NewMutation()
	}
	return write.MutationOf(slices.Clone(c.Changes))
}

// A ChangesOption says which changes are read, and from where.
type ChangesOption interface{ applyChanges(*changesSpec) }

type changesOption func(*changesSpec)

func (f changesOption) applyChanges(s *changesSpec) { f(s) }

// ChangesAfter reads the changes behind a token. The rows that are read must be those
// of the token. Several tokens are those of parts that together are the rows.
func ChangesAfter(tokens ...string) ChangesOption {
	return changesOption(func(s *changesSpec) { s.tokens = append(s.tokens, tokens...) })
}

// ChangesSince reads the changes that were made at a time or later. It may be as old
// as the table keeps changes, and not before the change stream began; see
// [ErrChangesGone].
func ChangesSince(t time.Time) ChangesOption {
	return changesOption(func(s *changesSpec) { s.since, s.hasSince = cells.TimestampOf(t), true })
}

// ChangesUntil ends the reading when it has all changes that were made up to a time,
// inclusive, by the database's clock: [DB.Now] is never before a commit that was
// acknowledged, which time.Now may be. Of later ones it has those that stand in the log before one of these: what
// is under way together may get there in another order than that of the times.
func ChangesUntil(t time.Time) ChangesOption {
	return changesOption(func(s *changesSpec) { s.until, s.hasUntil = cells.TimestampOf(t), true })
}

// ChangesIn reads the changes of some rows; the default is all. [read.RowRange] has the
// bounds.
func ChangesIn(rows read.RowRange) ChangesOption {
	return changesOption(func(s *changesSpec) { s.rows = rows })
}

// Heartbeats has a reading that finds no change for so long give one without
// changes, whose token is further than the last change's, and one at once, whose
// token is where it begins. The least is a millisecond, and the default is none.
func Heartbeats(every time.Duration) ChangesOption {
	return changesOption(func(s *changesSpec) { s.heartbeat = max(every, time.Millisecond) })
}

// changesSpec is what the options of one reading say.
type changesSpec struct {
	tokens             []string
	rows               read.RowRange
	since, until       cells.Timestamp
	hasSince, hasUntil bool
	heartbeat          time.Duration
}

func (s *changesSpec) check(now cells.Timestamp) error {
	switch {
	case s.rows.End != "" && s.rows.Start >= s.rows.End:
		return faultf(KindInvalidArgument, "there are no rows from %q to before %q", shorten(s.rows.Start), shorten(s.rows.End))
	case len(s.rows.Start) > cells.MaxRowKey || len(s.rows.End) > cells.MaxRowKey+1:
		return faultf(KindInvalidArgument, "a row key has up to %d bytes", cells.MaxRowKey)
	case s.hasSince && len(s.tokens) > 0:
		return faultf(KindInvalidArgument, "a reading begins behind a token or at a time, not at both")
	case s.hasSince && s.since > now:
		return faultf(KindInvalidArgument, "changes cannot be read from %s on, which is yet to come", s.since.Time().UTC().Format(time.RFC3339Nano))
	case s.hasSince && s.hasUntil && s.until < s.since:
		return faultf(KindInvalidArgument, "changes cannot be read until before the time that they are read from")
	}
	return nil
}

// ErrChangesGone matches, with errors.Is, the error for changes that are not kept any
// more, or never were: those behind a token that is too old, those since a time
// before the change stream began, and those of a database that was restored. Its
// kind is [KindFailedPrecondition]. What a reader lacks then is in the table alone: it
// has to read that, and then go on from the time before it began to.
var ErrChangesGone = errors.New("the changes are not kept")

// ErrNoChangeStream matches, with errors.Is, the error for a table that has no change
// stream, or has it no more. Its kind is [KindFailedPrecondition].
var ErrNoChangeStream = errors.New("the table has no change stream")

// Changes reads the changes of a table's rows from the log of writes, in the order in
// which they took effect, and waits for more: until the time of [ChangesUntil], or
// until ctx ends, which is an error. It begins now, unless it is told where. The
// table must be declared with a change stream, which says for how long changes are
// kept at least.
//
// A commit of several rows gives a change of each row. Every change of a row comes
// once, and those of a row in their order; a reader that goes on from the token of
// the last change that it has dealt with misses none and sees none twice. What a
// crash of the machine takes from a database that is [DurabilityAsync] may have been read
// before.
//
// Deletes that deleted nothing may be left out, as are cells that expire by age,
// which are hidden by a clock and dropped without a write, and changes of the schema.
// Bulk loads go past the log; a table with a change stream refuses them.
//
// A reading that nobody takes a change from holds no memory but that of a chunk of
// the log, no file, no snapshot and no lock, and the log is trimmed under it. Readings
// do not disturb each other, and each reads the log of all tables.
func (t *Table) Changes(ctx context.Context, opts ...ChangesOption) iter.Seq2[*RowChange, error] {
	return func(yield func(*RowChange, error) bool) {
		r, err := t.readChanges(ctx, opts)
		if err != nil {
			yield(nil, fail("read changes", t.Name(), "", err))
			return
		}
		defer r.close()
		for {
			c, err := r.next(ctx)
			if err != nil {
				yield(nil, fail("read changes", t.Name(), "", err))
				return
			}
			if c == nil || !yield(c, nil) {
				return
			}
		}
	}
}

// stream is the change stream of a table.
func (c *catalog) streamOf(table string) (*tableInfo, *changeStream, error) {
	info, err := c.table(table)
	if err != nil {
		return nil, nil, err
	}
	if info.stream == nil {
		return nil, nil, faultf(KindFailedPrecondition, "%w; give it one with change_stream=7d", ErrNoChangeStream)
	}
	return info, info.stream, nil
}

func (t *Table) readChanges(ctx context.Context, opts []ChangesOption) (*changeReader, error) {
	if err := t.database().ready(ctx); err != nil {
		return nil, err
	}
	if t.db.readOnly {
		return nil, faultf(KindFailedPrecondition, "%w; only the process that writes it can read its changes", ErrReadOnly)
	}
	spec := new(changesSpec)
	for i, o := range opts {
		if o == nil {
			return nil, nilArgument("changes option", i)
		}
		o.applyChanges(spec)
	}
	if err := spec.check(t.db.clock.latest()); err != nil {
		return nil, err
	}
	info, stream, err := t.db.catalog.Load().streamOf(t.name)
	if err != nil {
		return nil, err
	}
	r := &changeReader{db: t.db, table: info.name, stream: stream.id, spec: spec}
	if err := r.start(ctx, stream); err != nil {
		return nil, err
	}
	return r, nil
}

// gone gives what the store says of a log that is trimmed its words here.
func gone(err error) error {
	if errors.Is(err, cf.ErrTrimmed) {
		return faultf(KindFailedPrecondition, "%w any more: %w", ErrChangesGone, err)
	}
	return err
}
