package query

// TrimChanges lets go of changes that have been kept for long enough, as happens
// every minute.
func (db *DB) TrimChanges() error { return db.trimChanges() }
