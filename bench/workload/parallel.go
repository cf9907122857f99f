package workload

import (
	"sync"
	"sync/atomic"
)

// share divides n items among workers and calls do for each share, from inclusive, to
// exclusive. It returns the sum of the results, and the first error.
func share(workers, n int, do func(worker, from, to int) (int64, error)) (int64, error) {
	if workers == 1 {
		return do(0, 0, n)
	}
	var (
		group sync.WaitGroup
		sum   atomic.Int64
		errs  = make([]error, workers)
	)
	for w := range workers {
		group.Go(func() {
			k, err := do(w, n*w/workers, n*(w+1)/workers)
			sum.Add(k)
			errs[w] = err
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	return sum.Load(), nil
}
