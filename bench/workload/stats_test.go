package workload

import (
	"testing"

	"github.com/smolwc/smolwc/bench/stats"
)

// A ratio is that of two times of one round, not of the two medians: here the
// contender takes twice as long in every round, while the machine drifts.
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

func TestSameFindsWhoDidLess(t *testing.T) {
	for _, c := range []struct {
		first, other Done
		same         bool
	}{
		{Done{5, 5}, Done{5, 5}, true},
		{Done{5, 0}, Done{5, 7}, true}, // 0 is not compared
		{Done{5, 5}, Done{4, 5}, false},
		{Done{5, 5}, Done{5, 4}, false},
	} {
		if err := same("a", c.first, "b", c.other); (err == nil) != c.same {
			t.Errorf("%v and %v: %v", c.first, c.other, err)
		}
	}
}

func TestShareCoversEverythingOnce(t *testing.T) {
	for _, workers := range []int{1, 2, 3, 16} {
		for _, n := range []int{0, 1, 5, 16, 100} {
			hits := make([]int, n)
			sum, err := share(workers, n, func(_, from, to int) (int64, error) {
				for i := from; i < to; i++ {
					hits[i]++
				}
				return int64(to - from), nil
			})
			if err != nil || sum != int64(n) {
				t.Errorf("%d workers, %d things: did %d, %v", workers, n, sum, err)
			}
			for i, h := range hits {
				if h != 1 {
					t.Errorf("%d workers, %d things: thing %d was done %d times", workers, n, i, h)
				}
			}
		}
	}
}
