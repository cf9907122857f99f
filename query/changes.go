package query

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/changes"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
)

// A RowChange is the changes of one commit in one row.
type RowChange struct {
	// Key is the row's key; "" in a heartbeat, which reports progress without changes.
	Key string
	// Changes are in their order, as the writer asked for them and with the
	// timestamps that they got, except: the delete of a row is one delete for
	// each family that the table had, a counter or an append is the resulting
	// set, and an add to distinct values is a [write.MergeChange] of a sketch.
	// Changes of families that have been dropped since are left out.
	Changes []write.Change
	// Time is when the commit was made, by the database's clock. It ascends
	// from commit to commit of a row.
	Time cells.Timestamp
	// TieBreaker distinguishes the changes of one commit. It ascends with them.
	TieBreaker int
	// Collected says that retention removed surplus versions; no user changed
	// anything.
	Collected bool
	// Watermark is a time: no later change in the stream precedes it in Time.
	Watermark cells.Timestamp

	of *changes.Change
}

// A ChangesRequest says which changes of a table are read, as a plain value, where
// [ChangesOption] cannot be sent: over the network. The zero value means the changes of all
// rows from now on.
type ChangesRequest struct {
	Rows  read.RowRange
	Token string          // the changes after it
	Since cells.Timestamp // without a token: the changes since a time; 0: from now on
	Until cells.Timestamp // the changes up to a time, inclusive; 0: no end
}

// A ChangeAt is the changes of one commit in one row, and the place after them.
type ChangeAt struct {
	*RowChange
	After string // the Token of a [ChangesRequest] of the same rows that goes on there
}

// Heartbeat reports whether there is no change, only a token and a watermark.
func (c *RowChange) Heartbeat() bool { return c == nil || len(c.Changes) == 0 }

// Token is the place after this change: see [ChangesAfter]. It is bound to the database, to
// the table's change stream and to the rows of the reading, and valid as long as the
// changes after it are kept, also at a promoted standby that received this change. A server
// that does not know of a later promotion yet refuses it with [KindUnavailable].
func (c *RowChange) Token() string {
	if c == nil || c.of == nil {
		return ""
	}
	return c.of.Token()
}

// Mutation is the changes as a mutation: applied in order to a table with the same
// families, it does the same.
func (c *RowChange) Mutation() *write.Mutation {
	return write.MutationOf(slices.Clone(c.Changes))
}

// A ChangesOption says which changes are read, and from where.
type ChangesOption interface{ applyChanges(*changes.Spec) }

type changesOption func(*changes.Spec)

func (f changesOption) applyChanges(s *changes.Spec) { f(s) }

// ChangesAfter reads the changes after a token. The reading must be of the same rows as
// the token's. Several tokens are for parts of the rows, which together must be all of
// them.
func ChangesAfter(tokens ...string) ChangesOption {
	return changesOption(func(s *changes.Spec) { s.Tokens = append(s.Tokens, tokens...) })
}

// ChangesSince reads the changes made at a time or later. The time may be as old as
// the table keeps changes, and not before the change stream began; see
// [ErrChangesGone].
func ChangesSince(t time.Time) ChangesOption {
	return changesOption(func(s *changes.Spec) { s.Since, s.HasSince = cells.TimestampOf(t), true })
}

// ChangesUntil ends the reading after all changes made up to a time, inclusive, by the
// database's clock: [DB.Now] is never before an acknowledged commit, which time.Now may be.
// The reading may include some later changes: commits that are under way together may enter
// the log out of the order of their times.
func ChangesUntil(t time.Time) ChangesOption {
	return changesOption(func(s *changes.Spec) { s.Until, s.HasUntil = cells.TimestampOf(t), true })
}

// ChangesIn reads the changes of some rows; the default is all. [read.RowRange] explains
// the bounds.
func ChangesIn(rows read.RowRange) ChangesOption {
	return changesOption(func(s *changes.Spec) { s.Rows = rows })
}

// Heartbeats makes [Table.Changes] return a heartbeat when there was no change for this
// long: it is without changes, and its token follows the last change's. The first heartbeat
// comes at once, with a token of the beginning. The interval is at least a millisecond; by
// default there are no heartbeats.
func Heartbeats(every time.Duration) ChangesOption {
	return changesOption(func(s *changes.Spec) { s.Heartbeat = max(every, time.Millisecond) })
}

// ErrChangesGone matches, with errors.Is, the error for changes that are no longer kept, or
// never were: those after a token that is too old, or of a change that was lost when a
// standby took the primary's place, those since a time before the change stream began,
// those since a time from which a standby, promoted or not, may lack some, and those of a
// database that was restored. Its kind is [KindFailedPrecondition]. A reader must then read
// the table itself, and continue with the changes since the time before that read.
var ErrChangesGone = changes.ErrGone

// ErrNoChangeStream matches, with errors.Is, the error for a table without a change stream.
// Its kind is [KindFailedPrecondition].
var ErrNoChangeStream = changes.ErrNoStream

// Changes reads the changes of a table's rows from the log of writes, in the order in
// which they took effect, and waits for more: until the time of [ChangesUntil], or
// until ctx ends, which is an error. By default it begins with the changes made from
// now on. The table must be declared with a change stream: the least time for which
// changes are kept.
//
// A commit of several rows gives one change for each row. Every change of a row comes
// once, and a row's changes come in order; a reader that continues from the token of
// the last change that it processed misses no change and sees none twice. A reader of a
// [DurabilityAsync] database may have read changes that a crash of the machine then
// takes away.
//
// The stream may leave out deletes that deleted nothing. It leaves out changes of the
// schema, and cells that expire by age: the clock hides expired cells, and the store
// drops them without a write. Bulk loads bypass the log; a table with a change stream
// refuses them.
//
// While a call waits for its caller it holds a chunk of the log in memory, but no file,
// no snapshot and no lock, and the log can be trimmed. Calls of Changes do not disturb
// each other; each one reads the log of all tables.
func (t *Table) Changes(ctx context.Context, opts ...ChangesOption) iter.Seq2[*RowChange, error] {
	return func(yield func(*RowChange, error) bool) {
		r, err := t.readChanges(ctx, opts)
		if err != nil {
			yield(nil, fail("read changes", t.Name(), "", err))
			return
		}
		defer r.Close()
		for {
			c, err := r.Next(ctx)
			if err != nil {
				yield(nil, fail("read changes", t.Name(), "", err))
				return
			}
			if c == nil || !yield(&RowChange{c.Key, c.Changes, c.Time, c.TieBreaker, c.Collected, c.Watermark, c}, nil) {
				return
			}
		}
	}
}

func (t *Table) readChanges(ctx context.Context, opts []ChangesOption) (*changes.Reader, error) {
	if err := t.database().ready(ctx); err != nil {
		return nil, err
	}
	behind, _ := t.db.state.Shared.(cf.Behind)
	if t.db.state.ReadOnly && behind == nil {
		return nil, fault.Errorf(fault.FailedPrecondition, "%w; only the process that writes it can read its changes", cf.RefusalOf(t.db.state.Reader))
	}
	spec := new(changes.Spec)
	for i, o := range opts {
		if o == nil {
			return nil, fault.Nil("changes option", i)
		}
		o.applyChanges(spec)
	}
	from := changes.Source{Behind: behind, Freshen: t.db.state.Freshen, ID: t.db.state.UUID, Store: t.db.state.Store, Catalog: &t.db.state.Catalog, Clock: &t.db.state.Clock, Times: &t.db.state.Changes, Shared: t.db.state.Shared}
	if behind != nil {
		from.Store = behind // the store of the database refuses to be read for its changes
		if err := from.Freshen(ctx); err != nil {
			return nil, err
		}
	}
	return changes.Open(ctx, from, t.name, spec)
}
