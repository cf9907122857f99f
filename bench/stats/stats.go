// Package stats computes the few statistics that reports use.
package stats

import (
	"fmt"
	"math"
	"slices"
)

// A Spread is the median, the minimum and the maximum of some figures.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// String returns the median and the range.
func (s Spread) String() string { return fmt.Sprintf("%.2f (%.2f..%.2f)", s.Median, s.Min, s.Max) }

// SpreadOf returns the spread of figures; NaN for no figures.
func SpreadOf(v []float64) Spread {
	if len(v) == 0 {
		return Spread{math.NaN(), math.NaN(), math.NaN()}
	}
	return Spread{Median(v), slices.Min(v), slices.Max(v)}
}

// Median returns the middle figure, or the mean of the two middle ones; NaN for no
// figures. It does not modify v.
func Median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
