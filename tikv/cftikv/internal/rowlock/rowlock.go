// Package rowlock locks rows within a process.
package rowlock

import (
	"cmp"
	"context"
	"slices"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/lock"
)

// Locks are locks of rows within this process. A writer takes them before it locks
// the rows in TiKV, so that the goroutines of a process wait for each other in order and
// without requests.
type Locks struct{ rows lock.Keyed[cf.RowID] }

// Lock locks rows, in the order of their keys, until release is called.
func (l *Locks) Lock(ctx context.Context, rows []cf.RowID) (release func(), err error) {
	var taken []func()
	release = func() {
		for _, free := range taken {
			free()
		}
	}
	for _, r := range Sorted(rows) {
		free, err := l.rows.Acquire(ctx, r, lock.Exclusive)
		if err != nil {
			release()
			return nil, err
		}
		taken = append(taken, free)
	}
	return release, nil
}

// Sorted returns rows in the order in which they are locked, each once.
func Sorted(rows []cf.RowID) []cf.RowID {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b cf.RowID) int {
		return cmp.Or(cmp.Compare(a.Space, b.Space), cmp.Compare(a.Row, b.Row))
	})
	return slices.Compact(rows)
}
