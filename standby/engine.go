package standby

import (
	"fmt"

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
	case o.Engine != "" && o.Engine != e:
		return nil, fmt.Errorf("the database is on %s, and engine %s was asked for", e, o.Engine)
	case e != query.EnginePebble:
		return openRocksDB(dir, o, standby)
	}
	return pebble.Open(dir, pebble.Options{Memory: o.Memory, BackgroundRate: o.BackgroundRate, Logger: o.Logger, Async: true, MustExist: true, Standby: standby})
}

// engines are those that a standby can have, if one was asked for or not.
func engines(asked query.Engine) []string {
	switch {
	case asked != "":
		return []string{string(asked)}
	case query.HasRocksDB:
		return []string{string(query.EngineRocksDB), string(query.EnginePebble)}
	}
	return []string{string(query.EnginePebble)}
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
