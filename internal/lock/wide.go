package lock

import (
	"sync"
	"sync/atomic"
)

// A Wide is a [sync.RWMutex] that many processors hold shared without writing to the same
// cache line: each locks a place of its own. An exclusive holder locks all places, so Lock is
// for rare events. The zero Wide is unlocked; do not copy it.
type Wide struct {
	sync.RWMutex // for shared holders that are rare
	places       [wide]place
	next         atomic.Uint32
	near         sync.Pool // *sync.RWMutex: the places that this processor took before
}

// wide is the number of places. More processors than that share them.
const wide = 32

type place struct {
	sync.RWMutex
	_ [128 - 24]byte // two cache lines, which processors fetch together
}

// Share waits until it holds the lock shared, and returns the lock to release:
//
//	defer l.Share().RUnlock()
func (l *Wide) Share() *sync.RWMutex {
	p, _ := l.near.Get().(*sync.RWMutex)
	if p == nil {
		p = &l.places[l.next.Add(1)%wide].RWMutex
	}
	p.RLock()
	l.near.Put(p)
	return p
}

// Lock waits until nobody else holds the lock.
func (l *Wide) Lock() {
	l.RWMutex.Lock()
	for i := range l.places {
		l.places[i].Lock()
	}
}

// Unlock releases what Lock took.
func (l *Wide) Unlock() {
	for i := range l.places {
		l.places[i].Unlock()
	}
	l.RWMutex.Unlock()
}
