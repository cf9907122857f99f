package report

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/bench/machine"
	"github.com/smolwc/smolwc/bench/stats"
)

var exampleMachine = machine.Description{CPU: "Some CPU @ 2 GHz", Cores: 2, OS: "linux", Arch: "amd64", Go: "go1.26", RocksDB: "7.8.3", Commit: "abc", Date: time.Unix(0, 0).UTC()}

var exampleResults = []Result{
	{Workload: "get/row", Workers: 16, Contender: "C", Yardstick: true, Unit: "row", Ops: 1000, NsPerOp: 100, Rounds: []float64{90, 110}, Ratio: stats.Spread{Median: 1, Min: 1, Max: 1}},
	{Workload: "get/row", Workers: 16, Contender: "C, one iterator for all", Unit: "row", Ops: 1000, NsPerOp: 50, Rounds: []float64{50, 50}, Ratio: stats.Spread{Median: 2, Min: 1.8, Max: 2.2}, ProcessorRatio: stats.Spread{Median: 1.5}, AllocsPerOp: 0.25},
}

func written(t *testing.T, make func(*bytes.Buffer) Report) string {
	t.Helper()
	var b bytes.Buffer
	r := make(&b)
	if err := r.Machine(exampleMachine); err != nil {
		t.Fatal(err)
	}
	for _, result := range exampleResults {
		if err := r.Result(result); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// The format is that of proposal 14313: keys start with a lower-case letter and
// hold no blanks, names with Benchmark and an upper-case one, and then come a
// count and pairs of a value and a unit.
func TestBenchstatFormat(t *testing.T) {
	text := written(t, func(b *bytes.Buffer) Report { return NewBenchstat(b) })
	key := regexp.MustCompile(`^[a-z][^\sA-Z]*: `)
	line := regexp.MustCompile(`^Benchmark[A-Z]\S* [0-9]+( [0-9][0-9.e+]* \S+)+$`)
	benchmarks := 0
	for l := range strings.Lines(text) {
		l = strings.TrimSuffix(l, "\n")
		switch {
		case strings.HasPrefix(l, "Benchmark"):
			benchmarks++
			if !line.MatchString(l) {
				t.Errorf("not a line of a benchmark: %q", l)
			}
		case !strings.HasPrefix(l, "#") && !key.MatchString(l):
			t.Errorf("neither key nor comment: %q", l)
		}
	}
	if benchmarks != 4 {
		t.Errorf("%d benchmarks, want one for each round of each contender:\n%s", benchmarks, text)
	}
	if want := "BenchmarkGet/row/workers=16/C-one-iterator-for-all-2 1000 50 ns/op 2e+07 rows/s 0.25 allocs/op\n"; !strings.Contains(text, want) {
		t.Errorf("%q is not in\n%s", want, text)
	}
}

func TestJSONReadsBack(t *testing.T) {
	text := written(t, func(b *bytes.Buffer) Report { return NewJSON(b) })
	var got []Result
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, l := range lines {
		var line Line
		if err := json.Unmarshal([]byte(l), &line); err != nil {
			t.Fatal(err)
		}
		if (i == 0) != (line.Machine != nil) || (i > 0) != (line.Result != nil) {
			t.Errorf("line %d: %s", i, l)
		}
		if line.Result != nil {
			got = append(got, *line.Result)
		}
	}
	if len(got) != 2 || got[1].Ratio != exampleResults[1].Ratio || got[0].Rounds[1] != 110 {
		t.Errorf("read back: %+v", got)
	}
}

func TestTable(t *testing.T) {
	text := written(t, func(b *bytes.Buffer) Report { return NewTable(b) })
	for _, want := range []string{"Some CPU @ 2 GHz, 2 cores", "RocksDB 7.8.3, commit abc", "get/row, 16 goroutines", "2.00     1.80..2.20    1.50 ", "20000000"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// resultsOf is a file of one round for each ratio to the yardstick.
func resultsOf(yardstick float64, ratios ...float64) *bytes.Buffer {
	var b bytes.Buffer
	r := NewJSON(&b)
	_ = r.Machine(exampleMachine)
	for _, ratio := range ratios {
		_ = r.Result(Result{Workload: "scan", Workers: 1, Contender: "C", Yardstick: true, Unit: "cell", Rounds: []float64{yardstick}})
		_ = r.Result(Result{Workload: "scan", Workers: 1, Contender: "smolwc", Unit: "cell", Rounds: []float64{yardstick / ratio}})
	}
	return &b
}

func compared(t *testing.T, a, b *bytes.Buffer) string {
	t.Helper()
	var out bytes.Buffer
	if err := Compare(&out, false, "A", a, "B", b); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// B is a quarter faster against its own C, on a machine that got slower.
func TestCompareLooksAtRatios(t *testing.T) {
	text := compared(t, resultsOf(100, 0.8, 0.81, 0.79, 0.8, 0.4), resultsOf(200, 1, 1.01, 0.99, 1, 0.98))
	for _, want := range []string{
		`Scan/smolwc +0.80 \(0.40..0.81\) +1.00 \(0.98..1.01\) +1.25 +0.008 faster\n`,
		`Scan/C \(M/s\) +10.00 .* 5.00 .* 0.50 +0.008 the machine\n`,
		`verdict: 0 slower, 1 faster, 0 the same; faster: Scan/smolwc 1.25; of 20 `,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if err := Compare(new(bytes.Buffer), false, "A", new(bytes.Buffer), "B", resultsOf(1, 1)); err == nil {
		t.Error("a file without results compares")
	}
}

// Medians that differ less than the rounds do have not moved.
func TestCompareKnowsNoise(t *testing.T) {
	text := compared(t, resultsOf(100, 0.5, 0.7, 0.9, 1.1, 0.8), resultsOf(100, 0.6, 0.8, 0.65, 1, 0.75))
	if want := "verdict: 0 slower, 0 faster, 1 the same\n"; !strings.HasSuffix(text, want) {
		t.Errorf("%q does not end\n%s", want, text)
	}
	text = compared(t, resultsOf(100, 0.5, 0.5, 0.5), resultsOf(100, 0.9, 0.9, 0.9))
	if want := "1 with too few rounds to tell (4 or more are needed)\n"; !strings.HasSuffix(text, want) {
		t.Errorf("%q does not end\n%s", want, text)
	}
}

// The rounds of one run are compared one by one.
func TestCompareLooksAtEveryRound(t *testing.T) {
	run := func(own ...float64) *bytes.Buffer {
		var b bytes.Buffer
		r := NewJSON(&b)
		_ = r.Result(Result{Workload: "scan", Workers: 1, Contender: "C", Yardstick: true, Rounds: []float64{100, 200, 400, 800}})
		_ = r.Result(Result{Workload: "scan", Workers: 1, Contender: "smolwc", Rounds: own})
		return &b
	}
	text := compared(t, run(100, 201, 402, 806), run(202, 401, 803, 1601))
	if want := "verdict: 1 slower, 0 faster, 0 the same; slower: Scan/smolwc 0.50; "; !strings.Contains(text, want) {
		t.Errorf("%q is not in\n%s", want, text)
	}
}

// On a busy machine times vary widely and processor time does not.
func TestCompareLooksAtProcessorTime(t *testing.T) {
	run := func(own float64) *bytes.Buffer {
		var b bytes.Buffer
		r := NewJSON(&b)
		busy, processor := []float64{100, 9000, 300, 700}, []float64{100, 101, 100, 99}
		_ = r.Result(Result{Workload: "scan", Workers: 1, Contender: "C", Yardstick: true, Rounds: busy, Processor: processor})
		for i := range processor {
			processor[i] *= own
		}
		_ = r.Result(Result{Workload: "scan", Workers: 1, Contender: "smolwc", Rounds: []float64{800, 100, 9000, 200}, Processor: processor})
		return &b
	}
	if text := compared(t, run(1), run(2)); !strings.Contains(text, "0 slower, 0 faster, 1 the same") {
		t.Errorf("by time:\n%s", text)
	}
	var out bytes.Buffer
	if err := Compare(&out, true, "A", run(1), "B", run(2)); err != nil {
		t.Fatal(err)
	}
	if want := "1 slower, 0 faster, 0 the same; slower: Scan/smolwc 0.50;"; !strings.Contains(out.String(), want) {
		t.Errorf("%q is not in\n%s", want, &out)
	}
}
