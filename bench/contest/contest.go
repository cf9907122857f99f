// Package contest measures several ways, the contenders, of doing the same work.
//
// Every figure is a ratio within one run. A round does a workload once with each
// contender, one after another. A contender's ratio is its speed divided by the speed
// of the first contender, the yardstick, in the same round. The report shows the median
// over the rounds, with the minimum and the maximum.
package contest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/smolwc/smolwc/bench/machine"
	"github.com/smolwc/smolwc/bench/report"
	"github.com/smolwc/smolwc/bench/stats"
)

// A Workload is one thing to measure.
type Workload struct {
	Name  string // such as scan/one-family
	About string // a sentence about the work
	Unit  string // the name of one operation
	// Workers are the numbers of goroutines to measure with. Empty means one goroutine.
	Workers []int
	// Open prepares the contenders for a number of workers.
	Open func(ctx context.Context, workers int) (*Contest, error)
}

// A Contest is a workload that is ready to run.
type Contest struct {
	// Contenders are compared with the first of them.
	Contenders []Contender
	// Close undoes Open; it may be nil.
	Close func() error
}

// A Contender is one way of doing a workload.
type Contender struct {
	Name string
	// Start prepares a round, counted from 0. Round 0 is the warm-up.
	Start func(ctx context.Context, round int) (Attempt, error)
}

// An Attempt is one contender's part of a round.
type Attempt struct {
	Do  func(ctx context.Context) (Done, error) // is measured
	End func() error                            // is not measured; may be nil
	// Files returns the bytes of the attempt's files after Do; nil if there are no files.
	Files func() (int64, error)
}

// Done counts the work of an attempt.
type Done struct {
	Ops int64
	// Check must be the same for all contenders of a workload, such as the number of
	// cells read; 0 is not compared.
	Check int64
	// Latencies are the times of single calls, in any order; nil if they were not taken.
	Latencies []time.Duration
	// Written are the bytes of all keys and values that were written, and Live of those that
	// were not written again later; 0 if the workload does not look at the disk.
	Written, Live int64
}

// quantile returns a quantile of the calls' times, which is given in thousandths. It sorts
// Latencies.
func (d Done) quantile(permille int) float64 {
	slices.Sort(d.Latencies)
	return float64(d.Latencies[min(len(d.Latencies)*permille/1000, len(d.Latencies)-1)])
}

// A sample is the measurement of one attempt.
type sample struct {
	done      Done
	nsOp      float64
	processor float64 // nanoseconds per operation
	allocs    float64 // per operation
	rss       int64
	written   int64 // bytes that went to the disk
	read      int64 // bytes that came from the disk
	files     int64 // bytes in files afterwards
}

// Options say how workloads are run.
type Options struct {
	Rounds int
	// Profiles is a directory for the profiles of smolwc in each workload; "" takes no
	// profiles. Taking them costs some percent of the speed.
	Profiles string
	// Before runs before every attempt and is not measured; it may be nil.
	Before func() error
}

// Run runs a workload for each of its numbers of workers.
func Run(ctx context.Context, w Workload, o Options, each func(report.Result) error) error {
	workers := w.Workers
	if len(workers) == 0 {
		workers = []int{1}
	}
	for _, n := range workers {
		results, err := run(ctx, w, n, o)
		if err != nil {
			return fmt.Errorf("%s: %w", w.Name, err)
		}
		for _, r := range results {
			if err := each(r); err != nil {
				return err
			}
		}
	}
	return nil
}

func run(ctx context.Context, w Workload, workers int, o Options) (results []report.Result, err error) {
	contest, err := w.Open(ctx, workers)
	if err != nil {
		return nil, err
	}
	if contest.Close != nil {
		defer func() { err = errors.Join(err, contest.Close()) }()
	}
	samples, profiled := make([][]sample, len(contest.Contenders)), profiledOf(contest.Contenders)
	var taken *profiles
	if o.Profiles != "" {
		taken = &profiles{dir: o.Profiles}
	}
	for round := range o.Rounds + 1 {
		var first sample
		for i, c := range contest.Contenders {
			var of *profiles
			if i == profiled && round > 0 {
				of = taken
			}
			s, err := attempt(ctx, c, round, of, o.Before)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.Name, err)
			}
			if i == 0 {
				first = s
			}
			if err := same(contest.Contenders[0].Name, first.done, c.Name, s.done); err != nil {
				return nil, err
			}
			if round > 0 {
				samples[i] = append(samples[i], s)
			}
		}
	}
	for i, c := range contest.Contenders {
		results = append(results, summarize(w, workers, c.Name, i == 0, samples[i], samples[0]))
	}
	return results, taken.write(results[0])
}

// profiledOf is the place of the contender whose profiles are taken: the first one that is
// smolwc, on whichever engine.
func profiledOf(cs []Contender) int {
	return slices.IndexFunc(cs, func(c Contender) bool { return c.Name == "smolwc" || strings.HasPrefix(c.Name, "smolwc/") })
}

// attempt runs one contender, after the garbage of earlier ones is collected.
func attempt(ctx context.Context, c Contender, round int, of *profiles, begin func() error) (s sample, err error) {
	if err := ctx.Err(); err != nil { // C does not check the context
		return s, err
	}
	a, err := c.Start(ctx, round)
	if err != nil {
		return s, err
	}
	if a.End != nil {
		defer func() { err = errors.Join(err, a.End()) }()
	}
	if begin != nil {
		if err := begin(); err != nil {
			return s, err
		}
	}
	var before, after runtime.MemStats
	var written, read int64
	var done Done
	var elapsed, used time.Duration
	err = of.measure(func() (err error) {
		runtime.GC()
		runtime.ReadMemStats(&before)
		written, read = machine.WrittenBytes(), machine.ReadBytes()
		start, usedBefore := time.Now(), machine.ProcessorTime()
		done, err = a.Do(ctx)
		elapsed, used = time.Since(start), machine.ProcessorTime()-usedBefore
		runtime.ReadMemStats(&after)
		return err
	})
	if err != nil {
		return s, err
	}
	if done.Ops == 0 {
		return s, errors.New("did nothing")
	}
	ops := float64(done.Ops)
	s = sample{
		done:      done,
		nsOp:      float64(elapsed.Nanoseconds()) / ops,
		processor: float64(used.Nanoseconds()) / ops,
		allocs:    float64(after.Mallocs-before.Mallocs) / ops,
		rss:       machine.ResidentBytes(),
		written:   machine.WrittenBytes() - written,
		read:      machine.ReadBytes() - read,
	}
	if a.Files != nil && done.Live > 0 {
		s.files, err = a.Files()
	}
	return s, err
}

// summarize makes a result from the samples of a contender and of the first contender.
func summarize(w Workload, workers int, name string, yardstick bool, own, first []sample) report.Result {
	r := report.Result{Workload: w.Name, Workers: workers, Contender: name, Yardstick: yardstick, Unit: w.Unit}
	var ratios, processor, allocs, disk, written, space []float64
	var p50, p99, p999, most, times []float64
	for i, s := range own {
		if len(s.done.Latencies) > 0 {
			p50, p99 = append(p50, s.done.quantile(500)), append(p99, s.done.quantile(990))
			p999, most = append(p999, s.done.quantile(999)), append(most, s.done.quantile(1000))
			times = append(times, s.done.quantile(999)/first[i].done.quantile(999))
		}
		if s.done.Written > 0 && s.done.Live > 0 {
			written = append(written, float64(s.written)/float64(s.done.Written))
			space = append(space, float64(s.files)/float64(s.done.Live))
		}
		r.Rounds = append(r.Rounds, s.nsOp)
		r.Processor = append(r.Processor, s.processor)
		ratios = append(ratios, first[i].nsOp/s.nsOp)
		if s.processor > 0 { // the clock of an operating system may be too coarse
			processor = append(processor, first[i].processor/s.processor)
		}
		allocs = append(allocs, s.allocs)
		disk = append(disk, float64(s.read)/float64(s.done.Ops))
		r.Ops, r.RSS = s.done.Ops, s.rss
	}
	r.NsPerOp, r.Ratio, r.AllocsPerOp, r.DiskPerOp = stats.Median(r.Rounds), stats.SpreadOf(ratios), stats.Median(allocs), stats.Median(disk)
	if len(processor) > 0 {
		r.ProcessorRatio = stats.SpreadOf(processor)
	}
	if len(p50) > 0 {
		r.Latency = &report.Latency{P50: stats.Median(p50), P99: stats.Median(p99), P999: stats.Median(p999), Max: stats.Median(most), Times: stats.SpreadOf(times)}
	}
	if len(written) > 0 {
		r.Amplification = &report.Amplification{Write: stats.Median(written), Space: stats.Median(space)}
	}
	return r
}

// same returns an error if two contenders did not do the same work.
func same(first string, want Done, name string, got Done) error {
	switch {
	case got.Ops != want.Ops:
		return fmt.Errorf("%s did %d operations and %s %d", first, want.Ops, name, got.Ops)
	case got.Check != want.Check && got.Check != 0 && want.Check != 0:
		return fmt.Errorf("%s counted %d and %s %d", first, want.Check, name, got.Check)
	}
	return nil
}

// Steady returns a contender that does the same in every round.
func Steady(name string, do func(ctx context.Context) (Done, error)) Contender {
	return Contender{Name: name, Start: func(context.Context, int) (Attempt, error) { return Attempt{Do: do}, nil }}
}

// RunAll runs workloads and reports their results.
func RunAll(ctx context.Context, ws []Workload, o Options, to report.Report) error {
	if err := to.Machine(machine.Describe()); err != nil {
		return err
	}
	for _, w := range ws {
		if err := Run(ctx, w, o, to.Result); err != nil {
			return err
		}
	}
	return nil
}
