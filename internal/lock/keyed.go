package lock

import (
	"context"
	"sync"
)

// A Keyed is a [Lock] for each key. It remembers only the keys that are held or waited for.
// The zero Keyed is free; do not copy it.
type Keyed[K comparable] struct {
	mu   sync.Mutex
	used map[K]*keyed
}

type keyed struct {
	Lock
	users int // holders and waiters
}

// Acquire waits until the lock of a key can be had in a mode, until release is called. When
// the context ends first, it returns the context's error and does not take the lock.
func (l *Keyed[K]) Acquire(ctx context.Context, key K, m Mode) (release func(), err error) {
	of := l.enter(key)
	if err := of.Lock.Acquire(ctx, m); err != nil {
		l.leave(key, of)
		return nil, err
	}
	return func() {
		of.Release()
		l.leave(key, of)
	}, nil
}

// enter returns the lock of a key, and counts one more user.
func (l *Keyed[K]) enter(key K) *keyed {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.used[key]
	if of == nil {
		of = new(keyed)
		if l.used == nil {
			l.used = map[K]*keyed{}
		}
		l.used[key] = of
	}
	of.users++
	return of
}

// leave counts one user less, and forgets a lock without users.
func (l *Keyed[K]) leave(key K, of *keyed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if of.users--; of.users == 0 {
		delete(l.used, key)
	}
}
