//go:build !cgo || !linux || norocksdb

package engine

import (
	"errors"

	"github.com/smolwc/smolwc/cf"
)

// HasRocksDB says whether this build includes RocksDB.
const HasRocksDB = false

func openRocksDB(string, Options) (cf.Reader, error) { return nil, errors.ErrUnsupported }

func isCreatingRocksDB(error) bool { return false }

// ReleaseMemory does nothing: Pebble's memory is Go's.
func ReleaseMemory() {}
