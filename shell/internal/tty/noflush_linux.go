package tty

import (
	"syscall"
	"unsafe"
)

// KeepOutput makes the terminal keep undisplayed output on Ctrl-C. By default it
// discards such output: lines would lose their ends, and a writer that waits for room
// in a pseudo-terminal might never be woken. The line editor undoes the setting when it
// restores the terminal.
func KeepOutput(fd uintptr) {
	var mode syscall.Termios
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TCGETS, uintptr(unsafe.Pointer(&mode))); errno != 0 {
		return
	}
	mode.Lflag |= syscall.NOFLSH
	syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TCSETS, uintptr(unsafe.Pointer(&mode)))
}

// waiting reports whether there is unread input in a terminal.
func waiting(fd uintptr) bool {
	var n int32
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCINQ, uintptr(unsafe.Pointer(&n)))
	return errno == 0 && n > 0
}
