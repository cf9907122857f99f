package lock

import (
	"sync"
	"testing"
	"unsafe"
)

func TestAPlaceHasItsOwnCacheLines(t *testing.T) {
	if n := unsafe.Sizeof(place{}); n != 128 {
		t.Errorf("%d bytes", n)
	}
}

// An exclusive holder excludes both kinds of shared holders, and the other exclusive ones.
func TestWideExcludes(t *testing.T) {
	var l Wide
	var here, there int // equal, unless an exclusive holder is at work
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 500 {
				l.Lock()
				here++
				there++
				l.Unlock()
			}
		})
		all.Go(func() {
			for range 5000 {
				held := l.Share()
				if here != there {
					t.Error("shared beside exclusive")
				}
				held.RUnlock()
			}
		})
		all.Go(func() {
			for range 5000 {
				l.RLock()
				if here != there {
					t.Error("shared beside exclusive")
				}
				l.RUnlock()
			}
		})
	}
	all.Wait()
	if here != 2000 {
		t.Errorf("%d of 2000", here)
	}
}

// How long a shared holder takes, by all processors at once.
func BenchmarkShared(b *testing.B) {
	var wide Wide
	var plain sync.RWMutex
	b.Run("wide", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				wide.Share().RUnlock()
			}
		})
	})
	b.Run("plain", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				func() {
					plain.RLock()
					defer plain.RUnlock()
				}()
			}
		})
	})
}
