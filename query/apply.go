package query

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/changes"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/write"
)

// Apply makes a mutation of one row. It is atomic across families, and on disk when Apply
// returns, unless the database is [DurabilityAsync]. An empty mutation is an error, as in
// Bigtable.
func (t *Table) Apply(ctx context.Context, key string, m *write.Mutation) error {
	err := t.database().apply(ctx, []write.Entry{{Table: t.Name(), Key: key, Mutation: m}})
	return fail("apply", t.Name(), key, err)
}

// Apply makes all mutations of a batch, over rows and tables, or none of them.
func (db *DB) Apply(ctx context.Context, b *write.Batch) error {
	if err := fault.Given("batch", b != nil); err != nil {
		return fail("apply batch", "", "", err)
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
		return nil, fail(op, t.Name(), "", fault.Errorf(fault.InvalidArgument, "%d row keys and %d mutations; there must be as many of each", len(keys), len(ms)))
	}
	if err := t.database().holdSchema(ctx); err != nil {
		return nil, fail(op, t.Name(), "", err)
	}
	defer t.db.schemaMu.RUnlock()
	c := t.db.catalog.Load()
	if _, err := c.Table(t.name); err != nil {
		return nil, fail(op, t.name, "", err)
	}
	valid := newCommit(t.db)
	defer valid.release()
	for i, key := range keys {
		w, err := check(c, write.Entry{Table: t.name, Key: key, Mutation: ms[i]})
		if err != nil {
			if errs == nil {
				errs = make([]error, len(keys))
			}
			errs[i] = fail(op, t.name, key, err)
			continue
		}
		valid.writes = append(valid.writes, w)
	}
	return errs, fail(op, t.name, "", valid.do(ctx))
}

// A rowWrite is a mutation that has passed its checks.
type rowWrite struct {
	table   *catalog.Table
	key     string
	changes []write.Change
	newest  cells.Timestamp // that a change names
}

func (db *DB) apply(ctx context.Context, entries []write.Entry) error {
	if err := db.holdSchema(ctx); err != nil {
		return err
	}
	defer db.schemaMu.RUnlock()
	c := db.catalog.Load()
	all := newCommit(db)
	defer all.release()
	for i := range entries {
		e := &entries[i]
		w, err := check(c, *e)
		if err != nil {
			if len(entries) > 1 {
				err = fault.Of(fault.KindOf(err), fmt.Errorf("table %s, row %q: %w", e.Table, fault.Shorten(e.Key), err))
			}
			return err
		}
		all.writes = append(all.writes, w)
	}
	return all.do(ctx)
}

// check finds everything that can be wrong with a mutation, before the write
// begins.
func check(c *catalog.Catalog, e write.Entry) (rowWrite, error) {
	t, err := c.Table(e.Table)
	if err != nil {
		return rowWrite{}, err
	}
	if err := catalog.CheckRowKey(e.Key); err != nil {
		return rowWrite{}, err
	}
	changes := e.Mutation.Changes()
	if len(changes) == 0 {
		return rowWrite{}, fault.Errorf(fault.InvalidArgument, "mutation has no changes")
	}
	for i := range changes {
		if err := t.CheckChange(&changes[i]); err != nil {
			return rowWrite{}, err
		}
	}
	return rowWrite{t, e.Key, changes, e.Mutation.Newest()}, nil
}

// A commit is checked mutations on their way into the store. Its memory is used
// again.
type commit struct {
	db     *DB
	ctx    context.Context
	writes []rowWrite
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

// release gives the commit's memory back.
func (c *commit) release() {
	clear(c.writes)
	clear(c.rows)
	c.db, c.ctx, c.writes, c.rows = nil, nil, c.writes[:0], c.rows[:0]
	commits.Put(c)
}

// do writes the mutations in one batch. The write is blind unless a delete has to
// look first.
func (c *commit) do(ctx context.Context) error {
	if len(c.writes) == 0 {
		return nil
	}
	c.ctx = ctx
	var newest cells.Timestamp
	for i := range c.writes {
		c.rows = append(c.rows, c.writes[i].rowID())
		newest = max(newest, c.writes[i].newest)
	}
	err := c.db.raiseFor(ctx, newest)
	if err != nil {
		return err
	}
	reads := slices.ContainsFunc(c.writes, rowWrite.reads)
	if slices.ContainsFunc(c.writes, rowWrite.logged) {
		return c.db.update(ctx, c.rows, true, func(snap cf.Snapshot, b *cf.Batch) error {
			if !reads {
				snap = nil
			}
			return c.encode(snap, b)
		})
	}
	if reads {
		_, err = c.db.store.Update(ctx, c.rows, c.looks)
	} else {
		_, err = c.db.store.Write(ctx, c.rows, c.blind)
	}
	return err
}

// encode puts the mutations into a batch.
func (c *commit) encode(snap cf.Snapshot, b *cf.Batch) error {
	e := encoder{ctx: c.ctx, db: c.db, snap: snap, batch: b, now: c.db.clock.Now()}
	for i := range c.writes {
		if err := e.write(&c.writes[i]); err != nil {
			return err
		}
		if limit := c.db.limits.Batch; b.Size() > limit {
			return fault.Errorf(fault.ResourceExhausted, "batch has more than %d bytes, the limit; write it in parts", limit)
		}
	}
	return nil
}

func (w *rowWrite) rowID() cf.RowID { return cf.RowID{Space: w.table.Name, Row: w.key} }

// An encoder turns mutations into the changes of one store batch.
type encoder struct {
	ctx     context.Context
	db      *DB
	snap    cf.Snapshot // nil in a blind write
	batch   *cf.Batch
	now     cells.Timestamp // for retention
	singly  bool            // deletes remove cells one by one, however many
	editors map[cf.RowID]*rowEditor
	blind   rowEditor // of all rows of a blind write
}

func (e *encoder) write(w *rowWrite) error {
	e.batch.Row(w.rowID())
	if w.logged() {
		changes.AppendRow(e.batch, changes.NoteRow, w.table.Stream.ID, w.key)
	}
	edit := e.editor(w.rowID())
	var ts cells.Timestamp // of this mutation's sets without one of their own
	for i := range w.changes {
		c := &w.changes[i]
		if c.Kind != write.SetChange {
			var err error
			if c.Kind == write.AddChange || c.Kind == write.MergeChange {
				err = e.add(edit, w.table, c)
			} else {
				if w.logged() {
					changes.AppendDelete(e.batch, w.table, c)
				}
				err = edit.apply(e.ctx, w.table, c)
			}
			if err != nil {
				return err
			}
			continue
		}
		if c.ServerTime && ts == 0 {
			var err error
			if ts, err = e.db.clock.Next(e.ctx); err != nil {
				return err
			}
		}
		if err := e.set(edit, w.table, c, ts); err != nil {
			return err
		}
	}
	return nil
}

func (e *encoder) set(edit *rowEditor, t *catalog.Table, c *write.Change, serverTime cells.Timestamp) error {
	f, err := t.Family(c.Family)
	if err != nil {
		return err
	}
	ts := c.Since
	if c.ServerTime {
		ts = serverTime
	}
	if e.snap != nil {
		edit.set(column{f, c.Qualifier}, int64(ts))
	}
	e.batch.PutFunc(f.Store, c.Qualifier, int64(ts), func(dst []byte) []byte { return cells.AppendValue(dst, c.Value) })
	return nil
}

// editor is the editor of a row; the mutations of a batch on one row share it.
func (e *encoder) editor(id cf.RowID) *rowEditor {
	if e.snap == nil { // nothing to look at, nothing to remember
		e.blind.batch = e.batch
		return &e.blind
	}
	if e.editors == nil {
		e.editors = map[cf.RowID]*rowEditor{}
	}
	if e.editors[id] == nil {
		e.editors[id] = newRowEditor(e.snap, e.batch, id.Row, e.now)
		if e.singly {
			e.editors[id].pointDeletes = math.MaxInt
		}
	}
	return e.editors[id]
}

// logged reports whether the write changes a table with a change stream.
func (w rowWrite) logged() bool { return w.table.Stream != nil }

// update is the store's Update for rows that may be logged: a note of the commit
// ends the batch.
func (db *DB) update(ctx context.Context, rows []cf.RowID, logged bool, fn func(cf.Snapshot, *cf.Batch) error) error {
	if !logged {
		_, err := db.store.Update(ctx, rows, fn)
		return err
	}
	return db.changes.Commit(ctx, &db.clock, func(note func(*cf.Batch) error) (cf.Position, error) {
		return db.store.Update(ctx, rows, func(snap cf.Snapshot, b *cf.Batch) error {
			if err := fn(snap, b); err != nil {
				return err
			}
			return note(b)
		})
	})
}
