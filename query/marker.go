package query

// Format is the version of the format on disk that the database has, from 1 to
// [FormatVersion]. It grows when a write needs a larger one.
func (db *DB) Format() int {
	if db == nil {
		return 0
	}
	return int(db.state.Format.Load())
}
