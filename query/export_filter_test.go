package query

// Unpushed is a table whose reads leave filters whole: nothing of them goes to the
// store.
func Unpushed(t *Table) *Table { return &Table{db: t.db, name: t.name, unpushed: true} }

// RowBytes is a table whose rows are bound below MaxRowBytes.
func RowBytes(t *Table, n int) *Table { return &Table{db: t.db, name: t.name, maxBytes: n} }
