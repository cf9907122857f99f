//go:build !windows

package heat

import (
	"syscall"
	"time"
)

// processTime is the processor time that the process has used.
func processTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
