package heat

import (
	"syscall"
	"time"
)

// processTime returns the processor time used by the process.
func processTime() time.Duration {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0
	}
	var created, exited, kernel, user syscall.Filetime
	if syscall.GetProcessTimes(self, &created, &exited, &kernel, &user) != nil {
		return 0
	}
	return time.Duration(100 * (ticks(kernel) + ticks(user)))
}

// ticks are units of 100 ns.
func ticks(t syscall.Filetime) int64 { return int64(t.HighDateTime)<<32 + int64(t.LowDateTime) }
