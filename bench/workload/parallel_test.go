package workload

import "testing"

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
