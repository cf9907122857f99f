package workload

import "github.com/smolwc/smolwc/bench/stats"

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
	Ratio stats.Spread `json:"ratio"`

	AllocsPerOp float64 `json:"allocs_per_op"` // Go's; the median
	RSS         int64   `json:"rss_bytes"`     // of the whole process, after the last round
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
	r.NsPerOp, r.Ratio, r.AllocsPerOp = stats.Median(r.Rounds), stats.SpreadOf(ratios), stats.Median(allocs)
	return r
}
