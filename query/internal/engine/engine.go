//go:build cgo

package engine

import (
	"errors"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks"
)

// Has says whether this build has RocksDB.
const Has = true

// Options are those of the engine.
type Options = rocks.Options

// Open opens a store in a directory or in memory, for reading alone or for writing too.
func Open(dir string, o Options) (cf.Reader, error) {
	if o.ReadOnly {
		return rocks.OpenFollower(dir, o)
	}
	return rocks.Open(dir, o)
}

// IsCreating reports whether an error of Open says that a store is just being created.
func IsCreating(err error) bool { return errors.Is(err, rocks.ErrCreating) }

// ReleaseMemory gives the engine library's unused memory back to the system.
func ReleaseMemory() { rocks.ReleaseMemory() }
