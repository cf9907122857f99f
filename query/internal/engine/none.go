//go:build !cgo

package engine

import (
	"errors"
	"log/slog"

	"github.com/smolwc/smolwc/cf"
)

// Has says whether this build has RocksDB.
const Has = false

// Options are those of the engine.
type Options struct {
	Memory, BackgroundRate               int64
	Async, ReadOnly, MustExist, InMemory bool
	Logger                               *slog.Logger
}

// Open fails: there is no engine.
func Open(string, Options) (cf.Reader, error) { return nil, errors.ErrUnsupported }

// IsCreating reports whether an error of Open says that a store is just being created.
func IsCreating(error) bool { return false }

// ReleaseMemory does nothing.
func ReleaseMemory() {}
