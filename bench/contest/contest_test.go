package contest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/smolwc/smolwc/bench/report"
	"github.com/smolwc/smolwc/bench/stats"
)

// A ratio compares two times of one round, not two medians: here the contender takes
// twice as long in every round, while the machine drifts.
func TestRatiosAreOfOneRound(t *testing.T) {
	took := func(ns ...float64) (s []sample) {
		for _, n := range ns {
			s = append(s, sample{done: Done{Ops: 1}, nsOp: n})
		}
		return s
	}
	r := summarize(Workload{}, 1, "x", false, took(20, 2, 200), took(10, 1, 100))
	if want := (stats.Spread{Median: 0.5, Min: 0.5, Max: 0.5}); r.Ratio != want {
		t.Errorf("ratio is %v, want %v", r.Ratio, want)
	}
	if r.NsPerOp != 20 {
		t.Errorf("median is %v ns, want 20", r.NsPerOp)
	}
	r = summarize(Workload{}, 1, "x", false, took(10, 10, 10), took(5, 10, 20))
	if want := (stats.Spread{Median: 1, Min: 0.5, Max: 2}); r.Ratio != want {
		t.Errorf("ratio is %v, want %v: faster than the yardstick is more than 1", r.Ratio, want)
	}
}

// So is how often the p99.9 of a contender is the yardstick's.
func TestQuantilesAreOfOneRound(t *testing.T) {
	calls := func(slow ...time.Duration) (s []sample) {
		for _, d := range slow {
			times := []time.Duration{3 * d, d} // the slowest two of 1,000
			for range 998 {
				times = append(times, time.Microsecond)
			}
			s = append(s, sample{done: Done{Ops: 1000, Latencies: times}, nsOp: 1})
		}
		return s
	}
	r := summarize(Workload{}, 1, "x", false, calls(200, 20_000_000, 2000), calls(100, 10_000_000, 1000))
	l := *r.Latency
	if l.P50 != 1000 || l.P99 != 1000 || l.P999 != 6000 || l.Max != 6000 {
		t.Errorf("got %+v", l)
	}
	if want := (stats.Spread{Median: 2, Min: 1, Max: 2}); l.Times != want {
		t.Errorf("%v times the yardstick's, want %v", l.Times, want)
	}
}

func TestSameFindsWhoDidLess(t *testing.T) {
	for _, c := range []struct {
		first, other Done
		same         bool
	}{
		{Done{Ops: 5, Check: 5}, Done{Ops: 5, Check: 5}, true},
		{Done{Ops: 5, Check: 0}, Done{Ops: 5, Check: 7}, true}, // 0 is not compared
		{Done{Ops: 5, Check: 5}, Done{Ops: 4, Check: 5}, false},
		{Done{Ops: 5, Check: 5}, Done{Ops: 5, Check: 4}, false},
	} {
		if err := same("a", c.first, "b", c.other); (err == nil) != c.same {
			t.Errorf("%v and %v: %v", c.first, c.other, err)
		}
	}
}

// A contender that does less work is an error.
func TestContendersMustDoTheSame(t *testing.T) {
	lazy := Workload{Name: "lazy", Open: func(context.Context, int) (*Contest, error) {
		do := func(n int64) func(context.Context) (Done, error) {
			return func(context.Context) (Done, error) { return Done{Ops: 10, Check: n}, nil }
		}
		return &Contest{Contenders: []Contender{Steady("C", do(10)), Steady("lazy", do(9))}}, nil
	}}
	err := Run(t.Context(), lazy, Options{Rounds: 1}, func(report.Result) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "C counted 10 and lazy 9") {
		t.Errorf("got %v", err)
	}
}

// An interrupted run ends before the next contender begins.
func TestInterruptedRunEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	did := 0
	w := Workload{Name: "w", Open: func(context.Context, int) (*Contest, error) {
		return &Contest{Contenders: []Contender{Steady("C", func(context.Context) (Done, error) { did++; cancel(); return Done{Ops: 1}, nil })}}, nil
	}}
	if err := Run(ctx, w, Options{Rounds: 5}, func(report.Result) error { return nil }); !errors.Is(err, context.Canceled) || did != 1 {
		t.Errorf("did %d rounds, %v", did, err)
	}
}

// All contenders are closed, also when one fails.
func TestFailureCloses(t *testing.T) {
	boom, closed, ended := errors.New("boom"), false, false
	w := Workload{Name: "w", Open: func(context.Context, int) (*Contest, error) {
		return &Contest{
			Contenders: []Contender{{Name: "x", Start: func(context.Context, int) (Attempt, error) {
				return Attempt{
					Do:  func(context.Context) (Done, error) { return Done{}, boom },
					End: func() error { ended = true; return nil },
				}, nil
			}}},
			Close: func() error { closed = true; return nil },
		}, nil
	}}
	if err := Run(t.Context(), w, Options{Rounds: 1}, func(report.Result) error { return nil }); !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
	if !closed || !ended {
		t.Errorf("closed %v, ended %v", closed, ended)
	}
}

var kept [][]byte

// The profiles have what the profiled contender does, and nothing of the others.
func TestProfiles(t *testing.T) {
	rate := runtime.MemProfileRate
	runtime.MemProfileRate = 1
	defer func() { runtime.MemProfileRate = rate }()
	w := Workload{Name: "a/b", Workers: []int{2}, Open: func(context.Context, int) (*Contest, error) {
		return &Contest{Contenders: []Contender{Steady("C", allocatesMuch), Steady("smolwc", allocatesLittle)}}, nil
	}}
	dir := t.TempDir()
	if err := Run(t.Context(), w, Options{Rounds: 2, Profiles: dir}, func(report.Result) error { return nil }); err != nil {
		t.Fatal(err)
	}
	read := func(name string) *profile.Profile {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		p, err := profile.ParseData(b)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p := read("a-b-2.cpu.pprof"); p.PeriodType.Type != "cpu" {
		t.Errorf("a profile of %s", p.PeriodType.Type)
	}
	found := map[string]int64{}
	for _, s := range read("a-b-2.allocs.pprof").Sample {
		for _, l := range s.Location {
			found[l.Line[0].Function.Name[strings.LastIndex(l.Line[0].Function.Name, ".")+1:]] += s.Value[0]
		}
	}
	if found["allocatesLittle"] != 20 || found["allocatesMuch"] != 0 {
		t.Errorf("two rounds of ten allocations, and none of another contender: %v", found)
	}
}

func allocatesLittle(context.Context) (Done, error) {
	for range 10 {
		kept = append(kept[:0], make([]byte, 1<<10))
	}
	return Done{Ops: 1}, nil
}

func allocatesMuch(context.Context) (Done, error) {
	for range 1000 {
		kept = append(kept[:0], make([]byte, 1<<10))
	}
	return Done{Ops: 1}, nil
}
