// Package report prints measurements: for people, for programs and for benchstat. It
// compares the measurements of two commits.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/smolwc/smolwc/bench/machine"
)

// A Report writes results as they arrive.
type Report interface {
	Machine(machine.Description) error
	Result(Result) error
}

// NewTable returns a report for people.
func NewTable(w io.Writer) Report { return &table{w: w} }

type table struct {
	w    io.Writer
	last string // the workload of the previous rows
}

func (t *table) Machine(m machine.Description) error {
	_, err := fmt.Fprintf(t.w, "%s, %d cores, %s/%s\n%s, RocksDB %s, commit %s, %s\nratio: speed to that of the first line in the same round; median over rounds, min..max; cpu: the same for processor time\n",
		m.CPU, m.Cores, m.OS, m.Arch, m.Go, m.RocksDB, m.Commit, m.Date.Format("2006-01-02 15:04 MST"))
	return err
}

func (t *table) Result(r Result) error {
	of := r.Workload
	if r.Workers > 1 {
		of += fmt.Sprintf(", %d goroutines", r.Workers)
	}
	if of != t.last {
		t.last = of
		if _, err := fmt.Fprintf(t.w, "\n%-32s %12s %12s %7s %14s %7s %12s %9s\n", of, "ns/"+r.Unit, r.Unit+"s/s", "ratio", "min..max", "cpu", "allocs/"+r.Unit, "RSS MiB"); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(t.w, "  %-30s %12.1f %12.0f %7.2f %14s %7.2f %12s %9d\n", r.Contender, r.NsPerOp, r.OpsPerSecond(), r.Ratio.Median,
		fmt.Sprintf("%.2f..%.2f", r.Ratio.Min, r.Ratio.Max), r.ProcessorRatio.Median, fmt.Sprintf("%.3f", r.AllocsPerOp), r.RSS>>20)
	if err == nil && r.DiskPerOp >= 1 {
		_, err = fmt.Fprintf(t.w, "    %.0f bytes from the disk for each %s\n", r.DiskPerOp, r.Unit)
	}
	if err == nil && r.Latency != nil {
		_, err = fmt.Fprintf(t.w, "    a call: p50 %.1f µs, p99 %.1f µs, p99.9 %.1f µs, at most %.1f µs; p99.9 is %v times the first line's\n",
			r.Latency.P50/1e3, r.Latency.P99/1e3, r.Latency.P999/1e3, r.Latency.Max/1e3, r.Latency.Times)
	}
	if err == nil && r.Amplification != nil {
		_, err = fmt.Fprintf(t.w, "    for each byte of data: %.2f written to the disk, %.2f in files\n", r.Amplification.Write, r.Amplification.Space)
	}
	return err
}

// NewJSON returns a report with one JSON object per line: first {"machine": ...}, then
// {"result": ...} for each result.
func NewJSON(w io.Writer) Report { return jsonLines{json.NewEncoder(w)} }

type jsonLines struct{ e *json.Encoder }

// A Line is a line of the JSON report. Exactly one field is set.
type Line struct {
	Machine *machine.Description `json:"machine,omitempty"`
	Result  *Result              `json:"result,omitempty"`
}

func (j jsonLines) Machine(m machine.Description) error { return j.e.Encode(Line{Machine: &m}) }
func (j jsonLines) Result(r Result) error               { return j.e.Encode(Line{Result: &r}) }

// NewBenchstat returns a report in the format of Go's benchmarks, one line for each
// round, for benchstat of golang.org/x/perf:
// https://go.googlesource.com/proposal/+/master/design/14313-benchmark-format.md
func NewBenchstat(w io.Writer) Report { return &benchstat{w: w} }

type benchstat struct {
	w     io.Writer
	cores int
}

// Machine writes as keys the facts that must be equal for figures to be comparable. The
// rest is a comment, so that benchstat puts two commits into one table.
func (b *benchstat) Machine(m machine.Description) error {
	b.cores = m.Cores
	_, err := fmt.Fprintf(b.w, "# commit %s, RocksDB %s, %s, %s\ngoos: %s\ngoarch: %s\ncpu: %s\n",
		m.Commit, m.RocksDB, m.Go, m.Date.Format("2006-01-02 15:04 MST"), m.OS, m.Arch, m.CPU)
	return err
}

func (b *benchstat) Result(r Result) error {
	name := benchmarkName(r)
	if b.cores > 1 {
		name += fmt.Sprintf("-%d", b.cores)
	}
	for _, ns := range r.Rounds {
		if _, err := fmt.Fprintf(b.w, "%s %d %.4g ns/op %.4g %ss/s %.4g allocs/op\n", name, r.Ops, ns, 1e9/ns, r.Unit, r.AllocsPerOp); err != nil {
			return err
		}
	}
	return nil
}

// benchmarkName returns a name such as BenchmarkGet/row/workers=16/smolwc.
func benchmarkName(r Result) string {
	name := "Benchmark" + capital(r.Workload)
	if r.Workers > 1 {
		name += fmt.Sprintf("/workers=%d", r.Workers)
	}
	return name + "/" + strings.NewReplacer(", ", "-", " ", "-", ",", "").Replace(r.Contender)
}

func capital(s string) string {
	first := []rune(s)
	if len(first) > 0 {
		first[0] = unicode.ToUpper(first[0])
	}
	return string(first)
}
