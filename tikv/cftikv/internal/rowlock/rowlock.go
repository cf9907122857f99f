// Package rowlock has locks of rows within a process.
package rowlock

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/lock"
)

// Locks are locks of rows within this process. A writer takes them before it locks
// the rows in TiKV, so that the goroutines of a process wait for each other in order and
// without requests.
type Locks struct {
	mu   sync.Mutex
	held map[cf.RowID]*rowLock
}

type rowLock struct {
	lock.Lock
	users int // holders and waiters
}

// Lock locks rows, in the order of their keys, until release is called.
func (l *Locks) Lock(ctx context.Context, rows []cf.RowID) (release func(), err error) {
	rows = Sorted(rows)
	var taken []*rowLock
	release = func() {
		for i, held := range taken {
			held.Release()
			l.leave(rows[i], held)
		}
	}
	for _, r := range rows {
		next := l.enter(r)
		if err := next.Acquire(ctx, lock.Exclusive); err != nil {
			l.leave(r, next)
			release()
			return nil, err
		}
		taken = append(taken, next)
	}
	return release, nil
}

// enter returns the lock of a row, and counts one more user.
func (l *Locks) enter(r cf.RowID) *rowLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := l.held[r]
	if found == nil {
		found = new(rowLock)
		if l.held == nil {
			l.held = map[cf.RowID]*rowLock{}
		}
		l.held[r] = found
	}
	found.users++
	return found
}

// leave counts one user less, and forgets a lock without users.
func (l *Locks) leave(r cf.RowID, held *rowLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if held.users--; held.users == 0 {
		delete(l.held, r)
	}
}

// Sorted returns rows in the order in which they are locked, each once.
func Sorted(rows []cf.RowID) []cf.RowID {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b cf.RowID) int {
		return cmp.Or(cmp.Compare(a.Space, b.Space), cmp.Compare(a.Row, b.Row))
	})
	return slices.Compact(rows)
}
