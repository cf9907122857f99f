package exec

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
)

// Every number is counted once, in its bin, for any numbers in any order, and there are
// at most as many bins as requested.
func TestBinsCountEachNumberWhereItLies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(
			rapid.Map(rapid.IntRange(-50, 50), func(n int) cells.Value { return cells.I64(int64(n)) }),
			rapid.Map(rapid.Int32(), cells.I32),
			rapid.Map(rapid.Int64Range(-1<<50, 1<<50), cells.I64),
			rapid.Map(rapid.IntRange(-500, 500), func(n int) cells.Value { return cells.F64(float64(n) / 100) }),
			rapid.Map(rapid.Float64Range(-1e6, 1e6), cells.F64),
		)
		values := rapid.SliceOfN(number, 1, 200).Draw(t, "values")
		most := rapid.IntRange(2, 30).Draw(t, "bins")
		var b decimalBins
		for _, v := range values {
			b.add(v)
		}
		bins := b.bins(most)
		if len(bins) > most {
			t.Fatalf("%d bins, not %d", len(bins), most)
		}
		width := bins[0].To - bins[0].From
		total := int64(0)
		for i, bin := range bins {
			total += bin.Count
			if i > 0 && bin.From != bins[i-1].To {
				t.Fatalf("bin %d begins at %v, behind %v", i, bin.From, bins[i-1].To)
			}
			near := int64(0) // numbers on a bound may differ only in their decimal text
			slack := max(width*1e-9, max(math.Abs(bin.From), math.Abs(bin.To))*1e-14)
			in := int64(0)
			for _, v := range values {
				f, _ := v.Float()
				if n, ok := v.Int(); ok {
					f = float64(n)
				}
				switch {
				case math.Abs(f-bin.From) < slack || math.Abs(f-bin.To) < slack:
					near++
				case bin.From < f && f < bin.To:
					in++
				}
			}
			if bin.Count < in || bin.Count > in+near {
				t.Fatalf("[%v, %v) has %d, not %d to %d", bin.From, bin.To, bin.Count, in, in+near)
			}
		}
		if total != int64(len(values)) {
			t.Fatalf("%d of %d are counted", total, len(values))
		}
	})
}

func TestBinsHaveRoundBoundsAndFlatMemory(t *testing.T) {
	var b decimalBins
	for i := range 1_000_000 {
		b.add(cells.F64(float64(i%99_991) * 0.37))
	}
	if len(b.count) > maxFineBins {
		t.Errorf("%d bins are held", len(b.count))
	}
	bins := b.bins(20)
	if len(bins) != 19 || bins[0].From != 0 || bins[0].To != 2000 {
		t.Errorf("%d bins, the first %+v", len(bins), bins[0])
	}

	b = decimalBins{}
	for _, f := range []float64{0.1, 0.2, 0.3, 0.7} { // 0.3/0.1 is less than 3 in binary
		b.add(cells.F64(f))
	}
	bins = b.bins(7)
	if want := []Bin{{0.1, 0.2, 1}, {0.2, 0.3, 1}, {0.3, 0.4, 1}}; !slices.Equal(bins[:3], want) {
		t.Errorf("%v, not %v", bins[:3], want)
	}

	b = decimalBins{}
	for _, v := range []cells.Value{cells.I64(math.MinInt64), cells.I64(math.MaxInt64), cells.F64(1e300), cells.F64(-1e-300), cells.F64(0), cells.F64(math.NaN()), cells.String("7")} {
		b.add(v)
	}
	if bins := b.bins(5); len(bins) > 5 || b.n != 5 || b.notFinite != 1 || b.notNumerical != 1 {
		t.Errorf("%v of %+v", bins, b)
	}

	b = decimalBins{}
	b.add(cells.F64(0))
	if bins := b.bins(5); !slices.Equal(bins, []Bin{{0, 1, 1}}) {
		t.Errorf("a zero is in %v", bins)
	}
}
