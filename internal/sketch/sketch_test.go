package sketch

import (
	"encoding/hex"
	"math"
	"testing"

	"github.com/smolwc/smolwc/cells"
)

// The hashes are on disk: docs/format.md has these.
func TestSketchOfOneValue(t *testing.T) {
	for _, test := range []struct {
		v    cells.Value
		want string
	}{
		{cells.String("TF-FIR"), "01010054ad0631bbdf068c"},
		{cells.Byte(1), "0101004bb5c1fce0e5922f"},
		{cells.F64(1), "0101004bb5c1fce0e5922f"},
	} {
		if got := hex.EncodeToString(AppendOf(nil, test.v)); got != test.want {
			t.Errorf("%s %s: %s, want %s", test.v.Type(), test.v, got, test.want)
		}
	}
}

// The estimator has its known standard error, 1.04/√16384, and no bias, over all
// sizes: pseudo-random hashes, always the same.
func TestEstimatorError(t *testing.T) {
	const runs = 8
	ns := []int{10, 1000, 10_000, 40_000, 80_000, 300_000}
	state, off := uint64(1), make([]float64, len(ns))
	for range runs {
		ranks, i := make([]byte, registers), 0
		for n := 1; i < len(ns); n++ {
			state += 0x9e3779b97f4a7c15 // splitmix64
			h := (state ^ state>>30) * 0xbf58476d1ce4e5b9
			h = (h ^ h>>27) * 0x94d049bb133111eb
			h ^= h >> 31
			rank := byte(1)
			for rest := h << precision; rest>>63 == 0 && rank < maxRank; rest <<= 1 {
				rank++
			}
			at := &ranks[h>>(64-precision)]
			*at = max(*at, rank)
			if n == ns[i] {
				off[i] += (estimateRegisters(ranks)/float64(n) - 1) / runs
				i++
			}
		}
	}
	for i, n := range ns {
		if bound := 3 * 1.04 / math.Sqrt(registers*runs); math.Abs(off[i]) > bound {
			t.Errorf("at %d the mean error is %.3f %%, beyond %.3f %%", n, 100*off[i], 100*bound)
		}
	}
}
