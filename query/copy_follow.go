package query

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/internal/fault"
)

// checkStreams refuses to follow tables whose changes cannot be read.
func (c *copying) checkStreams() error {
	if c.from.state.ReadOnly {
		return fault.Errorf(fault.FailedPrecondition, "changes are read where the source is open for writing, and here it is open for reading alone")
	}
	var without []string
	for _, t := range c.want.Tables {
		if info, err := c.from.inForce().Table(t.Name); err == nil && info.Stream == nil {
			without = append(without, t.Name)
		}
	}
	if len(without) > 0 {
		return fault.Errorf(fault.FailedPrecondition, "%w: %s; the statement \"alter table %s set change_stream=7d\" gives it one", ErrNoChangeStream, strings.Join(without, ", "), without[0])
	}
	return nil
}

// A follower copies the rows that change.
type follower struct {
	*copying
	stop    context.CancelFunc
	changes chan *followed
	failed  chan error

	dirty  map[string]map[string]bool // row keys by table
	count  int                        // of row keys in dirty
	passed map[string]cells.Timestamp // by table: all changes before this time are in
	quiet  cells.Timestamp            // no change was read since this time
}

// A followed is a change or a heartbeat of a table.
type followed struct {
	table string
	*RowChange
}

// Rows that changed are copied again this many at a time, and after this time at the
// latest; heartbeats come this often.
const (
	followRows  = 2048
	followPause = 20 * time.Millisecond
)

// follow begins to read the changes of all tables, if that is wanted. It returns once the
// place of each reading is fixed.
func (c *copying) follow(ctx context.Context) (*follower, error) {
	ctx, stop := context.WithCancel(ctx)
	f := &follower{copying: c, stop: stop}
	if !c.o.Follow {
		return f, nil
	}
	f.changes, f.failed = make(chan *followed), make(chan error, len(c.want.Tables))
	f.dirty, f.passed = map[string]map[string]bool{}, map[string]cells.Timestamp{}
	tokens := map[string]string{}
	for _, t := range c.want.Tables {
		for change, err := range c.from.Table(t.Name).Changes(ctx, Heartbeats(followPause)) {
			if err != nil {
				stop()
				return nil, err
			}
			tokens[t.Name], f.passed[t.Name] = change.Token(), change.Watermark
			break
		}
	}
	for name, token := range tokens {
		go f.read(ctx, name, token)
	}
	return f, nil
}

func (f *follower) read(ctx context.Context, table, token string) {
	for change, err := range f.from.Table(table).Changes(ctx, ChangesAfter(token), Heartbeats(followPause)) {
		if err != nil {
			f.failed <- err
			return
		}
		select {
		case f.changes <- &followed{table, change}:
		case <-ctx.Done():
			f.failed <- ctx.Err()
			return
		}
	}
}

// run applies changes until the context ends, or until the databases are equal.
func (f *follower) run(ctx context.Context) error {
	if len(f.want.Tables) == 0 && f.o.UntilEqual {
		return nil
	}
	f.quiet = f.from.Now()
	tick := time.NewTicker(followPause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-f.failed:
			return f.explain(err)
		case change := <-f.changes:
			f.note(change)
			if f.count < followRows {
				continue
			}
		case <-tick.C:
		}
		if err := f.apply(ctx); err != nil {
			return err
		}
		if f.o.UntilEqual && f.equal() {
			return nil
		}
	}
}

// explain says what to do when a table's changes can no longer be read.
func (f *follower) explain(err error) error {
	switch {
	case errors.Is(err, ErrChangesGone), errors.Is(err, ErrNoChangeStream), errors.Is(err, ErrNotFound):
		return fault.Of(fault.FailedPrecondition, fmt.Errorf("%w; copy again, which compares source and target", err))
	}
	return err
}

// note takes a change in: its row must be copied again. What retention removed is hidden
// in both databases already.
func (f *follower) note(c *followed) {
	f.passed[c.table] = c.Watermark
	if c.Heartbeat() || c.Collected {
		return
	}
	rows := f.dirty[c.table]
	if rows == nil {
		rows = map[string]bool{}
		f.dirty[c.table] = rows
	}
	if !rows[c.Key] {
		rows[c.Key] = true
		f.count++
	}
	f.quiet = f.from.Now()
}

// apply copies the rows that have changed as they are now.
func (f *follower) apply(ctx context.Context) error {
	if err := f.sameSchema(); err != nil {
		return err
	}
	if f.count > 0 {
		if err := f.mend(ctx); err != nil {
			return err
		}
	}
	f.tell(func(p *CopyProgress) {
		p.Following, p.Rows, p.Through = true, f.report.Rows, f.watermark()
		p.Lag = max(f.from.Now().Time().Sub(p.Through.Time()), 0)
	})
	return nil
}

func (f *follower) mend(ctx context.Context) error {
	snap, source, err := f.from.state.Moment(ctx)
	if err != nil {
		return err
	}
	defer snap.Close()
	for _, t := range f.want.Tables {
		if len(f.dirty[t.Name]) == 0 {
			continue
		}
		from, to, err := tableOfBoth(source, f.to.inForce(), t.Name)
		if err != nil {
			return err
		}
		if err := f.pair.Mend(ctx, snap, from, to, slices.Collect(maps.Keys(f.dirty[t.Name]))); err != nil {
			return err
		}
	}
	f.report.Rows += int64(f.count)
	f.count = 0
	clear(f.dirty)
	return nil
}

// watermark is a time before which all changes of all tables have been read.
func (f *follower) watermark() cells.Timestamp {
	least := cells.MaxTimestamp
	for _, at := range f.passed {
		least = min(least, at)
	}
	return least
}

// equal reports whether no change was made since the last one that was applied.
func (f *follower) equal() bool { return f.count == 0 && f.watermark() > f.quiet }
