package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/excerpt"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/edit"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
)

// Apply makes a mutation of one row. It is atomic across families, and on disk when Apply
// returns, unless the database is [DurabilityAsync]. An empty mutation is an error, as in
// Bigtable.
func (t *Table) Apply(ctx context.Context, key string, m *write.Mutation) error {
	err := t.database().apply(ctx, []write.Entry{{Table: t.Name(), Key: key, Mutation: m}})
	return fail("apply", t.Name(), key, err)
}

// Apply makes all mutations of a batch, over rows and tables, or none of them. A batch
// with [write.Batch.Defer] waits for another write.
func (db *DB) Apply(ctx context.Context, b *write.Batch) error {
	if err := fault.Given("batch", b != nil); err != nil {
		return fail("apply batch", "", "", err)
	}
	if b.Deferred() {
		return fail("apply batch", "", "", db.applyLater(ctx, b.Entries()))
	}
	return fail("apply batch", "", "", db.apply(ctx, b.Entries()))
}

// ApplyBulk makes many mutations, ms[i] of the row keys[i], in one write. Each
// row is atomic by itself: a mutation that is wrong is reported for its row, and
// the others are written. errs is nil when every row was written; otherwise
// errs[i] is the outcome of row i. err is a failure of the write as a whole; then
// no row was written.
func (t *Table) ApplyBulk(ctx context.Context, keys []string, ms []*write.Mutation) (errs []error, err error) {
	const op = "apply bulk"
	if len(keys) != len(ms) {
		return nil, fail(op, t.Name(), "", fault.Errorf(fault.InvalidArgument, "%d row keys and %d mutations; the numbers must be equal", len(keys), len(ms)))
	}
	err = t.database().writing(ctx, func(c *catalog.Catalog) (err error) {
		errs, err = t.applyBulk(ctx, c, keys, ms)
		return err
	})
	if err != nil {
		errs = nil
	}
	return errs, fail(op, t.Name(), "", err)
}

func (t *Table) applyBulk(ctx context.Context, c *catalog.Catalog, keys []string, ms []*write.Mutation) (errs []error, err error) {
	if _, err := c.Table(t.name); err != nil {
		return nil, err
	}
	valid := newCommit(t.db)
	defer valid.release()
	for i, key := range keys {
		w, err := edit.Check(c, write.Entry{Table: t.name, Key: key, Mutation: ms[i]})
		if err != nil {
			if errs == nil {
				errs = make([]error, len(keys))
			}
			errs[i] = fail("apply bulk", t.name, key, err)
			continue
		}
		valid.writes = append(valid.writes, w)
	}
	if len(valid.writes) > 0 {
		valid.ride(c, t.db.deferred.Take())
	}
	return errs, valid.do(ctx)
}

func (db *DB) apply(ctx context.Context, entries []write.Entry) error {
	return db.writing(ctx, func(c *catalog.Catalog) error { return db.applyUnder(ctx, c, entries) })
}

func (db *DB) applyUnder(ctx context.Context, c *catalog.Catalog, entries []write.Entry) error {
	all := newCommit(db)
	defer all.release()
	for i := range entries {
		e := &entries[i]
		w, err := edit.Check(c, *e)
		if err != nil {
			if len(entries) > 1 {
				err = fault.Of(fault.KindOf(err), fmt.Errorf("table %s, row %q: %w", e.Table, excerpt.Of(e.Key), err))
			}
			return err
		}
		all.writes = append(all.writes, w)
	}
	all.ride(c, db.deferred.Take())
	return all.do(ctx)
}

// A commit writes checked mutations to the store. Its memory is reused.
type commit struct {
	db     *DB
	ctx    context.Context
	writes []edit.RowWrite
	riders int           // the first of the writes, which have waited for the others
	waited []write.Entry // the mutations of the riders
	rows   []cf.RowID
	blind  func(*cf.Batch) error // encode without a snapshot
	looks  func(cf.Snapshot, *cf.Batch) error
}

var commits = sync.Pool{New: func() any {
	c := new(commit)
	c.looks = c.encode
	c.blind = func(b *cf.Batch) error { return c.encode(nil, b) }
	return c
}}

func newCommit(db *DB) *commit {
	c := commits.Get().(*commit)
	c.db = db
	return c
}

func (c *commit) release() {
	clear(c.writes)
	clear(c.rows)
	c.db, c.ctx, c.writes, c.riders, c.waited, c.rows = nil, nil, c.writes[:0], 0, nil, c.rows[:0]
	commits.Put(c)
}

// errNoRoom says that a batch is too full for its riders.
var errNoRoom = errors.New("there is no room for deferred mutations")

// do writes the mutations. Riders for which there is no room wait again.
func (c *commit) do(ctx context.Context) error {
	if len(c.writes) == 0 {
		return nil
	}
	c.ctx = ctx
	err := c.write(ctx)
	if errors.Is(err, errNoRoom) {
		c.db.deferred.Return(c.waited)
		c.writes, c.riders, c.rows = slices.Delete(c.writes, 0, c.riders), 0, c.rows[:0]
		err = c.write(ctx)
	}
	return err
}

// write writes the mutations in one batch. The write is blind, without a snapshot, unless
// a delete must read first.
func (c *commit) write(ctx context.Context) error {
	var newest cells.Timestamp
	for i := range c.writes {
		c.rows = append(c.rows, c.writes[i].RowID())
		newest = max(newest, c.writes[i].Newest)
	}
	err := c.db.state.RaiseFor(ctx, newest)
	if err != nil {
		return err
	}
	defer c.marked()
	reads := slices.ContainsFunc(c.writes, edit.RowWrite.Reads)
	if slices.ContainsFunc(c.writes, edit.RowWrite.Logged) {
		return c.db.state.Update(ctx, c.rows, true, func(snap cf.Snapshot, b *cf.Batch) error {
			if !reads {
				snap = nil
			}
			return c.encode(snap, b)
		})
	}
	if reads {
		_, err = c.db.state.Store.Update(ctx, c.rows, c.looks)
	} else {
		_, err = c.db.state.Store.Write(ctx, c.rows, c.blind)
	}
	return err
}

// marked announces the rows that the write marked.
func (c *commit) marked() {
	for i := range c.writes {
		c.db.state.Marked.Add(c.writes[i].Table, c.writes[i].Key)
	}
}

func (c *commit) encode(snap cf.Snapshot, b *cf.Batch) error {
	e := edit.NewEncoder(c.ctx, &c.db.state.Clock, snap, b)
	for i := range c.writes {
		if err := e.Write(&c.writes[i]); err != nil {
			return err
		}
		limit := c.db.limits.Batch
		switch {
		case b.Size() <= limit:
		case c.riders > 0 && c.riders < len(c.writes):
			return errNoRoom
		default:
			return fault.Errorf(fault.ResourceExhausted, "batch has more than %d bytes, the limit; write it in parts", limit)
		}
	}
	return nil
}

// applyLater checks the mutations of a deferred batch and lets them wait.
func (db *DB) applyLater(ctx context.Context, entries []write.Entry) error {
	err := db.writing(ctx, func(c *catalog.Catalog) error {
		for _, e := range entries {
			w, err := edit.Check(c, e)
			if err == nil {
				err = w.CheckWait()
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && db.deferred.Add(entries) {
		err = db.applyDeferred(ctx)
	}
	return err
}

// deferredClose is how long a Close waits for the write of what waits.
const deferredClose = 5 * time.Second

// endDeferred writes what waits when the database is closed.
func (db *DB) endDeferred() {
	ctx, cancel := context.WithTimeout(context.Background(), deferredClose)
	defer cancel()
	if err := db.applyDeferred(ctx); err != nil {
		db.state.Logger.Warn("deferred writes are lost", "error", err)
	}
}

// applyDeferred writes what waits.
func (db *DB) applyDeferred(ctx context.Context) error {
	for {
		waiting := db.deferred.Take()
		if len(waiting) == 0 {
			return nil
		}
		err := db.writing(ctx, func(c *catalog.Catalog) error {
			all := newCommit(db)
			defer all.release()
			all.ride(c, waiting)
			return all.do(ctx)
		})
		if err != nil {
			return err
		}
	}
}

// ride adds mutations that waited, before the commit's own writes, which are newer. It
// leaves out those whose table or family is gone meanwhile.
func (c *commit) ride(under *catalog.Catalog, waiting []write.Entry) {
	var riders []edit.RowWrite
	for _, e := range waiting {
		if w, err := edit.Check(under, e); err == nil && w.CheckWait() == nil {
			riders = append(riders, w)
		}
	}
	c.waited, c.riders = waiting, len(riders)
	c.writes = slices.Insert(c.writes, 0, riders...)
}

// DeleteRange removes the rows of a set of prefixes and ranges, in a time that does not
// depend on their number. Each range is removed as a whole. In a table with a change
// stream or a materialized view it deletes the visible rows one after another instead:
// the stream then contains a delete of each.
func (t *Table) DeleteRange(ctx context.Context, rows read.RowSet) error {
	const op = "delete range"
	if rows.Err != nil {
		return fail(op, t.Name(), "", fault.Of(fault.InvalidArgument, rows.Err))
	}
	if db := t.database(); db != nil && db.state != nil && db.state.Shared != nil { // no commit looks at the version of the schema
		if err := db.state.Freshen(ctx); err != nil {
			return fail(op, t.Name(), "", err)
		}
	}
	logged := false
	err := t.database().writing(ctx, func(c *catalog.Catalog) error {
		info, err := c.Table(t.name)
		if err != nil {
			return err
		}
		if logged = info.Stream != nil || info.Marks != nil; logged {
			return nil
		}
		return t.dropRanges(ctx, info, rows)
	})
	if err == nil && logged {
		err = t.deleteLogged(ctx, rows) // each of its writes holds the schema
	}
	return fail(op, t.Name(), "", err)
}

func (t *Table) dropRanges(ctx context.Context, info *catalog.Table, rows read.RowSet) error {
	families := make([]string, len(info.Families))
	for i, f := range info.Families {
		families[i] = f.Store
	}
	for _, r := range cf.MergeRanges(rows.Ranges) {
		if err := t.db.state.Store.DropRange(ctx, families, r); err != nil {
			return err
		}
	}
	return nil
}

// deleteLogged deletes the rows that a read finds, in batches, so that the change stream
// contains their deletes and each row is marked.
func (t *Table) deleteLogged(ctx context.Context, rows read.RowSet) error {
	const most = 256
	b := write.NewBatch()
	flush := func() error {
		if b.Len() == 0 {
			return nil
		}
		err := t.db.apply(ctx, b.Entries())
		b = write.NewBatch()
		return err
	}
	m := write.NewMutation()
	m.DeleteRow()
	for row, err := range t.ReadRows(ctx, rows, read.KeysOnly()) {
		if err != nil {
			return err
		}
		if b.Add(t.name, row.Key(), m).Len() == most {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}
