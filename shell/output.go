package shell

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"
)

// An output is where results go: buffered, but never for long, so that rows
// appear as they are read.
type output struct {
	*bufio.Writer
	terminal bool
	flushed  time.Time
	close    func() error // of a redirection; nil: none
	to       string       // of a redirection, for people
}

func newOutput(w io.Writer, terminal bool) *output {
	return &output{Writer: bufio.NewWriterSize(w, 64<<10), terminal: terminal}
}

// flushEvery is how long a row may wait in the buffer.
const flushEvery = 100 * time.Millisecond

// rowDone says that a row is complete.
func (o *output) rowDone() error {
	if time.Since(o.flushed) < flushEvery {
		return nil
	}
	return o.flush()
}

// flush writes out the buffer. A pipe that nobody reads is ErrOutputClosed.
func (o *output) flush() error {
	o.flushed = time.Now()
	return writeError(o.Writer.Flush())
}

// writeError names a failure to write as such.
func writeError(err error) error {
	switch {
	case err == nil, errors.Is(err, ErrOutputClosed):
		return err
	case errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrClosedPipe):
		return ErrOutputClosed
	}
	return fmt.Errorf("cannot write the output: %w", err)
}

// commandError says how the command of .output ended. It may stop reading early.
func commandError(command string, err error) error {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGPIPE {
			return nil
		}
		return fmt.Errorf("the command %s ended with %s", escapeUnprintable(command), exit)
	}
	return err
}
