// Package changes gives commits the times and notes that change streams need, reads the
// changes of a table's rows from the log of writes, and makes the tokens of such reads.
package changes

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/excerpt"
	"github.com/smolwc/smolwc/internal/history"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/clock"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
)

// A Source is a database whose changes are read.
type Source struct {
	ID      uuid.UUID
	Store   cf.Store
	Catalog *atomic.Pointer[catalog.Catalog]
	Clock   *clock.Clock
	Times   *Times
	Shared  cf.Shared // the store, if several processes write it
	Behind  cf.Behind // the store, if its log is another process's
	// Freshen makes the newest schema that in force; nil unless Behind is set.
	Freshen func(context.Context) error
}

// low is a timestamp below which no later commit falls, and all commits with lesser ones
// have been made. In a store that is behind it is 0 until the other process gives one; the
// notes of commits say the same of their places in the log.
func (s *Source) low(ctx context.Context) (cells.Timestamp, error) {
	if s.Behind != nil {
		return cells.Timestamp(s.Behind.Settled()), nil
	}
	if s.Shared == nil {
		return s.Times.low(s.Clock), nil
	}
	now, err := s.Shared.Now(ctx)
	return cells.Timestamp(now), err
}

// noteOf is the note of a commit. In a store that several processes write, the position
// says more than the process could know that made the commit.
func (s *Source) noteOf(k *cf.Commit) (commitNote, error) {
	if s.Shared == nil || s.Behind != nil {
		return commitNoteOf(k)
	}
	at := cells.Timestamp(s.Shared.TimeOf(k.At))
	return commitNote{At: at, low: at, before: k.Before}, nil
}

// news is closed when there is something new after the call.
func (s *Source) news() <-chan struct{} {
	if s.Behind != nil {
		return s.Behind.News()
	}
	return s.Times.news()
}

// historyNow is the history of the database. known is its last known state, nil if it was
// not looked at yet.
func (s *Source) historyNow(ctx context.Context, known *history.History) (*history.History, error) {
	ships, ok := s.Store.(interface{ Ships() string })
	switch {
	case !ok && known == nil:
		return new(history.History), nil // its store cannot have standbys
	case known != nil && (!ok || ships.Ships() == "" || ships.Ships() == known.ID):
		return known, nil
	}
	snap, err := s.Store.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	text, err := snap.Meta(ctx, history.Key)
	h := new(history.History)
	if err != nil || text == nil {
		return h, err
	}
	if err := json.Unmarshal(text, h); err != nil {
		return nil, fault.Errorf(fault.Corruption, "catalog entry %s: %w", history.Key, err)
	}
	return h, nil
}

// A Change is the changes of one commit in one row, as package query describes
// them.
type Change struct {
	Key        string
	Changes    []write.Change
	Time       cells.Timestamp
	TieBreaker int
	Collected  bool
	Watermark  cells.Timestamp
	Position   cf.Position // of the commit

	reader  *Reader
	at      position
	exact   cells.Timestamp  // no commit after at is older
	history *history.History // when the reader was at this place, or later
}

// Token is the place after this change.
func (c *Change) Token() string { return c.reader.token(c.at, c.Watermark, c.exact, c.history) }

// Spec is what the options of one reading say.
type Spec struct {
	Tokens             []string
	Rows               read.RowRange
	Since, Until       cells.Timestamp
	HasSince, HasUntil bool
	Heartbeat          time.Duration // without a change; 0 is no heartbeat
	// Kept reads from the first change that is kept to the end of the log, and does not wait
	// for more. [Reader.Begins] says where that is.
	Kept bool
}

func (s *Spec) check(now cells.Timestamp) error {
	switch {
	case s.Rows.End != "" && s.Rows.Start >= s.Rows.End:
		return fault.Errorf(fault.InvalidArgument, "there are no rows from %q to before %q", excerpt.Of(s.Rows.Start), excerpt.Of(s.Rows.End))
	case len(s.Rows.Start) > cells.MaxRowKey || len(s.Rows.End) > cells.MaxRowKey+1:
		return fault.Errorf(fault.InvalidArgument, "a row key has up to %d bytes", cells.MaxRowKey)
	case s.HasSince && len(s.Tokens) > 0:
		return fault.Errorf(fault.InvalidArgument, "changes begin after a token or at a time, not both")
	case s.HasSince && s.Since > now:
		return fault.Errorf(fault.InvalidArgument, "changes cannot be read from %s on: that time is in the future", s.Since.Time().UTC().Format(time.RFC3339Nano))
	case s.HasSince && s.HasUntil && s.Until < s.Since:
		return fault.Errorf(fault.InvalidArgument, "the time until which changes are read is before the time from which they are read")
	}
	return nil
}

// The errors that package query describes.
var (
	ErrGone     = errors.New("the changes are not kept")
	ErrNoStream = errors.New("the table has no change stream")
)

func streamOf(c *catalog.Catalog, table string) (*catalog.Table, *catalog.Stream, error) {
	info, err := c.Table(table)
	if err != nil {
		return nil, nil, err
	}
	if info.Stream == nil {
		return nil, nil, fault.Errorf(fault.FailedPrecondition, "%w; give it one with change_stream=7d", ErrNoStream)
	}
	return info, info.Stream, nil
}

// gone turns the store's error for a trimmed log into this package's error.
func gone(err error) error {
	if errors.Is(err, cf.ErrTrimmed) {
		return fault.Errorf(fault.FailedPrecondition, "%w: %w", ErrGone, err)
	}
	return err
}
