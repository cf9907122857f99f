package transfer

import "errors"

// Mkfifo fails: on Windows a named pipe is not a file.
func Mkfifo(string) error { return errors.ErrUnsupported }
