package catalog

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/sketch"
	"github.com/smolwc/smolwc/schema"
)

// MergeKinds are how the store merges added values.
var MergeKinds = map[schema.Aggregate]cf.MergeKind{
	schema.AggregateSum: cf.MergeSum,
	schema.AggregateMin: cf.MergeMin,
	schema.AggregateMax: cf.MergeMax,
	schema.AggregateHLL: cf.MergeDistinct,
}

// An aggregateCursor gives the cells of an aggregating family the values that
// readers see, all of type i64.
type aggregateCursor struct {
	cf.Cursor
	aggregate schema.Aggregate
}

// Readable wraps a cursor over the family if the family aggregates.
func (f *Family) Readable(c cf.Cursor) cf.Cursor {
	if f.Aggregate == schema.NoAggregate {
		return c
	}
	return &aggregateCursor{c, f.Aggregate}
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
		n, ok := AggregateOf(c.aggregate, value)
		if !ok {
			value[0] = byte(cells.TypeAny)
			continue
		}
		span.ValueLen = uint32(len(cells.AppendValue(value[:0], cells.I64(n))))
	}
	return b, nil
}

// AggregateOf reads a stored value; ok is false when the value does not fit the
// aggregate.
func AggregateOf(a schema.Aggregate, value []byte) (n int64, ok bool) {
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

// AppendOperand appends the operand that the store merges into a cell to add v.
func (f *Family) AppendOperand(dst []byte, v cells.Value) []byte {
	return f.AppendInput(append(dst, byte(MergeKinds[f.Aggregate])), v)
}

// AppendInput is AppendOperand without the kind of the merge.
func (f *Family) AppendInput(dst []byte, v cells.Value) []byte {
	if f.Aggregate == schema.AggregateHLL {
		return sketch.AppendOf(dst, v)
	}
	return cells.AppendValue(dst, v)
}
