package query

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
)

// CheckAndMutate applies ifTrue when a row satisfies a predicate and ifFalse
// when it does not, and reports which it was. The look and the write are one:
// no other write of the row comes between. Either mutation may be nil, which
// changes nothing.
//
// The predicate is [Where], [Exists] or [Absent], or any option of a read,
// which is satisfied when the read finds a cell; nil is that of a row that has
// any cell. A row without cells satisfies Absent.
func (t *Table) CheckAndMutate(ctx context.Context, key string, predicate ReadOption, ifTrue, ifFalse *Mutation) (matched bool, err error) {
	const op = "check and mutate"
	if err := t.database().holdSchema(ctx); err != nil {
		return false, fail(op, t.Name(), key, err)
	}
	defer t.db.schemaMu.RUnlock()
	c := t.db.catalog.Load()
	if err := checkRowKey(key); err != nil {
		return false, fail(op, t.name, key, err)
	}
	var branches [2]write // without a table where there is nothing to do
	logged := false
	for i, m := range []*Mutation{ifTrue, ifFalse} {
		if m == nil {
			continue
		}
		if branches[i], err = c.check(batchEntry{t.name, key, m}); err != nil {
			return false, fail(op, t.name, key, err)
		}
		logged = logged || branches[i].logged()
		if err := t.db.raiseFor(ctx, m.newest); err != nil {
			return false, fail(op, t.name, key, err)
		}
	}
	err = t.db.update(ctx, []cf.RowID{{Space: t.name, Row: key}}, logged, func(snap cf.Snapshot, b *cf.Batch) error {
		if matched, err = t.satisfies(ctx, snap, key, predicate); err != nil {
			return err
		}
		w := &branches[0]
		if !matched {
			w = &branches[1]
		}
		if w.table == nil {
			return nil
		}
		if !w.reads() {
			snap = nil
		}
		e := encoder{ctx: ctx, db: t.db, snap: snap, batch: b, now: t.db.clock.now()}
		return e.write(w)
	})
	if err != nil {
		return false, fail(op, t.name, key, err)
	}
	return matched, nil
}

// satisfies judges a row as a snapshot shows it.
func (t *Table) satisfies(ctx context.Context, snap cf.Snapshot, key string, predicate ReadOption) (bool, error) {
	var opts []ReadOption
	if predicate != nil {
		opts = append(opts, predicate)
	}
	rr := rowReads.Get().(*rowRead)
	defer rr.release()
	spec := &rr.spec
	if err := spec.setRow(key, opts); err != nil {
		return false, err
	}
	conditions := spec.where
	if len(conditions) > 0 && len(spec.columns) == 0 {
		// The conditions' columns are all that is read, and a row that has
		// none of them is judged too.
		for _, c := range conditions {
			spec.columns = append(spec.columns, Column(c.family, c.qualifier))
		}
		spec.where = nil
	} else {
		conditions = nil
	}
	r, err := rr.open(ctx, t, snap)
	if err != nil {
		return false, err
	}
	defer r.close()
	row, err := r.next(ctx)
	if err != nil {
		return false, err
	}
	if len(conditions) == 0 {
		return row != nil, nil
	}
	if row == nil {
		row = new(Row)
	}
	return !slices.ContainsFunc(conditions, func(c condition) bool { return !c.holds(row) }), nil
}

// A ReadModifyWrite is a list of changes to columns of one row that depend on
// the columns' newest values. It belongs to one goroutine while it is built. A nil one
// stays empty, and to apply it is an error.
type ReadModifyWrite struct {
	rules []modifyRule
	at    cells.Timestamp
	hasAt bool
}

type modifyRule struct {
	family, qualifier string
	append            []byte
	isAppend          bool
	absent            cells.Type // of a column that is not there, in an untyped family
	delta             int64
	bigEndian         bool // bytes are incremented as integers
}

// NewReadModifyWrite is one without changes.
func NewReadModifyWrite() *ReadModifyWrite { return new(ReadModifyWrite) }

// Increment adds delta to an integer: of the family's declared type, or of the
// type that the column has, or i64 for a column that is not there, which counts
// as 0. A result out of the type's range is an error; nothing is written then.
func (m *ReadModifyWrite) Increment(family, qualifier string, delta int64) {
	m.add(modifyRule{family: family, qualifier: qualifier, delta: delta, absent: cells.TypeI64})
}

// IncrementBytes is [ReadModifyWrite.Increment] as Bigtable's
// ReadModifyWriteRow has it: in an untyped family it adds delta to bytes, which
// must be the eight of a big-endian integer, or to a column that is not there,
// and wraps around at the ends of the range.
func (m *ReadModifyWrite) IncrementBytes(family, qualifier string, delta int64) {
	m.add(modifyRule{family: family, qualifier: qualifier, delta: delta, absent: cells.TypeBytes, bigEndian: true})
}

// SetTimestamp has every column written at a timestamp of the caller's, or at
// its newest cell's if that is later, and not at the database's clock.
func (m *ReadModifyWrite) SetTimestamp(ts cells.Timestamp) {
	if m != nil {
		m.at, m.hasAt = ts, true
	}
}

// AppendValue appends v to a string or bytes: of the family's declared type, or
// of the type that the column has, or bytes for a column that is not there,
// which counts as empty.
func (m *ReadModifyWrite) AppendValue(family, qualifier string, v []byte) {
	m.add(modifyRule{family: family, qualifier: qualifier, append: slices.Clone(v), isAppend: true, absent: cells.TypeBytes})
}

// AppendString is [ReadModifyWrite.AppendValue] for text: a column that is not
// there counts as an empty string where the family declares no type.
func (m *ReadModifyWrite) AppendString(family, qualifier, s string) {
	m.add(modifyRule{family: family, qualifier: qualifier, append: []byte(s), isAppend: true, absent: cells.TypeString})
}

func (m *ReadModifyWrite) add(r modifyRule) {
	if m != nil {
		m.rules = append(m.rules, r)
	}
}

// Increment is [Table.ApplyReadModifyWrite] for one counter; it returns the new
// value.
func (t *Table) Increment(ctx context.Context, key, family, qualifier string, delta int64) (int64, error) {
	m := NewReadModifyWrite()
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
func (t *Table) ApplyReadModifyWrite(ctx context.Context, key string, m *ReadModifyWrite) (*Row, error) {
	row, err := t.readModifyWrite(ctx, key, m)
	return row, fail("read-modify-write", t.Name(), key, err)
}

func (t *Table) readModifyWrite(ctx context.Context, key string, m *ReadModifyWrite) (row *Row, err error) {
	if err := t.database().holdSchema(ctx); err != nil {
		return nil, err
	}
	defer t.db.schemaMu.RUnlock()
	info, err := t.db.catalog.Load().table(t.name)
	if err != nil {
		return nil, err
	}
	if err := info.checkModify(key, m); err != nil {
		return nil, err
	}
	if err := t.db.raiseFor(ctx, m.at); err != nil {
		return nil, err
	}
	id := cf.RowID{Space: t.name, Row: key}
	err = t.db.update(ctx, []cf.RowID{id}, info.stream != nil, func(snap cf.Snapshot, b *cf.Batch) error {
		written, err := t.modify(ctx, snap, info, key, m)
		if err != nil {
			return err
		}
		b.Row(id)
		if info.stream != nil {
			notesRow(b, noteRow, info.stream.id, key)
		}
		for _, c := range written {
			b.PutFunc(storeName(t.name, c.Family), c.Qualifier, int64(c.Timestamp),
				func(dst []byte) []byte { return cells.AppendValue(dst, c.Value) })
		}
		row = rowOf(key, written)
		return nil
	})
	return row, err
}

func (t *tableInfo) checkModify(key string, m *ReadModifyWrite) error {
	if err := checkRowKey(key); err != nil {
		return err
	}
	if m == nil || len(m.rules) == 0 {
		return faultf(InvalidArgument, "read-modify-write has no changes")
	}
	if err := m.at.Check(); err != nil {
		return &fault{InvalidArgument, err}
	}
	for _, r := range m.rules {
		f, err := t.family(r.family)
		if err != nil {
			return err
		}
		if len(r.qualifier) > MaxQualifier {
			return faultf(InvalidArgument, "%s: qualifier of %d bytes is too long; it may have up to %d", r.family, len(r.qualifier), MaxQualifier)
		}
		if err := f.refuseAggregate(r.qualifier, r.participle()); err != nil {
			return err
		}
		if f.typ != cells.TypeAny && !r.fits(f.typ) {
			return faultf(InvalidArgument, "%s:%s: cannot %s a %s", r.family, r.qualifier, r.verb(), f.typ)
		}
	}
	return nil
}

func (r *modifyRule) verb() string {
	if r.isAppend {
		return "append to"
	}
	return "increment"
}

func (r *modifyRule) participle() string {
	if r.isAppend {
		return "appended to"
	}
	return "read and incremented"
}

// fits reports whether the rule can be applied to values of a type.
func (r *modifyRule) fits(t cells.Type) bool {
	if r.isAppend {
		return t == cells.TypeBytes || t == cells.TypeString
	}
	return r.bigEndian && t == cells.TypeBytes || t == cells.TypeByte || t == cells.TypeI32 || t == cells.TypeI64
}

// modify computes the cells that the rules write, one for each column, in the
// order of a row.
func (t *Table) modify(ctx context.Context, snap cf.Snapshot, info *tableInfo, key string, m *ReadModifyWrite) ([]cells.Cell, error) {
	var columns []ColumnSpec
	for _, r := range m.rules {
		columns = append(columns, Column(r.family, r.qualifier))
	}
	rr := rowReads.Get().(*rowRead)
	defer rr.release()
	rr.spec.columns, rr.spec.versions = columns, 1
	if err := rr.spec.setRow(key, nil); err != nil {
		return nil, err
	}
	reader, err := rr.open(ctx, t, snap)
	if err != nil {
		return nil, err
	}
	defer reader.close()
	row, err := reader.next(ctx)
	if err != nil {
		return nil, err
	}
	if row == nil {
		row = new(Row)
	}
	now := m.at
	if !m.hasAt {
		if now, err = t.db.clock.next(ctx); err != nil {
			return nil, err
		}
	}
	written := map[column]cells.Cell{}
	for _, r := range joinAppends(m.rules) {
		f, err := info.family(r.family)
		if err != nil {
			return nil, err
		}
		col := column{f, r.qualifier}
		c, ok := written[col]
		if !ok {
			c, _ = row.Cell(r.family, r.qualifier)
			c.Family, c.Qualifier, c.Timestamp = r.family, r.qualifier, max(c.Timestamp, now)
		}
		if c.Value, err = r.apply(c.Value, f.typ); err != nil {
			return nil, err
		}
		written[col] = c
	}
	return inRowOrder(written), nil
}

// joinAppends makes one rule of the appends to a column that follow each other: each
// copies what the column holds.
func joinAppends(rules []modifyRule) []modifyRule {
	type name struct{ family, qualifier string }
	var joined []modifyRule
	last := map[name]int{} // rule of a column
	for _, r := range rules {
		col := name{r.family, r.qualifier}
		if i, ok := last[col]; ok && r.isAppend && joined[i].isAppend {
			joined[i].append = append(joined[i].append, r.append...)
			continue
		}
		r.append = slices.Clip(r.append) // the caller's
		last[col] = len(joined)
		joined = append(joined, r)
	}
	return joined
}

func inRowOrder(written map[column]cells.Cell) []cells.Cell {
	var cs []cells.Cell
	for _, c := range written {
		cs = append(cs, c)
	}
	slices.SortFunc(cs, func(a, b cells.Cell) int {
		if order := strings.Compare(a.Family, b.Family); order != 0 {
			return order
		}
		return strings.Compare(a.Qualifier, b.Qualifier)
	})
	return cs
}

// apply is the value that a rule makes of the newest one; the zero Value stands
// for none.
func (r *modifyRule) apply(old cells.Value, declared cells.Type) (cells.Value, error) {
	typ := old.Type()
	switch {
	case typ != cells.TypeAny:
	case declared != cells.TypeAny:
		typ = declared
	default:
		typ = r.absent
	}
	if !r.fits(typ) {
		return old, faultf(FailedPrecondition, "%s:%s holds %s; cannot %s it", r.family, r.qualifier, typ, r.verb())
	}
	if r.isAppend {
		return r.appendTo(old, typ)
	}
	if typ == cells.TypeBytes {
		return r.addToBytes(old)
	}
	return r.addTo(old, typ)
}

func (r *modifyRule) appendTo(old cells.Value, typ cells.Type) (cells.Value, error) {
	var grown []byte
	if typ == cells.TypeString {
		s, _ := old.AsString()
		grown = append([]byte(s), r.append...)
	} else {
		b, _ := old.AsBytes()
		grown = append(slices.Clone(b), r.append...)
	}
	if len(grown) > MaxValue {
		return old, faultf(ResourceExhausted, "%s:%s: value would have %d bytes; it may have up to %d", r.family, r.qualifier, len(grown), MaxValue)
	}
	if typ == cells.TypeBytes {
		return cells.Bytes(grown), nil
	}
	v := cells.String(string(grown))
	if err := v.Check(); err != nil {
		return old, faultf(InvalidArgument, "%s:%s: %w", r.family, r.qualifier, err)
	}
	return v, nil
}

func (r *modifyRule) addToBytes(old cells.Value) (cells.Value, error) {
	b, ok := old.AsBytes()
	if ok && len(b) != 8 {
		return old, faultf(FailedPrecondition, "%s:%s holds %d bytes; only a value of 8, a big-endian integer, can be incremented", r.family, shorten(r.qualifier), len(b))
	}
	var n uint64
	if ok {
		n = binary.BigEndian.Uint64(b)
	}
	return cells.Bytes(binary.BigEndian.AppendUint64(nil, n+uint64(r.delta))), nil
}

// ranges are the least and the greatest integer of a type.
var ranges = map[cells.Type][2]int64{
	cells.TypeByte: {0, math.MaxUint8},
	cells.TypeI32:  {math.MinInt32, math.MaxInt32},
	cells.TypeI64:  {math.MinInt64, math.MaxInt64},
}

func (r *modifyRule) addTo(old cells.Value, typ cells.Type) (cells.Value, error) {
	n, _ := old.Int()
	low, high := ranges[typ][0], ranges[typ][1]
	sum := n + r.delta
	wraps := r.delta > 0 && sum < n || r.delta < 0 && sum > n
	if wraps || sum < low || sum > high {
		return old, faultf(FailedPrecondition, "%s:%s: %d + %d is out of the range of %s", r.family, r.qualifier, n, r.delta, typ)
	}
	switch typ {
	case cells.TypeByte:
		return cells.Byte(byte(sum)), nil
	case cells.TypeI32:
		return cells.I32(int32(sum)), nil
	}
	return cells.I64(sum), nil
}
