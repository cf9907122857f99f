package query

import "context"

// TrimChanges lets go of changes that have been kept for long enough, as happens
// every minute.
func (db *DB) TrimChanges() error { return db.state.TrimChanges(context.Background()) }
