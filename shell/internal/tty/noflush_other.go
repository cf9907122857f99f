//go:build !linux

package tty

// KeepOutput does nothing; see the version for Linux.
func KeepOutput(uintptr) {}

// waiting returns false: waiting input is not asked for here.
func waiting(uintptr) bool { return false }
