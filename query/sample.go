package query

import (
	"math"
)

// Sample reads each row with probability p, from 0 to 1. The choice depends on
// the row key alone, by a hash that never changes, cf.RowHash: a read that is
// repeated, goes on in pages or is of another table with the same keys chooses
// the same rows, and a larger p chooses them and more. The engine passes over
// the others.
func Sample(p float64) ReadOption {
	return optionFunc(func(r *readSpec) {
		r.sample, r.none = 0, false
		switch {
		case math.IsNaN(p) || p < 0 || p > 1:
			if r.err == nil {
				r.err = faultf(InvalidArgument, "sample of %v; it must be from 0 to 1", p)
			}
		case p == 0:
			r.none = true
		case p < 1:
			r.sample = max(1, uint64(math.Ldexp(p, 64)))
		}
	})
}
