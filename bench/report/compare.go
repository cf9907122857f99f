package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/perf/benchmath"

	"github.com/smolwc/smolwc/bench/machine"
	"github.com/smolwc/smolwc/bench/stats"
)

// Compare prints how the second of two commits differs from the first, and ends with a
// verdict. Each commit comes as a file of JSON lines from any number of runs. Rounds
// are compared by their ratios to the yardstick of their own round, so that a drift of
// the machine does not matter. For the yardstick itself it prints the drift of the
// machine.
//
// With processor it compares processor time, which other programs change less.
//
// A workload moved if benchstat would say so: by the Mann-Whitney U test, chance alone
// makes such a difference less often than once in twenty times.
func Compare(w io.Writer, processor bool, nameA string, a io.Reader, nameB string, b io.Reader) error {
	as, err := readResults(a, processor)
	if err != nil {
		return fmt.Errorf("%s: %w", nameA, err)
	}
	bs, err := readResults(b, processor)
	if err != nil {
		return fmt.Errorf("%s: %w", nameB, err)
	}
	t := comparison{w: w}
	of := "ratio to C"
	if processor {
		of = "ratio to C of processor time"
	}
	t.printf("%-52s %22s %22s %7s %7s\n", of, nameA, nameB, "B/A", "p")
	for _, k := range as.order {
		if rb := bs.of[k]; rb != nil {
			t.line(k, as.of[k], rb, as.yardstick[k])
		}
	}
	t.verdict()
	return t.err
}

// A comparison prints lines, and remembers what moved.
type comparison struct {
	w              io.Writer
	err            error // the first
	faster, slower []string
	same, few      int // few rounds can prove nothing
}

func (t *comparison) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}

// line compares the figures of one contender of a workload.
func (t *comparison) line(name string, a, b []float64, yardstick bool) {
	sa, sb := stats.SpreadOf(a), stats.SpreadOf(b)
	sample := func(v []float64) *benchmath.Sample {
		return benchmath.NewSample(slices.Clone(v), &benchmath.DefaultThresholds)
	}
	c := benchmath.AssumeNothing.Compare(sample(a), sample(b))
	change := sb.Median / sa.Median
	moved := ""
	switch {
	case yardstick:
		moved = "the machine"
	case min(len(a), len(b)) < leastRounds:
		t.few++
	case c.P > c.Alpha:
		t.same++
	case change < 1:
		moved = "slower"
		t.slower = append(t.slower, fmt.Sprintf("%s %.2f", name, change))
	default:
		moved = "faster"
		t.faster = append(t.faster, fmt.Sprintf("%s %.2f", name, change))
	}
	t.printf("%-52s %22s %22s %7.2f %7.3f %s\n", name, sa, sb, change, c.P, moved)
}

// leastRounds is how many rounds on both sides can prove a difference: fewer give no
// value of p below a twentieth.
const leastRounds = 4

func (t *comparison) verdict() {
	text := fmt.Sprintf("verdict: %d slower, %d faster, %d the same", len(t.slower), len(t.faster), t.same)
	if t.few > 0 {
		text += fmt.Sprintf(", %d with too few rounds to tell (%d or more are needed)", t.few, leastRounds)
	}
	for _, l := range []struct {
		what string
		of   []string
	}{{"slower", t.slower}, {"faster", t.faster}} {
		if len(l.of) > 0 {
			text += "; " + l.what + ": " + strings.Join(l.of, ", ")
		}
	}
	if len(t.slower)+len(t.faster) > 0 {
		text += "; of 20 that are the same, chance alone moves one"
	}
	t.printf("%s\n", text)
}

// readResults returns the figures of each contender of each workload.
func readResults(r io.Reader, processor bool) (*figures, error) {
	found := &figures{processor: processor, of: map[string][]float64{}, yardstick: map[string]bool{}}
	if err := Replay(r, found); err != nil {
		return nil, err
	}
	if len(found.order) == 0 {
		return nil, errors.New("has no result")
	}
	return found, nil
}

// figures are the ratios of each round, and the speeds of yardsticks.
type figures struct {
	of        map[string][]float64
	yardstick map[string]bool
	order     []string
	processor bool
	last      Result // the last yardstick
}

func (f *figures) Machine(machine.Description) error { return nil }

func (f *figures) Result(r Result) error {
	name := benchmarkName(r)[len("Benchmark"):]
	if r.Yardstick {
		name += " (M/s)"
		f.last, f.yardstick[name] = r, true
	}
	rounds := f.rounds(r)
	if f.of[name] == nil && rounds != nil {
		f.order = append(f.order, name)
	}
	f.of[name] = append(f.of[name], rounds...)
	return nil
}

// rounds are the figures of a result, one for each round.
func (f *figures) rounds(r Result) (all []float64) {
	own, yardstick := r.Rounds, f.last.Rounds
	if f.processor {
		own, yardstick = r.Processor, f.last.Processor
	}
	for i, ns := range own {
		switch {
		case r.Yardstick:
			all = append(all, 1e3/ns)
		case r.Workload == f.last.Workload && r.Workers == f.last.Workers && i < len(yardstick):
			all = append(all, yardstick[i]/ns)
		}
	}
	return all
}

// Replay reports the results in a file of JSON lines from any number of runs.
func Replay(r io.Reader, to Report) error {
	lines := json.NewDecoder(r)
	for {
		var l Line
		err := lines.Decode(&l)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case l.Machine != nil:
			err = to.Machine(*l.Machine)
		case l.Result != nil:
			err = to.Result(*l.Result)
		}
		if err != nil {
			return err
		}
	}
}
