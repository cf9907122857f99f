package query

import (
	"context"
	"errors"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/lock"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/changes"
	"github.com/smolwc/smolwc/query/internal/edit"
	"github.com/smolwc/smolwc/query/internal/scan"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
)

// CheckAndMutate applies ifTrue when a row satisfies a predicate, otherwise
// ifFalse, and reports which one. The check and the write are one step: no other
// write of the row comes between. Either mutation may be nil, which changes
// nothing.
//
// The predicate is [read.Where], [read.Exists] or [read.Absent], or any other option of
// a read, which is satisfied when the read finds a cell; a nil predicate is satisfied
// by any cell. A row without cells satisfies Absent.
//
// A predicate that takes longer than a millisecond or so holds up no other write. If the row
// is changed meanwhile it is judged again, and after [MaxTxAttempts] the error's kind is
// [KindConflict].
func (t *Table) CheckAndMutate(ctx context.Context, key string, predicate read.Option, ifTrue, ifFalse *write.Mutation) (matched bool, err error) {
	const op = "check and mutate"
	c := check{t: t, key: key, predicate: predicate, branches: [2]*write.Mutation{ifTrue, ifFalse}}
	err = t.database().writing(ctx, func(in *catalog.Catalog) error { return c.atOnce(ctx, in) })
	if errors.Is(err, errSlowPredicate) {
		err = c.aside(ctx)
	}
	return c.matched && err == nil, fail(op, t.Name(), key, err)
}

// A check is one call of CheckAndMutate.
type check struct {
	t         *Table
	key       string
	predicate read.Option
	branches  [2]*write.Mutation // for a row that satisfies the predicate, and for one that does not
	matched   bool
}

// branch is the index of the mutation to apply.
func (c *check) branch() int {
	if c.matched {
		return 0
	}
	return 1
}

var errSlowPredicate = errors.New("the predicate takes too long for a lock")

// atOnce judges the row under its lock. It fails with errSlowPredicate if that takes long.
func (c *check) atOnce(ctx context.Context, in *catalog.Catalog) error {
	t, db := c.t, c.t.db
	table, err := in.Table(t.name)
	if err != nil {
		return err
	}
	if err := catalog.CheckRowKey(c.key); err != nil {
		return err
	}
	var branches [2]edit.RowWrite // without a table where there is nothing to do
	logged := false
	for i, m := range c.branches {
		if m == nil {
			continue
		}
		if branches[i], err = edit.Check(in, write.Entry{Table: t.name, Key: c.key, Mutation: m}); err != nil {
			return err
		}
		logged = logged || branches[i].Logged()
		if err := db.state.RaiseFor(ctx, m.Newest()); err != nil {
			return err
		}
	}
	defer db.state.Marked.Add(table, c.key)
	return db.state.Update(ctx, []cf.RowID{{Space: t.name, Row: c.key}}, logged, func(snap cf.Snapshot, b *cf.Batch) error {
		matched, quick, err := t.sourceOf(table).SatisfiesAtOnce(ctx, snap, c.key, c.predicate)
		switch {
		case err != nil:
			return err
		case !quick:
			return errSlowPredicate
		}
		c.matched = matched
		w := &branches[c.branch()]
		if w.Table == nil {
			return nil
		}
		if !w.Reads() {
			snap = nil
		}
		e := edit.NewEncoder(ctx, &db.state.Clock, snap, b)
		return e.Write(w)
	})
}

// aside judges the row in a transaction, which locks nothing meanwhile. Only other such calls
// for the row wait, so that they do not make each other begin again.
func (c *check) aside(ctx context.Context) error {
	t := c.t
	release, err := t.db.checks.Acquire(ctx, cf.RowID{Space: t.name, Row: c.key}, lock.Exclusive)
	if err != nil {
		return err
	}
	defer release()
	work := scan.Bounded(ctx)
	return t.db.Update(ctx, func(tx *Tx) (err error) {
		table, err := tx.catalog.Table(t.name)
		if err != nil {
			return err
		}
		src := t.sourceOf(table)
		tx.tables[t.name] = true
		tx.txn.Read(t.name, cf.Single(c.key))
		if c.matched, err = src.Satisfies(work, tx.txn, c.key, c.predicate); err != nil {
			return err
		}
		if m := c.branches[c.branch()]; m != nil {
			return tx.Apply(ctx, t.name, c.key, m)
		}
		return nil
	})
}

// Increment is [Table.ApplyReadModifyWrite] for one counter; it returns the new
// value.
func (t *Table) Increment(ctx context.Context, key, family, qualifier string, delta int64) (int64, error) {
	m := write.NewReadModifyWrite()
	m.Increment(family, qualifier, delta)
	row, err := t.ApplyReadModifyWrite(ctx, key, m)
	if err != nil {
		return 0, err
	}
	n, _ := row.value(family, qualifier).Int()
	return n, nil
}

// ApplyReadModifyWrite makes the changes of m to a row, all or none, in their
// order, and returns the cells that it wrote. No other write of the row comes
// between the read and the write. Each column is written at the database's
// clock, or at its newest cell's timestamp if that is later.
func (t *Table) ApplyReadModifyWrite(ctx context.Context, key string, m *write.ReadModifyWrite) (*Row, error) {
	var row *Row
	err := t.database().writing(ctx, func(c *catalog.Catalog) (err error) {
		row, err = t.readModifyWrite(ctx, c, key, m)
		return err
	})
	if err != nil {
		row = nil
	}
	return row, fail("read-modify-write", t.Name(), key, err)
}

func (t *Table) readModifyWrite(ctx context.Context, c *catalog.Catalog, key string, m *write.ReadModifyWrite) (row *Row, err error) {
	info, err := c.Table(t.name)
	if err != nil {
		return nil, err
	}
	if err := edit.CheckModify(info, key, m); err != nil {
		return nil, err
	}
	at, _ := m.Timestamp()
	if err := t.db.state.RaiseFor(ctx, at); err != nil {
		return nil, err
	}
	rows := []cf.RowID{{Space: t.name, Row: key}}
	defer t.db.state.Marked.Add(info, key)
	err = t.db.state.Update(ctx, rows, info.Stream != nil, func(snap cf.Snapshot, b *cf.Batch) error {
		b.Row(rows[0])
		edit.Mark(b, info)
		written, err := t.modify(ctx, snap, b, info, key, m)
		if err != nil {
			return err
		}
		if info.Stream != nil {
			changes.AppendRow(b, changes.NoteRow, info.Stream.ID, key)
		}
		for i := range written {
			c := &written[i]
			f, err := info.Family(c.Family)
			if err != nil {
				return err
			}
			edit.Put(b, f.Store, c.Qualifier, int64(c.Timestamp), c.Value)
		}
		row = NewRow(key, written)
		return nil
	})
	return row, err
}

// modify computes the cells that the rules write, one for each column, in the
// order of a row.
func (t *Table) modify(ctx context.Context, snap cf.Snapshot, b *cf.Batch, info *catalog.Table, key string, m *write.ReadModifyWrite) (cs []cells.Cell, err error) {
	columns := make([]read.ColumnSpec, len(m.Rules()))
	for i, r := range m.Rules() {
		columns[i] = read.Column(r.Family, r.Qualifier)
	}
	src := t.sourceOf(info)
	err = src.Newest(ctx, snap, key, columns, func(row *scan.Row) error {
		cs, err = edit.Modified(ctx, &t.db.state.Clock, b, info, row.Cell, m)
		return err
	})
	return cs, err
}
