package cf

import (
	"os"
	"syscall"
)

// punch gives the space of a part of a file back to the file system. Where that is
// not possible, the space is free when the file is removed.
func punch(f *os.File, from, n int64) {
	const keepSize, punchHole = 1, 2
	_ = syscall.Fallocate(int(f.Fd()), keepSize|punchHole, from, n)
}
