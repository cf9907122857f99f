package scan

import (
	"context"

	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

func (r *Reader) count(ctx context.Context) (rows, cells int64, err error) {
	if r.storeCounts() {
		return r.sum(ctx)
	}
	for {
		row, err := r.Next(ctx)
		if row == nil || err != nil {
			return rows, cells, err
		}
		rows++
		cells += int64(r.counted + row.Len())
	}
}

// storeCounts reports whether the store yields exactly the cells to be counted.
func (r *Reader) storeCounts() bool {
	return len(r.streams) == 1 && r.exact && r.spec.Offset == 0 && (r.counting || r.spec.KeysOnly)
}

// sum adds up the counts of the only stream.
func (r *Reader) sum(ctx context.Context) (rows, cells int64, err error) {
	s := r.streams[0]
	for s.block != nil {
		rows += int64(len(s.block.Rows))
		if s.block.Continued {
			rows--
		}
		for i := range s.block.Rows {
			cells += int64(s.block.Rows[i].Len)
		}
		if err := s.load(ctx); err != nil {
			return rows, cells, err
		}
	}
	r.returned = rows
	return rows, cells, nil
}

// Count counts the rows and cells that a read returns, as if kept were the rule of
// retention; nil is the rule in force.
func (src *Source) Count(ctx context.Context, kept *[]schema.Limit, opts []read.Option) (rows, cells int64, err error) {
	spec, err := src.Spec(opts)
	if err != nil {
		return 0, 0, err
	}
	spec.Counting = true
	if kept != nil {
		spec.Limits, spec.HasLimits = *kept, true
	}
	r, err := src.Open(ctx, nil, spec)
	if err != nil {
		return 0, 0, err
	}
	defer r.Close()
	return r.count(ctx)
}
