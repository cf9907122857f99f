package bigtable

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A row that changes is read again, whole, and written in the place of the old one: masks,
// samples and aggregates are then what a copy makes of them, and a change that comes twice
// does no harm. So the notes only have a time for each table, and every partition is read
// again from it when partitions split or merge.

const (
	rowsAtOnce = 200
)

// followed is the note of a table: the changes before this time are copied.
type followed struct {
	Since time.Time `json:"since"`
}

// beginChanges notes, before the first row of a table is read, from which time on its changes
// are copied. The notes are those of the copy, if it was begun.
func (c *copying) beginChanges(ctx context.Context, notes map[string][]byte) error {
	for _, t := range c.tables {
		if notes[changesNote+t.id] != nil || notes[planNote+t.id] != nil {
			continue
		}
		var at time.Time
		err := c.again(ctx, t.id, func() error {
			partitions, err := c.partitions(ctx, t)
			if err != nil {
				return err
			}
			at = time.Time{}
			return c.changes(ctx, t, partitions[0], at, func(_ []string, through time.Time) error {
				if at = through; at.IsZero() {
					return nil
				}
				return errEnough
			})
		})
		if err != nil {
			return err
		}
		if err := c.setNote(ctx, changesNote+t.id, followed{at}); err != nil {
			return err
		}
	}
	return nil
}

var (
	errEnough = errors.New("no more changes are wanted")
	errMoved  = status.Error(codes.Unavailable, "the change stream was closed, as when its partitions change")
)

func (c *copying) partitions(ctx context.Context, t *table) ([]*bigtablepb.StreamPartition, error) {
	var all []*bigtablepb.StreamPartition
	err := c.again(ctx, t.id, func() error {
		all = nil
		req := &bigtablepb.GenerateInitialChangeStreamPartitionsRequest{TableName: c.from.tableName(t.id), AppProfileId: c.from.place.AppProfile}
		answer, err := c.from.data.GenerateInitialChangeStreamPartitions(c.from.call(ctx, "table_name", req.TableName), req)
		for err == nil {
			var m *bigtablepb.GenerateInitialChangeStreamPartitionsResponse
			if m, err = answer.Recv(); err == nil {
				all = append(all, m.GetPartition())
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	})
	if err == nil && len(all) == 0 {
		err = refused(t.id, "the change stream in %s has no partitions", c.from.place)
	}
	return all, err
}

// changes gives the keys of changed rows of a partition, and until when these are all, to
// fn. A zero time is now. It ends with an error of fn, but for errEnough.
func (c *copying) changes(ctx context.Context, t *table, p *bigtablepb.StreamPartition, since time.Time, fn func(keys []string, through time.Time) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req := &bigtablepb.ReadChangeStreamRequest{TableName: c.from.tableName(t.id), AppProfileId: c.from.place.AppProfile, Partition: p, HeartbeatDuration: durationpb.New(c.o.heartbeat)}
	if !since.IsZero() {
		req.StartFrom = &bigtablepb.ReadChangeStreamRequest_StartTime{StartTime: timestamppb.New(since)}
	}
	answer, err := c.from.data.ReadChangeStream(c.from.call(ctx, "table_name", req.TableName), req)
	if err != nil {
		return err
	}
	items := make(chan changed, rowsAtOnce)
	go receive(ctx, answer, items)
	for {
		var it changed
		select {
		case it = <-items:
		case <-ctx.Done():
			return ctx.Err()
		}
		var keys []string
		var through time.Time
		for more := true; more && it.err == nil; {
			if it.key != "" {
				keys = append(keys, it.key)
			}
			if it.through != nil {
				through = it.through.AsTime()
			}
			if more = len(keys) < rowsAtOnce; more {
				select {
				case it = <-items:
				default:
					more = false
				}
			}
		}
		if err := fn(keys, through); err != nil {
			if errors.Is(err, errEnough) {
				return nil
			}
			return err
		}
		if it.err != nil {
			return it.err
		}
	}
}

// A changed is a message of a change stream: a row that changed, a time before which all
// changes have come, or the end.
type changed struct {
	key     string
	through *timestamppb.Timestamp
	err     error
}

func receive(ctx context.Context, from bigtablepb.Bigtable_ReadChangeStreamClient, items chan<- changed) {
	for {
		m, err := from.Recv()
		it := changed{err: err}
		switch change := m.GetDataChange(); {
		case errors.Is(err, io.EOF) || m.GetCloseStream() != nil:
			it.err = errMoved
		case m.GetHeartbeat() != nil:
			it.through = m.GetHeartbeat().GetEstimatedLowWatermark()
		case change != nil:
			if change.GetType() != bigtablepb.ReadChangeStreamResponse_DataChange_GARBAGE_COLLECTION {
				it.key = string(change.GetRowKey())
			}
			if change.GetDone() {
				it.through = change.GetEstimatedLowWatermark()
			}
		}
		select {
		case items <- it:
		case <-ctx.Done():
			return
		}
		if it.err != nil {
			return
		}
	}
}

// follow applies changes until the context ends.
func (c *copying) follow(ctx context.Context) error {
	notes, err := c.to.Plumbing().Notes(ctx, changesNote)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, t := range c.tables {
		var from followed
		text, ok := notes[changesNote+t.id]
		if !ok {
			return firstOf(group, refused(t.id, "the copy was begun without following, so changes since then are not known; copy into a new database"))
		}
		if err := json.Unmarshal(text, &from); err != nil {
			return firstOf(group, damagedNote(changesNote+t.id, err))
		}
		f := &following{c: c, t: t, since: from.Since}
		group.Go(func() error { return f.run(ctx) })
	}
	return group.Wait()
}

// A following applies the changes of a table.
type following struct {
	c     *copying
	t     *table
	since time.Time // the changes before it are applied and noted

	mu      sync.Mutex
	through []time.Time // of each partition: the changes before it are applied
}

func (f *following) run(ctx context.Context) error {
	for tries := 1; ; tries++ {
		before := f.since
		err := f.partitions(ctx)
		if f.since != before {
			tries = 1
		}
		switch {
		case ctx.Err() != nil:
			return canceled(ctx, f.t.id)
		case err == errMoved && tries == 1: // which is no fault
			err = nil
		case err == errMoved && tries >= f.c.o.attempts:
			return newError(query.KindUnavailable, f.t.id, "%s closes the change stream whenever it is read, %d times without anything new; the target has the changes before %s, and the same copy goes on from there",
				f.c.from.place, tries, f.since.UTC().Format(time.RFC3339))
		case tries >= f.c.o.attempts || !passes(err):
			return f.c.from.failed(ctx, f.t.id, err)
		}
		if err := f.c.pause(ctx, f.t.id, tries, err); err != nil {
			return err
		}
	}
}

// partitions reads all partitions until one of them ends, and notes how far it came.
func (f *following) partitions(ctx context.Context) error {
	all, err := f.c.partitions(ctx, f.t)
	if err != nil {
		return err
	}
	since := f.since
	f.through = slices.Repeat([]time.Time{since}, len(all))
	group, reading := errgroup.WithContext(ctx)
	for i, p := range all {
		group.Go(func() error {
			return f.c.changes(reading, f.t, p, since, func(keys []string, through time.Time) error {
				if err := f.apply(reading, keys); err != nil {
					return err
				}
				return f.advance(reading, i, through, len(keys))
			})
		})
	}
	if err = group.Wait(); !passes(err) {
		return err
	}
	return cmp.Or(f.note(ctx, 0), err)
}

// advance notes the time before which the changes of all partitions are applied.
func (f *following) advance(ctx context.Context, partition int, through time.Time, rows int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if through.After(f.through[partition]) {
		f.through[partition] = through
	}
	f.c.tellChanges(f.t, rows, slices.MinFunc(f.through, time.Time.Compare))
	return f.note(ctx, f.c.o.heartbeat)
}

// note notes how far all partitions are, if that is some time after the last note.
func (f *following) note(ctx context.Context, after time.Duration) error {
	all := slices.MinFunc(f.through, time.Time.Compare)
	if all.Sub(f.since) <= after {
		return nil
	}
	if err := f.c.owned(ctx); err != nil {
		return err
	}
	if err := f.c.setNote(ctx, changesNote+f.t.id, followed{all}); err != nil {
		return err
	}
	f.since = all
	return nil
}

// tellChanges tells the progress of following.
func (c *copying) tellChanges(t *table, rows int, through time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.throughs == nil {
		c.throughs = map[*table]time.Time{}
	}
	if rows > 0 || through.After(c.throughs[t]) {
		c.told.Fault = nil
	}
	c.throughs[t] = through
	c.told.Changed += int64(rows)
	if len(c.throughs) < len(c.tables) {
		return
	}
	c.told.Through = slices.MinFunc(slices.Collect(maps.Values(c.throughs)), time.Time.Compare)
	if c.o.Progress != nil {
		c.o.Progress(c.told)
	}
}

// apply copies rows again that belong to the copy.
func (f *following) apply(ctx context.Context, keys []string) error {
	slices.Sort(keys)
	keys = slices.DeleteFunc(slices.Compact(keys), func(key string) bool {
		return !strings.HasPrefix(key, f.c.o.Prefix) || !f.c.wanted(key) || cells.CheckRowKey(key) != nil
	})
	if len(keys) == 0 {
		return nil
	}
	to := &rewriting{c: f.c, t: f.t, left: keys}
	r := &reading{c: f.c, t: f.t, rows: cf.Prefix(f.c.o.Prefix), to: to}
	if err := r.whole(ctx, keys); err != nil {
		return err
	}
	return to.gone(ctx, "")
}

// A rewriting is the sink of rows that are copied again. What was there before goes.
type rewriting struct {
	c       *copying
	t       *table
	left    []string // keys that have not come; those that do not come are gone
	key     string
	changes []write.Change
	size    int
}

func (a *rewriting) begin(ctx context.Context, key string) error {
	if err := a.gone(ctx, key); err != nil {
		return err
	}
	a.key, a.changes, a.size = key, []write.Change{{Kind: write.DeleteRowChange}}, 0
	return nil
}

func (a *rewriting) cell(ctx context.Context, f *family, qualifier string, ts cells.Timestamp, v cells.Value) error {
	change := write.Change{Kind: write.SetChange, Family: f.Name, Qualifier: qualifier, Since: ts, Value: v}
	if f.Aggregate != schema.NoAggregate {
		change.Kind = write.AddChange
	}
	a.changes = append(a.changes, change)
	if a.size += len(qualifier) + size(v); a.size < a.c.o.flushAt && len(a.changes) < changesAtMost {
		return nil
	}
	return a.write(ctx)
}

func (a *rewriting) end(ctx context.Context) error {
	if err := a.write(ctx); err != nil {
		return err
	}
	if len(a.left) > 0 && a.left[0] == a.key {
		a.left = a.left[1:]
	}
	return nil
}

func (a *rewriting) passed(context.Context, string) error { return nil }

func (a *rewriting) write(ctx context.Context) error {
	if len(a.changes) == 0 {
		return nil
	}
	err := a.c.to.Table(a.t.id).Apply(ctx, a.key, write.MutationOf(a.changes))
	a.changes, a.size = nil, 0
	return written(ctx, a.t.id, err)
}

// gone deletes the rows before a key that did not come; an empty key is the end.
func (a *rewriting) gone(ctx context.Context, key string) error {
	for len(a.left) > 0 && (key == "" || a.left[0] < key) {
		a.key, a.changes = a.left[0], []write.Change{{Kind: write.DeleteRowChange}}
		if err := a.write(ctx); err != nil {
			return err
		}
		a.left = a.left[1:]
	}
	return nil
}
