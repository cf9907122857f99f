// Package osfile holds the parts of working with files that differ between
// operating systems: locks, and directories that are synced.
package osfile

import "errors"

// ErrLocked is the error of TryLock for a file that is locked through another open file
// description.
var ErrLocked = errors.New("locked")
