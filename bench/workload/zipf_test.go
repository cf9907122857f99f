package workload

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/smolwc/smolwc/bench/yardstick"
)

// The frequency of rank r falls as (r+1)^-theta.
func TestZipfianFollowsItsLaw(t *testing.T) {
	const n, draws = 10_000, 2_000_000
	z := newZipfian(rand.New(rand.NewPCG(1, 1)), n)
	counts, sum := make([]float64, n), zeta(n)
	for range draws {
		counts[z.rank()]++
	}
	// The first two ranks are exact, so only chance is between; those after
	// them come from a continuous curve, which is a little off at its head.
	for rank := range 2 {
		want := draws * math.Pow(float64(rank+1), -theta) / sum
		if got := counts[rank]; math.Abs(got/want-1) > 0.01 {
			t.Errorf("rank %d was drawn %v times, want about %.0f", rank, got, want)
		}
	}
	for from := 1; from*2 <= n; from *= 2 { // ranks from-1 to 2*from-2
		got, want := 0.0, 0.0
		for rank := from - 1; rank < 2*from-1; rank++ {
			got += counts[rank]
			want += draws * math.Pow(float64(rank+1), -theta) / sum
		}
		tolerance := 0.05
		if from > 1 && from < 16 {
			tolerance = 0.3
		}
		if math.Abs(got/want-1) > tolerance {
			t.Errorf("ranks %d to %d were drawn %.0f times, want about %.0f", from-1, 2*from-2, got, want)
		}
	}
	if slope := logSlope(counts); math.Abs(slope+theta) > 0.02 {
		t.Errorf("frequencies fall as rank^%.3f, want rank^-%.2f", slope, theta)
	}
}

// logSlope fits a line to the logarithms of rank and mean frequency, over
// doublings of the rank.
func logSlope(counts []float64) float64 {
	var xs, ys []float64
	for from := 16; from*2 <= len(counts); from *= 2 {
		sum := 0.0
		for _, c := range counts[from : from*2] {
			sum += c
		}
		xs = append(xs, math.Log(float64(from)*math.Sqrt2))
		ys = append(ys, math.Log(sum/float64(from)))
	}
	var mx, my, xy, xx float64
	for i := range xs {
		mx, my = mx+xs[i]/float64(len(xs)), my+ys[i]/float64(len(xs))
	}
	for i := range xs {
		xy += (xs[i] - mx) * (ys[i] - my)
		xx += (xs[i] - mx) * (xs[i] - mx)
	}
	return xy / xx
}

func TestScrambledSpreadsWhatIsFrequent(t *testing.T) {
	const n = 1000
	z := newZipfian(rand.New(rand.NewPCG(1, 1)), n)
	low, total := 0, 200_000
	for range total {
		i := z.scrambled()
		if i < 0 || i >= n {
			t.Fatalf("item %d of %d", i, n)
		}
		if i < n/10 {
			low++
		}
	}
	// Unscrambled, most draws would be of the first tenth.
	if share := float64(low) / float64(total); share > 0.3 {
		t.Errorf("%.2f of the draws are of the first tenth of the items", share)
	}
}

func TestZipfianOfFewItems(t *testing.T) {
	for n := 1; n < 5; n++ {
		z := newZipfian(rand.New(rand.NewPCG(1, 1)), n)
		for range 1000 {
			if r := z.rank(); r < 0 || r >= n {
				t.Fatalf("rank %d of %d", r, n)
			}
		}
	}
}

// The mixes have the shares of the paper's table, and rows that are asked for
// are there.
func TestMixes(t *testing.T) {
	const rows, n = 1000, 20_000
	for _, m := range mixes {
		rng := rand.New(rand.NewPCG(2, 2))
		x := &mixer{mix: m, rng: rng, zipf: newZipfian(rng, rows), n: n, workers: 1, rows: rows}
		there := rows
		for round := range 2 {
			counts := map[yardstick.OpKind]int{}
			ops := x.round(round)
			for i, kind := range ops.Kinds {
				counts[kind]++
				switch row := int(ops.Rows[i]); {
				case kind == yardstick.OpInsert && row != there:
					t.Fatalf("%s: inserts row %d, want %d", m.name, row, there)
				case kind == yardstick.OpInsert:
					there++
				case row < 0 || row >= there:
					t.Fatalf("%s: asks for row %d of %d", m.name, row, there)
				}
			}
			for kind, want := range map[yardstick.OpKind]int{yardstick.OpRead: m.read, yardstick.OpUpdate: m.update, yardstick.OpInsert: m.insert, yardstick.OpScan: m.scan, yardstick.OpReadModifyWrite: m.modify} {
				if got := float64(counts[kind]) / n * 100; math.Abs(got-float64(want)) > 1.5 {
					t.Errorf("%s: operation %d is %.1f %% of all, want %d %%", m.name, kind, got, want)
				}
			}
		}
	}
}
