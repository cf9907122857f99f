package pebble

import "time"

// Patience is how long a call waits for a disk that takes no writes.
const Patience = patience

// Waits reports whether a call of the file system is repeated.
func Waits(s *Store) bool { return s.fs.waits.Load() > 0 }

// Eager makes the janitor look all the time.
func (o Options) Eager() Options {
	o.cleanPause = time.Millisecond
	return o
}
