//go:build unix

package osfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// Lock takes the lock on an open file or directory, and waits for it. Closing the file
// releases the lock, and so does the end of the process; closing another open file of
// the same path does not.
func Lock(f *os.File) error { return flock(f, syscall.LOCK_EX) }

// TryLock is Lock without the wait: the error matches ErrLocked when the lock is
// taken.
func TryLock(f *os.File) error {
	err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); err != syscall.EINTR {
			return err
		}
	}
}

// SyncDir makes the names in an open directory durable: they survive a loss of power.
func SyncDir(dir *os.File) error { return dir.Sync() }

// ID is the device and the inode of a file, which identify the file; 0 and 0 where the
// system lacks such numbers, as Windows.
func ID(info fs.FileInfo) (device, inode uint64) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return uint64(st.Dev), uint64(st.Ino)
}
