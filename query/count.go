package query

import (
	"context"

	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// A Count is how much a read would return.
type Count struct {
	Rows  int64
	Cells int64 // 0 with KeysOnly
}

// Count counts the rows and cells that [Table.ReadRows] with the same options
// returns. The engine counts: no cell is put together, unless a filter has to see
// it. With [read.KeysOnly] it counts rows alone, which is cheaper.
func (t *Table) Count(ctx context.Context, opts ...read.Option) (Count, error) {
	n, err := t.count(ctx, nil, opts)
	return n, fail("count", t.Name(), "", err)
}

// count is Count as if kept were the rule of retention; nil is the rule in force.
func (t *Table) count(ctx context.Context, kept *[]schema.Limit, opts []read.Option) (Count, error) {
	spec, err := t.readSpec(ctx, opts)
	if err != nil {
		return Count{}, err
	}
	spec.Counting = true
	if kept != nil {
		spec.Limits, spec.HasLimits = *kept, true
	}
	r, err := t.openReader(ctx, nil, spec)
	if err != nil {
		return Count{}, err
	}
	defer r.close()
	return r.count(ctx)
}

func (r *reader) count(ctx context.Context) (n Count, err error) {
	if r.storeCounts() {
		return r.sum(ctx)
	}
	for {
		row, err := r.next(ctx)
		if row == nil || err != nil {
			return n, err
		}
		n.Rows++
		n.Cells += int64(r.counted + row.Len())
	}
}

// storeCounts reports whether the store yields exactly the cells to be counted.
func (r *reader) storeCounts() bool {
	return len(r.streams) == 1 && r.exact && r.spec.Offset == 0 && (r.counting || r.spec.KeysOnly)
}

// sum adds up the counts of the only stream.
func (r *reader) sum(ctx context.Context) (n Count, err error) {
	s := r.streams[0]
	for s.block != nil {
		n.Rows += int64(len(s.block.Rows))
		if s.block.Continued {
			n.Rows--
		}
		for i := range s.block.Rows {
			n.Cells += int64(s.block.Rows[i].Len)
		}
		if err := s.load(ctx); err != nil {
			return n, err
		}
	}
	r.returned = n.Rows
	return n, nil
}
