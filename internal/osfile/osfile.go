// Package osfile holds the parts of working with files that differ between
// operating systems: locks, and directories that are synced.
package osfile

import "errors"

// ErrLocked is the error of TryLock for a file that is locked by way of another
// opening of it.
var ErrLocked = errors.New("locked")
