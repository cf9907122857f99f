// Package claim keeps a directory for one user at a time. A directory is the same one
// under every spelling of its path, through links and mounts, and after a move. Where
// the system cannot lock directories, as on Windows, a claim excludes only other claims
// of this process.
package claim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

	"github.com/smolwc/smolwc/internal/osfile"
)

// The two ways in which a directory can be taken.
var (
	ErrHere      = errors.New("open in this process already")
	ErrElsewhere = errors.New("in use by another process")
)

// A Claim is held from Take to Release, or to the end of the process. It is safe
// for concurrent use.
type Claim struct {
	id  fs.FileInfo // as it was when it was claimed
	dir *os.File    // holds the lock
	end sync.Once
}

// held are the claims of this process. An operating system's lock can belong to the
// whole process; then it does not exclude other parts of the same process.
var held = struct {
	sync.Mutex
	dirs []fs.FileInfo
}{}

// Take claims a directory, which must exist. It does not wait: the error matches
// ErrHere or ErrElsewhere when the directory is taken.
func Take(path string) (*Claim, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	c := &Claim{dir: dir}
	if err := c.take(); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return c, nil
}

func (c *Claim) take() error {
	info, err := c.dir.Stat()
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", c.dir.Name())
	}
	c.id = info
	held.Lock()
	defer held.Unlock()
	if slices.ContainsFunc(held.dirs, c.same) {
		return ErrHere
	}
	if err := lock(c.dir); err != nil {
		return err
	}
	held.dirs = append(held.dirs, info)
	return nil
}

// lock takes the lock of the operating system on a directory. The lock belongs to
// the open file, so it stays when another file of the directory is closed or
// removed; and a program that the process starts does not inherit it. On a file
// system without such locks only the claims of this process count.
func lock(dir *os.File) error {
	if err := osfile.TryLock(dir); errors.Is(err, osfile.ErrLocked) {
		return ErrElsewhere
	}
	return nil
}

func (c *Claim) same(other fs.FileInfo) bool { return os.SameFile(c.id, other) }

// Identity is the device and the inode of the directory, as [osfile.ID] gives them.
func (c *Claim) Identity() (device, inode uint64) { return osfile.ID(c.id) }

// Holds reports whether a path leads to the directory that is claimed: it may have
// been moved, or replaced by another.
func (c *Claim) Holds(path string) bool {
	info, err := os.Stat(path)
	return err == nil && c.same(info)
}

// Release releases the directory. Later calls do nothing.
func (c *Claim) Release() {
	c.end.Do(func() {
		held.Lock()
		defer held.Unlock()
		_ = c.dir.Close() // nothing was written
		held.dirs = slices.DeleteFunc(held.dirs, c.same)
	})
}
