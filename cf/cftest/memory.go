package cftest

import "github.com/smolwc/smolwc/cf/cftest/memory"

// A Memory is a store in memory, for tests of the layers above: see [memory.Store].
type Memory = memory.Store

// NewMemory makes an empty store.
func NewMemory() *Memory { return memory.New() }
