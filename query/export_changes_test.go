package query

import "context"

// TrimChanges drops changes that have been kept for long enough, as the janitor does
// every minute.
func (db *DB) TrimChanges() error { return db.state.TrimChanges(context.Background()) }
