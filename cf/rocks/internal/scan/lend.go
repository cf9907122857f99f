//go:build cgo && linux && !norocksdb

package scan

import (
	"math/bits"
	"sync"
)

// The memory of blocks that are given back, in pools by the power of two of its size. A
// block in memory that was used a moment ago is still in the processor's caches.
var lent [maxLentBits + 1]sync.Pool

// maxLent is the size of the largest block that is given back.
const (
	maxLentBits = 20
	maxLent     = 1 << maxLentBits
)

// A lentBlock is the memory of one block.
type lentBlock struct {
	raw  []byte
	free func() // puts it into its pool
}

// lentMemory is memory for a block, uninitialised, and the function that gives it back.
func lentMemory(n int) ([]byte, func()) {
	size := bits.Len(uint(max(n, 1) - 1))
	m, _ := lent[size].Get().(*lentBlock)
	if m == nil {
		m = &lentBlock{raw: uncleared(1 << size)}
		m.free = func() { lent[size].Put(m) }
	}
	return m.raw, m.free
}
