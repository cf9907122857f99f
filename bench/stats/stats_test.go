package stats

import (
	"math"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		of   []float64
		want float64
	}{
		{[]float64{3}, 3},
		{[]float64{9, 1, 2}, 2},
		{[]float64{4, 1, 3, 2}, 2.5},
	} {
		if got := Median(c.of); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.of, got, c.want)
		}
	}
	if got := Median(nil); !math.IsNaN(got) {
		t.Errorf("median of nothing is %v", got)
	}
	unsorted := []float64{3, 1, 2}
	Median(unsorted)
	if unsorted[0] != 3 {
		t.Error("median sorts what it is given")
	}
}
