package catalog

import (
	"context"
	"iter"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/server/internal/calls"
)

// The methods below are those of [query.Table]. They count what they read and write, for the
// call and for the heat of the rows.

// A read counts its first rows one by one, and then many at a time.
const (
	countedOne = 64
	countEvery = 64
)

// ReadRows is that of [query.Table].
func (t *Table) ReadRows(ctx context.Context, opts ...read.Option) iter.Seq2[*query.Row, error] {
	return func(yield func(*query.Row, error) bool) {
		call := calls.Of(ctx)
		var seen, rows, cells int64
		defer func() { call.Read(rows, cells) }()
		for row, err := range t.Table.ReadRows(ctx, opts...) {
			if err == nil {
				t.heat.Read(row.Key())
				rows++
				cells += int64(row.Len())
				if seen++; seen <= countedOne || rows == countEvery {
					call.Read(rows, cells)
					rows, cells = 0, 0
				}
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// LookedUp counts a read of a row whose cells are not counted: the row does not exist, a filter
// rejects it, or only the server sees it.
func (t *Table) LookedUp(ctx context.Context, key string) {
	t.heat.Read(key)
	calls.Of(ctx).Read(1, 0)
}

// ReadRow is that of [query.Table].
func (t *Table) ReadRow(ctx context.Context, key string, opts ...read.Option) (*query.Row, error) {
	row, err := t.Table.ReadRow(ctx, key, opts...)
	t.heat.Read(key)
	calls.Of(ctx).Read(1, int64(row.Len()))
	return row, err
}

// ReadCells is that of [query.Table].
func (t *Table) ReadCells(ctx context.Context, key string, opts ...read.Option) iter.Seq2[cells.Cell, error] {
	return func(yield func(cells.Cell, error) bool) {
		call := calls.Of(ctx)
		t.heat.Read(key)
		call.Read(1, 0)
		for c, err := range t.Table.ReadCells(ctx, key, opts...) {
			if call.Read(0, 1); !yield(c, err) {
				return
			}
		}
	}
}

// Count is that of [query.Table]. It does not say which rows it has read.
func (t *Table) Count(ctx context.Context, opts ...read.Option) (query.Count, error) {
	n, err := t.Table.Count(ctx, opts...)
	calls.Of(ctx).Read(n.Rows, n.Cells)
	return n, err
}

// Apply is that of [query.Table].
func (t *Table) Apply(ctx context.Context, key string, m *write.Mutation) error {
	err := t.Table.Apply(ctx, key, m)
	t.Wrote(ctx, err, key)
	return err
}

// ApplyBulk is that of [query.Table].
func (t *Table) ApplyBulk(ctx context.Context, keys []string, ms []*write.Mutation) ([]error, error) {
	errs, err := t.Table.ApplyBulk(ctx, keys, ms)
	if t.Wrote(ctx, err, keys...); err == nil {
		for _, failed := range errs {
			if failed != nil {
				calls.Of(ctx).Wrote(-1)
			}
		}
	}
	return errs, err
}

// CheckAndMutate is that of [query.Table]. It counts as a read and a write.
func (t *Table) CheckAndMutate(ctx context.Context, key string, predicate read.Option, ifTrue, ifFalse *write.Mutation) (bool, error) {
	matched, err := t.Table.CheckAndMutate(ctx, key, predicate, ifTrue, ifFalse)
	t.LookedUp(ctx, key)
	t.Wrote(ctx, err, key)
	return matched, err
}

// ApplyReadModifyWrite is that of [query.Table]. It counts as a read and a write.
func (t *Table) ApplyReadModifyWrite(ctx context.Context, key string, m *write.ReadModifyWrite) (*query.Row, error) {
	row, err := t.Table.ApplyReadModifyWrite(ctx, key, m)
	t.LookedUp(ctx, key)
	t.Wrote(ctx, err, key)
	return row, err
}

// Wrote counts a write of rows that ended with err. Writes that failed are work too, but
// have written nothing.
func (t *Table) Wrote(ctx context.Context, err error, keys ...string) {
	for _, key := range keys {
		t.heat.Write(key)
	}
	if err == nil {
		calls.Of(ctx).Wrote(len(keys))
	}
}
