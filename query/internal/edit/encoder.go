// Package edit turns mutations of rows, which it checks, into the changes of one batch
// of the store.
package edit

import (
	"context"
	"math"
	"slices"
	"unsafe"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/changes"
	"github.com/smolwc/smolwc/query/internal/clock"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/write"
)

// A RowWrite is a mutation that passed its checks.
type RowWrite struct {
	Table   *catalog.Table
	Key     string
	Changes []write.Change
	Newest  cells.Timestamp // the newest timestamp that a change names
}

// Check finds everything that can be wrong with a mutation, before the write
// begins.
func Check(c *catalog.Catalog, e write.Entry) (RowWrite, error) {
	t, err := c.Table(e.Table)
	if err != nil {
		return RowWrite{}, err
	}
	if err := catalog.CheckRowKey(e.Key); err != nil {
		return RowWrite{}, err
	}
	changes := e.Mutation.Changes()
	if len(changes) == 0 {
		return RowWrite{}, fault.Errorf(fault.InvalidArgument, "mutation has no changes")
	}
	for i := range changes {
		if err := t.CheckChange(&changes[i]); err != nil {
			return RowWrite{}, err
		}
	}
	return RowWrite{t, e.Key, changes, e.Mutation.Newest()}, nil
}

// SetServerTime gives the sets without a timestamp one that they share, in a
// transaction, and reports whether there were any.
func (w *RowWrite) SetServerTime(ctx context.Context, c *clock.Clock, txn cf.Txn) (bool, error) {
	if !slices.ContainsFunc(w.Changes, func(c write.Change) bool { return c.ServerTime }) {
		return false, nil
	}
	ts, err := c.NextIn(ctx, txn, w.RowID())
	if err != nil {
		return false, err
	}
	for i := range w.Changes {
		if ch := &w.Changes[i]; ch.ServerTime {
			ch.Since, ch.ServerTime = ts.RoundDown(ch.Unit), false
		}
	}
	return true, nil
}

// RowID names the row in the store.
func (w *RowWrite) RowID() cf.RowID { return cf.RowID{Space: w.Table.Name, Row: w.Key} }

// Logged reports whether the write changes a table with a change stream.
func (w RowWrite) Logged() bool { return w.Table.Stream != nil }

// An encoder turns mutations into the changes of one store batch.
type encoder struct {
	ctx     context.Context
	clock   *clock.Clock
	snap    cf.Snapshot // nil in a blind write
	batch   *cf.Batch
	now     cells.Timestamp // for retention, of the first editor on
	Singly  bool            // deletes remove cells one by one, however many
	editors map[cf.RowID]*rowEditor
	blind   rowEditor // of all rows of a blind write
}

// NewEncoder is an encoder into a batch. snap is nil in a blind write.
func NewEncoder(ctx context.Context, c *clock.Clock, snap cf.Snapshot, b *cf.Batch) encoder {
	return encoder{ctx: ctx, clock: c, snap: snap, batch: b}
}

// Write encodes a mutation.
func (e *encoder) Write(w *RowWrite) error {
	e.batch.Row(w.RowID())
	Mark(e.batch, w.Table)
	if w.Logged() {
		changes.AppendRow(e.batch, changes.NoteRow, w.Table.Stream.ID, w.Key)
	}
	edit := e.editor(w.RowID())
	var ts cells.Timestamp // for the sets of this mutation that have no timestamp
	for i := range w.Changes {
		c := &w.Changes[i]
		if c.Kind != write.SetChange {
			var err error
			if c.Kind == write.AddChange || c.Kind == write.MergeChange {
				err = e.add(edit, w.Table, c)
			} else {
				if w.Logged() {
					changes.AppendDelete(e.batch, w.Table, c)
				}
				err = edit.apply(e.ctx, w.Table, c)
			}
			if err != nil {
				return err
			}
			continue
		}
		if c.ServerTime && ts == 0 {
			var err error
			if ts, err = e.clock.NextOf(e.ctx, e.batch); err != nil {
				return err
			}
		}
		if err := e.set(edit, w.Table, c, ts); err != nil {
			return err
		}
	}
	return nil
}

// Mark marks the row that the batch named as changed, in a table with marks. The mark
// commits with the change.
func Mark(b *cf.Batch, t *catalog.Table) {
	if t.Marks != nil {
		b.PutFunc(t.Marks.Store, "", 0, func(dst []byte) []byte { return cells.AppendValue(dst, cells.Bytes(nil)) })
	}
}

func (e *encoder) set(edit *rowEditor, t *catalog.Table, c *write.Change, serverTime cells.Timestamp) error {
	f, err := t.Family(c.Family)
	if err != nil {
		return err
	}
	ts := c.Since
	if c.ServerTime {
		ts = serverTime.RoundDown(c.Unit)
	}
	if e.snap != nil {
		edit.set(column{f, c.Qualifier}, int64(ts))
	}
	Put(e.batch, f.Store, c.Qualifier, int64(ts), c.Value)
	return nil
}

// Put sets a cell of the row that the batch named. The batch does not copy a large
// value.
func Put(b *cf.Batch, family, qualifier string, ts int64, v cells.Value) {
	if v.EncodedLen() < cf.LargeValue {
		b.PutFunc(family, qualifier, ts, func(dst []byte) []byte { return cells.AppendValue(dst, v) })
		return
	}
	tag, tail := cells.AppendValue(nil, cells.String("")), ""
	if raw, ok := v.AsBytes(); ok {
		tag, tail = cells.AppendValue(nil, cells.Bytes(nil)), unsafe.String(unsafe.SliceData(raw), len(raw))
	} else {
		tail, _ = v.AsString()
	}
	b.PutTail(family, qualifier, ts, tag, tail)
}

func (e *encoder) add(edit *rowEditor, t *catalog.Table, c *write.Change) error {
	f, err := t.Family(c.Family)
	if err != nil {
		return err
	}
	if e.snap != nil {
		edit.set(column{f, c.Qualifier}, int64(c.Since))
	}
	var buf [16]byte
	value := buf[:0]
	if c.Kind == write.AddChange {
		value = f.AppendInput(value, c.Value)
	} else {
		value = cells.AppendValue(value, c.Value)
	}
	e.batch.Merge(f.Store, c.Qualifier, int64(c.Since), catalog.MergeKinds[f.Aggregate], value)
	return nil
}

// editor is the editor of a row; the mutations of a batch on one row share it.
func (e *encoder) editor(id cf.RowID) *rowEditor {
	if e.snap == nil { // nothing to look at, nothing to remember
		e.blind.batch = e.batch
		return &e.blind
	}
	if e.editors == nil {
		e.editors, e.now = map[cf.RowID]*rowEditor{}, e.clock.Now()
	}
	if e.editors[id] == nil {
		e.editors[id] = newRowEditor(e.snap, e.batch, id.Row, e.now)
		if e.Singly {
			e.editors[id].pointDeletes = math.MaxInt
		}
	}
	return e.editors[id]
}

// Reads reports whether a mutation must look before it writes: to choose between
// single deletes and a range, or because a family keeps a number of versions.
func (w RowWrite) Reads() bool {
	for i := range w.Changes {
		if looksFirst(&w.Changes[i], w.Table) {
			return true
		}
	}
	return false
}

func looksFirst(c *write.Change, t *catalog.Table) bool {
	switch c.Kind {
	case write.SetChange, write.AddChange, write.MergeChange:
		return false
	case write.DeleteVersionsChange:
		f, err := t.Family(c.Family)
		return err != nil || f.Counts || c.Until != c.Since.Until()
	}
	return true
}
