package compare_test

import (
	"math"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/internal/compare"
)

// The ranges of a comparison have exactly the encodings of the values for which it holds.
func TestRangesAreThoseOfTheComparison(t *testing.T) {
	values := []cells.Value{cells.Byte(0), cells.Byte(7), cells.Byte(255), cells.Bool(true), cells.Bool(false), cells.String("a"), cells.String(""), cells.Bytes([]byte("a"))}
	for _, f := range []float64{0, math.Copysign(0, -1), 7, 7.5, -7, 1e300, -1e300, 1 << 53, 1<<53 + 2, 1 << 63, -1 << 63, math.MaxFloat32, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1), math.NaN(), 0.1, float64(float32(0.1))} {
		values = append(values, cells.F64(f), cells.F32(float32(f)))
	}
	for _, n := range []int64{0, 7, -7, 255, 256, -1, math.MaxInt32, math.MinInt32, math.MaxInt32 + 1, 1 << 53, 1<<53 + 1, math.MaxInt64, math.MinInt64} {
		values = append(values, cells.I64(n), cells.I32(int32(n)))
	}
	for _, v := range values {
		for _, op := range []cells.Op{cells.OpEqual, cells.OpNotEqual, cells.OpLess, cells.OpLessOrEqual, cells.OpGreater, cells.OpGreaterOrEqual} {
			ranges := compare.Ranges(op, v)
			for _, w := range values {
				in, at := false, string(cells.AppendValue(nil, w))
				for i, r := range ranges {
					in = in || r.Start <= at && (r.End == "" || at < r.End)
					if i > 0 && ranges[i-1].End > r.Start {
						t.Fatalf("%s %s %v: the ranges overlap", op, v.Type(), v)
					}
				}
				if order, ok := cells.Compare(w, v); in != (op != cells.OpNotEqual && op.Holds(w, v) || op == cells.OpNotEqual && !(ok && order == 0)) {
					t.Errorf("%s %v %s %s %v: in the ranges %t", w.Type(), w, op, v.Type(), v, in)
				}
			}
		}
	}
}
