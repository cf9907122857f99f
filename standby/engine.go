package standby

import (
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/pebble"
	"github.com/smolwc/smolwc/query"
)

// openStore opens the store of a standby, or of a primary that becomes one. What it applies
// is synced before it is acknowledged, and not write by write.
var openStore = func(dir string, o query.Options, standby bool) (cf.Follower, error) {
	e, err := query.EngineOf(dir)
	switch {
	case err != nil:
		return nil, err
	case e != query.EnginePebble:
		return openRocksDB(dir, o, standby)
	}
	return pebble.Open(dir, pebble.Options{Memory: o.Memory, BackgroundRate: o.BackgroundRate, Logger: o.Logger, Async: true, MustExist: true, Standby: standby})
}

// openTail opens the store in a directory for reading.
func openTail(dir string) (cf.Follower, error) {
	e, err := query.EngineOf(dir)
	switch {
	case err != nil:
		return nil, err
	case e != query.EnginePebble:
		return openTailRocksDB(dir)
	}
	return pebble.Open(dir, pebble.Options{ReadOnly: true, MustExist: true})
}
