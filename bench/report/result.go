package report

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
