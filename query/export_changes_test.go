package query

import "context"

// TrimChanges lets go of changes that have been kept for long enough, as happens
// every minute.
func (db *DB) TrimChanges() error { return db.base.trimChanges(context.Background()) }
