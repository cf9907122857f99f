// Package lock has a reader-writer lock whose waits end with a context.
package lock

import (
	"context"
	"math"

	"golang.org/x/sync/semaphore"
)

// An RW is held by one exclusive holder, or by any number of shared holders.
// Waiters get it in the order in which they came. Use [NewRW].
type RW struct{ all *semaphore.Weighted }

// NewRW returns a free lock.
func NewRW() RW { return RW{semaphore.NewWeighted(math.MaxInt64)} }

// Lock waits until the lock is free. When the context ends first, it returns the
// context's error and does not take the lock; so does RLock.
func (l RW) Lock(ctx context.Context) error { return l.all.Acquire(ctx, math.MaxInt64) }

// Unlock releases an exclusive lock.
func (l RW) Unlock() { l.all.Release(math.MaxInt64) }

// RLock waits until there is no exclusive holder.
func (l RW) RLock(ctx context.Context) error { return l.all.Acquire(ctx, 1) }

// RUnlock releases a shared lock.
func (l RW) RUnlock() { l.all.Release(1) }
