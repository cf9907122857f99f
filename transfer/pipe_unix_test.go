//go:build unix

package transfer

import "syscall"

// Mkfifo makes a named pipe.
func Mkfifo(path string) error { return syscall.Mkfifo(path, 0o600) }
