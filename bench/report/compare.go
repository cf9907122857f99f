package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/smolwc/smolwc/bench/machine"
	"github.com/smolwc/smolwc/bench/stats"
)

// Compare prints the speed of the second of two commits relative to the first. Each
// commit has a file of JSON lines from any number of runs. Rounds are compared by their
// ratios to the yardstick of their own run, so that a drift of the machine between runs
// has no effect. For the yardstick itself it prints the drift of the machine.
func Compare(w io.Writer, nameA string, a io.Reader, nameB string, b io.Reader) error {
	as, order, err := readResults(a)
	if err != nil {
		return fmt.Errorf("%s: %w", nameA, err)
	}
	bs, _, err := readResults(b)
	if err != nil {
		return fmt.Errorf("%s: %w", nameB, err)
	}
	if _, err := fmt.Fprintf(w, "%-52s %22s %22s %7s %14s\n", "ratio to C", nameA, nameB, "B/A", "min..max"); err != nil {
		return err
	}
	for _, k := range order {
		ra, rb := as[k], bs[k]
		if rb == nil {
			continue
		}
		var change []float64
		for i := range min(len(ra), len(rb)) {
			change = append(change, rb[i]/ra[i])
		}
		c := stats.SpreadOf(change)
		if _, err := fmt.Fprintf(w, "%-52s %22s %22s %7.2f %14s\n", k, stats.SpreadOf(ra), stats.SpreadOf(rb), c.Median, fmt.Sprintf("%.2f..%.2f", c.Min, c.Max)); err != nil {
			return err
		}
	}
	return nil
}

// readResults returns the ratios of the runs of each contender of each workload, and
// the names of these in order. For a yardstick it returns the speed.
func readResults(r io.Reader) (map[string][]float64, []string, error) {
	found := ratios{of: map[string][]float64{}}
	if err := Replay(r, &found); err != nil {
		return nil, nil, err
	}
	if len(found.order) == 0 {
		return nil, nil, errors.New("has no result")
	}
	return found.of, found.order, nil
}

type ratios struct {
	of    map[string][]float64
	order []string
}

func (r *ratios) Machine(machine.Description) error { return nil }

func (r *ratios) Result(result Result) error {
	name, figure := benchmarkName(result)[len("Benchmark"):], result.Ratio.Median
	if result.Yardstick {
		name, figure = name+" (M/s)", result.OpsPerSecond()/1e6
	}
	if r.of[name] == nil {
		r.order = append(r.order, name)
	}
	r.of[name] = append(r.of[name], figure)
	return nil
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
