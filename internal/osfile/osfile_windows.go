package osfile

import (
	"errors"
	"io/fs"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// Lock takes the lock on an open file, and waits for it. Closing the file releases the
// lock, and so does the end of the process. Meanwhile only this handle can read and
// write the file. A directory cannot be locked.
func Lock(f *os.File) error { return lock(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// TryLock is Lock without the wait: the error matches ErrLocked when the lock is
// taken.
func TryLock(f *os.File) error {
	err := lock(f, windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}

func lock(f *os.File, how uint32) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), how, 0, math.MaxUint32, math.MaxUint32, new(windows.Overlapped))
}

// SyncDir does nothing: Windows lacks a call for a directory, and NTFS logs changes of
// names itself.
func SyncDir(*os.File) error { return nil }

// ID is 0 and 0: os.SameFile compares files.
func ID(fs.FileInfo) (device, inode uint64) { return 0, 0 }
