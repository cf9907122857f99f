package tty

import (
	"syscall"
	"unsafe"
)

// KeepOutput asks the terminal not to throw away, on Ctrl-C, output that it has not shown
// yet. It would lose the ends of lines, and a writer that waits for room in a
// pseudo-terminal that is emptied this way may never be woken again. It is undone when the
// line editor gives the terminal back.
func KeepOutput(fd uintptr) {
	var mode syscall.Termios
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TCGETS, uintptr(unsafe.Pointer(&mode))); errno != 0 {
		return
	}
	mode.Lflag |= syscall.NOFLSH
	syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TCSETS, uintptr(unsafe.Pointer(&mode)))
}
