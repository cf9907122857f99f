package query

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/schema"
)

// Add adds v to the cell at timestamp 0 of a column of a family that aggregates:
// a sum grows by v, a min or max becomes v when that is less or greater, and of
// distinct values v is one more unless it was added before. The first add makes
// the cell. The families sum, min and max take i64; hll takes every value, and
// numbers that are equal are one value whatever their types.
//
// An add does not read: it is as cheap as a Set, and no add ever conflicts with
// another. It is not idempotent where the aggregate is not: an add to a sum that
// is made twice, for want of an answer, counts twice.
//
// In a family with max_age a cell at timestamp 0 would expire at once: use AddAt.
func (m *Mutation) Add(family, qualifier string, v cells.Value) { m.AddAt(family, qualifier, 0, v) }

// AddAt is Add to the cell at a timestamp: each has an aggregate of its own. The
// start of an hour as the timestamp, say, makes a version of the column an hour.
func (m *Mutation) AddAt(family, qualifier string, ts cells.Timestamp, v cells.Value) {
	m.add(change{kind: changeAdd, family: family, qualifier: qualifier, since: ts, value: v})
}

// MergeAt merges a sketch, which stands for a set of values, into the cell at a
// timestamp of a column of a family with the aggregate hll: the cell counts the
// union then. Sketches are the bytes of [MergeChange]; docs/format.md shows them.
// What is no sketch is an InvalidArgument. To merge one again changes nothing.
func (m *Mutation) MergeAt(family, qualifier string, ts cells.Timestamp, sketch []byte) {
	m.add(change{kind: changeMerge, family: family, qualifier: qualifier, since: ts, value: cells.Bytes(sketch)})
}

// mergeKinds are how the store merges what is added.
var mergeKinds = map[schema.Aggregate]cf.MergeKind{
	schema.AggregateSum: cf.MergeSum,
	schema.AggregateMin: cf.MergeMin,
	schema.AggregateMax: cf.MergeMax,
	schema.AggregateHLL: cf.MergeDistinct,
}

func (f *familyInfo) checkAdd(c *change) error {
	column := fmt.Sprintf("%s:%s", c.family, shorten(c.qualifier))
	if f.aggregate == schema.NoAggregate {
		return faultf(InvalidArgument, "%s: family %s has no aggregate and cannot be added to", column, f.name)
	}
	if err := c.value.Check(); err != nil {
		return faultf(InvalidArgument, "%s: %w", column, err)
	}
	if f.aggregate != schema.AggregateHLL && c.value.Type() != cells.TypeI64 {
		return faultf(InvalidArgument, "%s: family %s has the %s of i64 and cannot take %s %v", column, f.name, f.aggregate, c.value.Type(), shorten(c.value.String()))
	}
	return f.checkAggregateTime(c)
}

// checkMerge is checkAdd for a sketch.
func (f *familyInfo) checkMerge(c *change) error {
	column := fmt.Sprintf("%s:%s", c.family, shorten(c.qualifier))
	if f.aggregate != schema.AggregateHLL {
		return faultf(InvalidArgument, "%s: sketches are merged into families with the aggregate hll; %s has %s", column, f.name, f.aggregate)
	}
	if err := checkSketch(cells.AppendValue(nil, c.value)); err != nil {
		return faultf(InvalidArgument, "%s: what is merged is no sketch of distinct values: %w", column, err)
	}
	return f.checkAggregateTime(c)
}

// checkAggregateTime judges at which timestamp something is added.
func (f *familyInfo) checkAggregateTime(c *change) error {
	column := fmt.Sprintf("%s:%s", c.family, shorten(c.qualifier))
	if err := c.since.Check(); err != nil {
		return faultf(InvalidArgument, "%s: %w", column, err)
	}
	if c.since == 0 && f.maxAge() > 0 {
		return faultf(InvalidArgument, "%s: family %s keeps cells for %s, so that one at timestamp 0 has expired; add at a timestamp", column, f.name, schema.FormatAge(f.maxAge()))
	}
	return nil
}

// refuseAggregate is the error of a change that an aggregate does not allow.
func (f *familyInfo) refuseAggregate(qualifier, verb string) error {
	if f.aggregate == schema.NoAggregate {
		return nil
	}
	return faultf(InvalidArgument, "%s:%s: family %s has the aggregate %s: it can be added to and not %s", f.name, shorten(qualifier), f.name, f.aggregate, verb)
}

func (e *encoder) add(edit *rowEditor, t *tableInfo, c *change) error {
	f, err := t.family(c.family)
	if err != nil {
		return err
	}
	if e.snap != nil {
		edit.set(column{f, c.qualifier}, int64(c.since))
	}
	var buf [16]byte
	value := buf[:0]
	if c.kind == changeAdd && f.aggregate == schema.AggregateHLL {
		value = appendSketchOf(value, c.value)
	} else {
		value = cells.AppendValue(value, c.value)
	}
	e.batch.Merge(f.store, c.qualifier, int64(c.since), mergeKinds[f.aggregate], value)
	return nil
}

// An aggregateCursor gives the cells of a family that aggregates the values that
// readers see, all of type i64.
type aggregateCursor struct {
	cf.Cursor
	aggregate schema.Aggregate
}

// readable wraps a cursor over the family, if that aggregates.
func (f *familyInfo) readable(c cf.Cursor) cf.Cursor {
	if f.aggregate == schema.NoAggregate {
		return c
	}
	return &aggregateCursor{c, f.aggregate}
}

// Next rewrites the values of the block where they are: none becomes longer. One
// that is damaged becomes one without a type, for the reader to report.
func (c *aggregateCursor) Next(ctx context.Context) (*cf.Block, error) {
	b, err := c.Cursor.Next(ctx)
	if b == nil || err != nil {
		return b, err
	}
	for i := range b.Cells {
		span := &b.Cells[i]
		if span.ValueLen == 0 { // stripped
			continue
		}
		value := b.Value(span)
		n, ok := aggregateOf(c.aggregate, value)
		if !ok {
			value[0] = byte(cells.TypeAny)
			continue
		}
		span.ValueLen = uint32(len(cells.AppendValue(value[:0], cells.I64(n))))
	}
	return b, nil
}

// aggregateOf reads a stored value; ok is false when it is none of the aggregate.
func aggregateOf(a schema.Aggregate, value []byte) (n int64, ok bool) {
	const narrow, wide = 1 + 8, 1 + 16
	switch {
	case a == schema.AggregateHLL:
		return estimate(value)
	case len(value) == narrow && cells.Type(value[0]) == cells.TypeI64:
		return int64(binary.BigEndian.Uint64(value[1:])), true
	case a == schema.AggregateSum && len(value) == wide && cells.Type(value[0]) == cells.TypeBytes:
		if value[1] >= 0x80 {
			return math.MinInt64, true
		}
		return math.MaxInt64, true
	}
	return 0, false
}
