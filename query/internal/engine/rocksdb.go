//go:build cgo && linux && !norocksdb

package engine

import (
	"errors"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks"
)

// HasRocksDB says whether this build includes RocksDB.
const HasRocksDB = true

func openRocksDB(dir string, o Options) (cf.Reader, error) {
	r := rocks.Options{Memory: o.Memory, BackgroundRate: o.BackgroundRate, FileSize: o.FileSize, Async: o.Async, ReadOnly: o.ReadOnly, MustExist: o.MustExist, InMemory: o.InMemory, Logger: o.Logger}
	if o.ReadOnly {
		return rocks.OpenFollower(dir, r)
	}
	return rocks.Open(dir, r)
}

func isCreatingRocksDB(err error) bool { return errors.Is(err, rocks.ErrCreating) }

// ReleaseMemory gives the engine library's unused memory back to the system.
func ReleaseMemory() { rocks.ReleaseMemory() }
