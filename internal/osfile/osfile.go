// Package osfile holds the parts of working with files that differ between
// operating systems: locks, and directories that are synced. It also follows links, and
// waits for pipes with a context.
package osfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrLocked is the error of TryLock for a file that is locked through another open file
// description.
var ErrLocked = errors.New("locked")

// Leads is where a path leads through symbolic links, also if nothing is there.
func Leads(path string) (string, error) {
	for {
		to, err := filepath.EvalSymlinks(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return to, err
		}
		above, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return "", err
		}
		path = filepath.Join(above, filepath.Base(path))
		if to, err = os.Readlink(path); err != nil {
			return path, nil // no link, so nothing is there
		}
		if path = to; !filepath.IsAbs(to) {
			path = filepath.Join(above, to)
		}
	}
}

// RenameSynced renames a directory or a file durably: the new name survives a loss
// of power.
func RenameSynced(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	parent, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	return errors.Join(SyncDir(parent), parent.Close())
}
