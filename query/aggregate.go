package query

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/sketch"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// mergeKinds are how the store merges added values.
var mergeKinds = map[schema.Aggregate]cf.MergeKind{
	schema.AggregateSum: cf.MergeSum,
	schema.AggregateMin: cf.MergeMin,
	schema.AggregateMax: cf.MergeMax,
	schema.AggregateHLL: cf.MergeDistinct,
}

func (f *familyInfo) checkAdd(c *write.Change) error {
	column := fmt.Sprintf("%s:%s", c.Family, fault.Shorten(c.Qualifier))
	if f.aggregate == schema.NoAggregate {
		return fault.Errorf(fault.InvalidArgument, "%s: family %s has no aggregate and cannot be added to", column, f.name)
	}
	if err := c.Value.Check(); err != nil {
		return fault.Errorf(fault.InvalidArgument, "%s: %w", column, err)
	}
	if f.aggregate != schema.AggregateHLL && c.Value.Type() != cells.TypeI64 {
		return fault.Errorf(fault.InvalidArgument, "%s: family %s has the %s of i64 and cannot take %s %v", column, f.name, f.aggregate, c.Value.Type(), fault.Shorten(c.Value.String()))
	}
	return f.checkAggregateTime(c)
}

// checkMerge is checkAdd for a sketch.
func (f *familyInfo) checkMerge(c *write.Change) error {
	column := fmt.Sprintf("%s:%s", c.Family, fault.Shorten(c.Qualifier))
	if f.aggregate != schema.AggregateHLL {
		return fault.Errorf(fault.InvalidArgument, "%s: sketches are merged into families with the aggregate hll; %s has %s", column, f.name, f.aggregate)
	}
	if err := sketch.Check(cells.AppendValue(nil, c.Value)); err != nil {
		return fault.Errorf(fault.InvalidArgument, "%s: what is merged is no sketch of distinct values: %w", column, err)
	}
	return f.checkAggregateTime(c)
}

// checkAggregateTime judges the timestamp of an added value.
func (f *familyInfo) checkAggregateTime(c *write.Change) error {
	column := fmt.Sprintf("%s:%s", c.Family, fault.Shorten(c.Qualifier))
	if err := c.Since.Check(); err != nil {
		return fault.Errorf(fault.InvalidArgument, "%s: %w", column, err)
	}
	if c.Since == 0 && f.maxAge() > 0 {
		return fault.Errorf(fault.InvalidArgument, "%s: family %s keeps cells for %s, so that one at timestamp 0 has expired; add at a timestamp", column, f.name, schema.FormatAge(f.maxAge()))
	}
	return nil
}

// refuseAggregate is the error of a change that an aggregate does not permit.
func (f *familyInfo) refuseAggregate(qualifier, verb string) error {
	if f.aggregate == schema.NoAggregate {
		return nil
	}
	return fault.Errorf(fault.InvalidArgument, "%s:%s: family %s has the aggregate %s: it can be added to and not %s", f.name, fault.Shorten(qualifier), f.name, f.aggregate, verb)
}

func (e *encoder) add(edit *rowEditor, t *tableInfo, c *write.Change) error {
	f, err := t.family(c.Family)
	if err != nil {
		return err
	}
	if e.snap != nil {
		edit.set(column{f, c.Qualifier}, int64(c.Since))
	}
	var buf [16]byte
	value := buf[:0]
	if c.Kind == write.AddChange && f.aggregate == schema.AggregateHLL {
		value = sketch.AppendOf(value, c.Value)
	} else {
		value = cells.AppendValue(value, c.Value)
	}
	e.batch.Merge(f.store, c.Qualifier, int64(c.Since), mergeKinds[f.aggregate], value)
	return nil
}

// An aggregateCursor gives the cells of an aggregating family the values that
// readers see, all of type i64.
type aggregateCursor struct {
	cf.Cursor
	aggregate schema.Aggregate
}

// readable wraps a cursor over the family if the family aggregates.
func (f *familyInfo) readable(c cf.Cursor) cf.Cursor {
	if f.aggregate == schema.NoAggregate {
		return c
	}
	return &aggregateCursor{c, f.aggregate}
}

// Next rewrites the values of the block in place: no value gets longer. A damaged
// value loses its type, so that the reader reports it.
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

// aggregateOf reads a stored value; ok is false when the value does not fit the
// aggregate.
func aggregateOf(a schema.Aggregate, value []byte) (n int64, ok bool) {
	const narrow, wide = 1 + 8, 1 + 16
	switch {
	case a == schema.AggregateHLL:
		return sketch.Estimate(value)
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
