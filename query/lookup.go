package query

import "github.com/smolwc/smolwc/schema"

// LookupTable is the declaration in force of a table; ok is false for no such
// table. It costs nothing, and shares its memory with the database: do not change
// it.
func (db *DB) LookupTable(name string) (t schema.Table, ok bool) {
	info, ok := db.inForce().Tables[name]
	if !ok {
		return schema.Table{}, false
	}
	return *info.Declared, true
}
