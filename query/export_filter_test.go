package query

// Unpushed returns a table whose reads push no filters down to the store.
func Unpushed(t *Table) *Table { return &Table{db: t.db, name: t.name, unpushed: true} }

// RowBytes returns a table with a limit of row sizes below MaxRowBytes.
func RowBytes(t *Table, n int) *Table { return &Table{db: t.db, name: t.name, maxBytes: n} }
