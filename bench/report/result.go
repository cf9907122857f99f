package report

import "github.com/smolwc/smolwc/bench/stats"

// A Result is a contender's measurement for a workload.
type Result struct {
	Workload  string `json:"workload"`
	Workers   int    `json:"workers"`
	Contender string `json:"contender"`
	Yardstick bool   `json:"yardstick,omitempty"`
	Unit      string `json:"unit"` // of Ops
	Ops       int64  `json:"ops"`  // in a round

	// nanoseconds for each operation: the median, and every round
	NsPerOp float64   `json:"ns_per_op"`
	Rounds  []float64 `json:"ns_per_op_rounds"`
	// nanoseconds of processor time of the process for each operation, in every round
	Processor []float64 `json:"processor_ns_per_op_rounds"`
	// Ratio is the speed divided by the yardstick's in the same round.
	Ratio stats.Spread `json:"ratio"`
	// ProcessorRatio is the same for processor time, which other programs change less.
	ProcessorRatio stats.Spread `json:"processor_ratio"`

	AllocsPerOp float64 `json:"allocs_per_op"`               // Go's allocations; the median
	DiskPerOp   float64 `json:"disk_bytes_per_op,omitempty"` // bytes that came from the disk; the median
	RSS         int64   `json:"rss_bytes"`                   // of the whole process, after the last round

	Latency       *Latency       `json:"latency,omitempty"`       // of single calls, if they were timed
	Amplification *Amplification `json:"amplification,omitempty"` // of a load, if it was looked at
}

// Latency is the time of single calls in nanoseconds: of each quantile, the median of the
// rounds.
type Latency struct {
	P50  float64 `json:"p50_ns"`
	P99  float64 `json:"p99_ns"`
	P999 float64 `json:"p999_ns"`
	Max  float64 `json:"max_ns"`
	// Times is P999 as a multiple of the yardstick's in the same round.
	Times stats.Spread `json:"p999_times"`
}

// Amplification is the bytes that a load wrote to the disk, and those of its files at the
// end, for each byte of keys and values; medians of the rounds.
type Amplification struct {
	Write float64 `json:"write"`
	Space float64 `json:"space"`
}

// OpsPerSecond returns the speed.
func (r Result) OpsPerSecond() float64 { return 1e9 / r.NsPerOp }
