// Package lock provides locks whose waits end with a context.
package lock

import (
	"context"
	"slices"
	"sync"
)

// A Mode says who may hold a [Lock] together.
type Mode uint8

const (
	Exclusive Mode = iota + 1 // nobody else
	Shared                    // others that have it Shared
	Joint                     // others that have it Joint
)

// A Lock is held by one exclusive holder, or by any number of holders of the same other
// mode. Waiters get it in the order in which they came. The zero Lock is free; do not
// copy it.
type Lock struct {
	mu      sync.Mutex
	mode    Mode // of the holders
	holders int
	waiting []*waiter
}

type waiter struct {
	mode Mode
	got  chan struct{} // closed when it holds the lock
}

// Acquire waits until the lock can be had in a mode. When the context ends first, it
// returns the context's error and does not take the lock.
func (l *Lock) Acquire(ctx context.Context, m Mode) error {
	l.mu.Lock()
	if len(l.waiting) == 0 && l.admits(m) {
		l.mode = m
		l.holders++
		l.mu.Unlock()
		return nil
	}
	w := &waiter{m, make(chan struct{})}
	l.waiting = append(l.waiting, w)
	l.mu.Unlock()
	select {
	case <-w.got:
		return nil
	case <-ctx.Done():
		return l.giveUp(ctx, w)
	}
}

// giveUp ends a wait, unless the lock came first.
func (l *Lock) giveUp(ctx context.Context, w *waiter) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting, w)
	if i < 0 {
		return nil
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	l.grant()
	return ctx.Err()
}

// Release ends a hold.
func (l *Lock) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holders--
	if l.holders < 0 {
		panic("lock: released more often than acquired")
	}
	l.grant()
}

func (l *Lock) admits(m Mode) bool { return l.holders == 0 || m == l.mode && m != Exclusive }

// grant gives the lock to the waiters that can have it, in their order.
func (l *Lock) grant() {
	for len(l.waiting) > 0 && l.admits(l.waiting[0].mode) {
		w := l.waiting[0]
		l.waiting = slices.Delete(l.waiting, 0, 1)
		l.mode = w.mode
		l.holders++
		close(w.got)
	}
}

// An RW is a Lock with two modes. Use [NewRW].
type RW struct{ l *Lock }

// NewRW returns a free lock.
func NewRW() RW { return RW{new(Lock)} }

// Lock waits until the lock is free. When the context ends first, it returns the
// context's error and does not take the lock; so does RLock.
func (l RW) Lock(ctx context.Context) error { return l.l.Acquire(ctx, Exclusive) }

// Unlock releases an exclusive lock.
func (l RW) Unlock() { l.l.Release() }

// RLock waits until there is no exclusive holder.
func (l RW) RLock(ctx context.Context) error { return l.l.Acquire(ctx, Shared) }

// RUnlock releases a shared lock.
func (l RW) RUnlock() { l.l.Release() }
