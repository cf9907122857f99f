package pebble

import (
	"cmp"
	"sync"
)

// A stuck notes that writes wait for tables that the disk does not take. Then they are
// refused, as those that wait for the log.
type stuck struct {
	mu                sync.Mutex
	stalled           bool
	flush, compaction error // of the last ones
	said              bool
}

func (k *stuck) note(fs *system, change func(*stuck)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	change(k)
	err := cmp.Or(k.flush, k.compaction)
	switch is := k.stalled && err != nil; {
	case is == k.said:
	case is:
		k.said = true
		fs.repeats(err)
	default:
		k.said = false
		fs.repeated()
	}
}
