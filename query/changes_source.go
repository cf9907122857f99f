package query

import (
	"errors"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
)

// A rowChange is the changes of one commit in one row, as package query describes
// them.
type rowChange struct {
	Key        string
	Changes    []write.Change
	Time       cells.Timestamp
	TieBreaker int
	Collected  bool
	Watermark  cells.Timestamp

	reader *changeReader
	at     changePosition
	exact  cells.Timestamp // nothing behind at is older
}

// Token is the place behind this change.
func (c *rowChange) Token() string { return c.reader.token(c.at, c.Watermark, c.exact) }

// changesSpec is what the options of one reading say.
type changesSpec struct {
	tokens             []string
	rows               read.RowRange
	since, until       cells.Timestamp
	hasSince, hasUntil bool
	heartbeat          time.Duration // without a change; 0 is no heartbeat
}

func (s *changesSpec) check(now cells.Timestamp) error {
	switch {
	case s.rows.End != "" && s.rows.Start >= s.rows.End:
		return fault.Errorf(fault.InvalidArgument, "there are no rows from %q to before %q", fault.Shorten(s.rows.Start), fault.Shorten(s.rows.End))
	case len(s.rows.Start) > cells.MaxRowKey || len(s.rows.End) > cells.MaxRowKey+1:
		return fault.Errorf(fault.InvalidArgument, "a row key has up to %d bytes", cells.MaxRowKey)
	case s.hasSince && len(s.tokens) > 0:
		return fault.Errorf(fault.InvalidArgument, "a reading begins behind a token or at a time, not at both")
	case s.hasSince && s.since > now:
		return fault.Errorf(fault.InvalidArgument, "changes cannot be read from %s on, which is yet to come", s.since.Time().UTC().Format(time.RFC3339Nano))
	case s.hasSince && s.hasUntil && s.until < s.since:
		return fault.Errorf(fault.InvalidArgument, "changes cannot be read until before the time that they are read from")
	}
	return nil
}

// The errors that package query describes.
var (
	errChangesGone    = errors.New("the changes are not kept")
	errNoChangeStream = errors.New("the table has no change stream")
)

// streamOf is the change stream of a table.
func streamOf(c *catalog.Catalog, table string) (*catalog.Table, *catalog.Stream, error) {
	info, err := c.Table(table)
	if err != nil {
		return nil, nil, err
	}
	if info.Stream == nil {
		return nil, nil, fault.Errorf(fault.FailedPrecondition, "%w; give it one with change_stream=7d", errNoChangeStream)
	}
	return info, info.Stream, nil
}

// gone turns the store's error for a trimmed log into this package's error.
func gone(err error) error {
	if errors.Is(err, cf.ErrTrimmed) {
		return fault.Errorf(fault.FailedPrecondition, "%w: %w", errChangesGone, err)
	}
	return err
}
