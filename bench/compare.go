package main

import (
	"fmt"
	"slices"
	"time"
)

// A workload is one way of doing a thing; it returns the number of cells done.
// The first of those compared is the yardstick.
type workload struct {
	name string
	run  func() (int, error)
}

// compare runs the workloads in turn, after one round that is not counted, and
// prints each one's speed and the median over rounds of its ratio to the
// yardstick.
func compare(rounds int, ws []workload) error {
	speeds := make([][]float64, len(ws))
	for round := range rounds + 1 {
		for i, w := range ws {
			start := time.Now()
			cells, err := w.run()
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			if round > 0 {
				speeds[i] = append(speeds[i], float64(cells)/time.Since(start).Seconds())
			}
		}
	}
	fmt.Printf("%-40s %14s %8s %17s\n", "", "cells/s", "ratio", "min..max")
	for i, w := range ws {
		ratios := make([]float64, rounds)
		for r := range ratios {
			ratios[r] = speeds[i][r] / speeds[0][r]
		}
		fmt.Printf("%-40s %14.0f %8.2f %8.2f..%-7.2f\n", w.name, median(speeds[i]), median(ratios), slices.Min(ratios), slices.Max(ratios))
	}
	return nil
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}
