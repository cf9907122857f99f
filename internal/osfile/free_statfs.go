//go:build linux || darwin || freebsd

package osfile

import (
	"io/fs"
	"math"
	"syscall"
)

// Free is the number of bytes that this process may still write to the disk of a directory.
func Free(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	size := uint64(st.Bsize)
	if st.Bavail <= 0 || size == 0 { // on some systems it may be negative
		return 0, nil
	}
	return int64(min(uint64(st.Bavail), math.MaxInt64/size) * size), nil
}
