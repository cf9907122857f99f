package sql

import (
	"iter"
	"math"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
)

// Counts reports whether the result is one row, of [Plan.Counted], and not the
// wanted rows.
func (p *Plan) Counts() bool { return p.count }

// Bounds are the values of LIMIT and OFFSET: the result has the wanted rows, or the one
// row that counts them, from first (inclusive) to end (exclusive), counted from 0.
func (p *Plan) Bounds() (first, end uint64, err error) {
	limit, err := rowCount(p.limit, math.MaxInt64, "LIMIT")
	if err != nil {
		return 0, 0, err
	}
	if first, err = rowCount(p.offset, 0, "OFFSET"); err != nil {
		return 0, 0, err
	}
	return first, limit + min(first, math.MaxInt64-limit), nil
}

// rowCount is the value of LIMIT or OFFSET.
func rowCount(e *expr, otherwise uint64, what string) (uint64, error) {
	if e == nil {
		return otherwise, nil
	}
	n, err := e.eval(nil)
	if err != nil {
		return 0, err
	}
	if rows, ok := n.(int64); ok && rows >= 0 {
		return uint64(rows), nil
	}
	return 0, invalid("%s must not be negative or NULL", what)
}

// Reads are the options of a read of the rows that may be wanted, in the order of
// the result: those after the row with the key after, or all when after is
// empty. When every row read is wanted, the read ends after the number needed.
// When some is false, there is nothing to read.
func (p *Plan) Reads(after string, wanted uint64) (opts []read.Option, some bool) {
	keys := allKeys
	if p.where != nil && p.where.keys != nil {
		keys = p.where.keys()
	}
	switch {
	case after == "":
	case p.reverse:
		keys = keys.and(keyRanges{{End: after}})
	default:
		keys = keys.and(keyRanges{{Start: after + "\x00"}})
	}
	if len(keys) == 0 {
		return nil, false
	}
	opts = append(keys.options(), p.opts...)
	if p.reverse {
		opts = append(opts, read.Reverse())
	}
	if !p.cells {
		opts = append(opts, read.KeysOnly())
	}
	if p.where == nil {
		opts = append(opts, read.Limit(int(wanted)))
	}
	return opts, true
}

// Wants reports whether the condition holds for a row that was read.
func (p *Plan) Wants(row *query.Row) (bool, error) {
	if p.where == nil {
		return true, nil
	}
	v, err := p.where.eval(row)
	return v == true, err
}

// Values are the values of the columns in a wanted row; the row is nil for a query
// without a table. The sequence ends at an error.
func (p *Plan) Values(row *query.Row) iter.Seq2[*bigtablepb.Value, error] {
	return func(yield func(*bigtablepb.Value, error) bool) {
		for _, c := range p.columns {
			v, err := c.expr.eval(row)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(valueMessage(v), nil) {
				return
			}
		}
	}
}

// Counted is the row of the result for a number of wanted rows.
func (p *Plan) Counted(rows uint64) []*bigtablepb.Value {
	values := make([]*bigtablepb.Value, len(p.columns))
	for i := range values {
		values[i] = valueMessage(int64(rows))
	}
	return values
}
