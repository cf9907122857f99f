package query

import (
	"context"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
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
func (t *Table) CheckAndMutate(ctx context.Context, key string, predicate read.Option, ifTrue, ifFalse *write.Mutation) (matched bool, err error) {
	const op = "check and mutate"
	err = t.database().writing(ctx, func(c *catalog.Catalog) (err error) {
		matched, err = t.checkAndMutate(ctx, c, key, predicate, ifTrue, ifFalse)
		return err
	})
	return matched && err == nil, fail(op, t.Name(), key, err)
}

func (t *Table) checkAndMutate(ctx context.Context, c *catalog.Catalog, key string, predicate read.Option, ifTrue, ifFalse *write.Mutation) (matched bool, err error) {
	table, err := c.Table(t.name)
	if err != nil {
		return false, err
	}
	if err := catalog.CheckRowKey(key); err != nil {
		return false, err
	}
	var branches [2]edit.RowWrite // without a table where there is nothing to do
	logged := false
	for i, m := range []*write.Mutation{ifTrue, ifFalse} {
		if m == nil {
			continue
		}
		if branches[i], err = edit.Check(c, write.Entry{Table: t.name, Key: key, Mutation: m}); err != nil {
			return false, err
		}
		logged = logged || branches[i].Logged()
		if err := t.db.state.RaiseFor(ctx, m.Newest()); err != nil {
			return false, err
		}
	}
	defer t.db.state.Marked.Add(table, key)
	err = t.db.state.Update(ctx, []cf.RowID{{Space: t.name, Row: key}}, logged, func(snap cf.Snapshot, b *cf.Batch) error {
		src := t.sourceOf(table)
		if matched, err = src.Satisfies(ctx, snap, key, predicate); err != nil {
			return err
		}
		w := &branches[0]
		if !matched {
			w = &branches[1]
		}
		if w.Table == nil {
			return nil
		}
		if !w.Reads() {
			snap = nil
		}
		e := edit.NewEncoder(ctx, &t.db.state.Clock, snap, b)
		return e.Write(w)
	})
	return matched, err
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
			b.PutFunc(f.Store, c.Qualifier, int64(c.Timestamp), func(dst []byte) []byte { return cells.AppendValue(dst, c.Value) })
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
