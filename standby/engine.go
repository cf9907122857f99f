//go:build cgo && linux && !norocksdb

package standby

import (
	"cmp"
	"fmt"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks"
	"github.com/smolwc/smolwc/query"
)

// openStore opens the store of a standby, or of a primary that becomes one. What it applies
// is synced before it is acknowledged, and not write by write.
var openStore = func(dir string, o query.Options, standby bool) (cf.Follower, error) {
	if err := wantRocksDB(dir); err != nil {
		return nil, err
	}
	return rocks.Open(dir, rocks.Options{Memory: o.Memory, BackgroundRate: o.BackgroundRate, Logger: o.Logger, Async: true, MustExist: true, Standby: standby})
}

// openTail opens the store in a directory for reading.
func openTail(dir string) (cf.Follower, error) {
	if err := wantRocksDB(dir); err != nil {
		return nil, err
	}
	return rocks.Open(dir, rocks.Options{ReadOnly: true, MustExist: true})
}

// wantRocksDB refuses a directory with a database on another engine.
func wantRocksDB(dir string) error {
	if e, err := query.EngineOf(dir); err != nil || e == query.EnginePebble {
		return cmp.Or(err, fmt.Errorf("the database in %s is on %s, and standbys need one on %s", dir, e, query.EngineRocksDB))
	}
	return nil
}

func loadOf(key string) (id string, ok bool) { return rocks.LoadOf(key) }
