package workload

import (
	"strings"

	"github.com/smolwc/smolwc/query"
)

// The engines that smolwc is measured on. C and grocksdb are always on RocksDB.
const (
	RocksDB = string(query.EngineRocksDB)
	Pebble  = string(query.EnginePebble)
)

// Engines are the names of all engines.
var Engines = []string{RocksDB, Pebble}

// on is the name of a contender that is smolwc on an engine.
func on(engine, name string) string {
	switch {
	case engine == RocksDB:
		return name
	case !strings.HasPrefix(name, nameSmolwc):
		name = nameSmolwc + ", " + name
	}
	return strings.Replace(name, nameSmolwc, nameSmolwc+"/"+engine, 1)
}

// dirOn is the directory of smolwc's files on an engine, beside those on RocksDB.
func dirOn(engine, dir string) string {
	if engine == RocksDB {
		return dir
	}
	return dir + "." + nameSmolwc + "-" + engine
}

// openOn opens a database on an engine.
func (e *Env) openOn(engine, dir string, o query.Options) (*query.DB, error) {
	o.Engine, o.Memory, o.GCInterval = query.Engine(engine), e.Memory, -1
	return query.Open(dir, o)
}
