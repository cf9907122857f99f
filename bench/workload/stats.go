package workload

import (
	"math"
	"slices"
)

// A Result is what a contender took for a workload.
type Result struct {
	Workload  string `json:"workload"`
	Workers   int    `json:"workers"`
	Contender string `json:"contender"`
	Yardstick bool   `json:"yardstick,omitempty"`
	Unit      string `json:"unit"` // of Ops
	Ops       int64  `json:"ops"`  // in a round

	// Nanoseconds for each operation: the median, and every round.
	NsPerOp float64   `json:"ns_per_op"`
	Rounds  []float64 `json:"ns_per_op_rounds"`
	// Ratio is the speed to that of the yardstick in the same round.
	Ratio Spread `json:"ratio"`

	AllocsPerOp float64 `json:"allocs_per_op"` // Go's; the median
	RSS         int64   `json:"rss_bytes"`     // of the whole process, after the last round
}

// A Spread is the median of some figures, the least and the greatest.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// OpsPerSecond is the speed.
func (r Result) OpsPerSecond() float64 { return 1e9 / r.NsPerOp }

func summarize(w Workload, workers int, name string, yardstick bool, own, first []sample) Result {
	r := Result{Workload: w.Name, Workers: workers, Contender: name, Yardstick: yardstick, Unit: w.Unit}
	var ratios, allocs []float64
	for i, s := range own {
		r.Rounds = append(r.Rounds, s.nsOp)
		ratios = append(ratios, first[i].nsOp/s.nsOp)
		allocs = append(allocs, s.allocs)
		r.Ops, r.RSS = s.done.Ops, s.rss
	}
	r.NsPerOp, r.Ratio, r.AllocsPerOp = median(r.Rounds), spread(ratios), median(allocs)
	return r
}

func spread(v []float64) Spread {
	if len(v) == 0 {
		return Spread{math.NaN(), math.NaN(), math.NaN()}
	}
	return Spread{median(v), slices.Min(v), slices.Max(v)}
}

// median is the one in the middle, or the mean of the two; NaN of nothing.
func median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
