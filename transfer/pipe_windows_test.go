package transfer

import "errors"

// Mkfifo would make a named pipe; here a pipe is no file.
func Mkfifo(string) error { return errors.ErrUnsupported }
