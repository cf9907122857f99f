// Package lock has the lock of a reader-writer problem whose waits a context ends.
package lock

import (
	"context"
	"math"

	"golang.org/x/sync/semaphore"
)

// An RW is held by one who has it to themselves, or by any number who share it.
// Those who wait get it in the order in which they came. Use [NewRW].
type RW struct{ all *semaphore.Weighted }

// NewRW is a lock that nobody holds.
func NewRW() RW { return RW{semaphore.NewWeighted(math.MaxInt64)} }

// Lock waits until nobody else holds the lock, or returns the error of the
// context, which then does not hold it; so does RLock.
func (l RW) Lock(ctx context.Context) error { return l.all.Acquire(ctx, math.MaxInt64) }

// Unlock gives up what Lock got.
func (l RW) Unlock() { l.all.Release(math.MaxInt64) }

// RLock waits until nobody has the lock to themselves.
func (l RW) RLock(ctx context.Context) error { return l.all.Acquire(ctx, 1) }

// RUnlock gives up what RLock got.
func (l RW) RUnlock() { l.all.Release(1) }
