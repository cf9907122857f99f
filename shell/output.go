package shell

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"

	"github.com/smolwc/smolwc/ql/lex"
)

// An output is the destination of results. It is buffered, but only briefly, so that
// rows appear while they are read.
type output struct {
	*bufio.Writer
	terminal bool
	flushed  time.Time
	close    func() error // of a redirection; nil: nothing to close
	to       string       // the name of a redirection, for people
}

func newOutput(w io.Writer, terminal bool) *output {
	return &output{Writer: bufio.NewWriterSize(w, 64<<10), terminal: terminal}
}

// flushEvery is how long a row may wait in the buffer.
const flushEvery = 100 * time.Millisecond

// rowDone flushes after a complete row if flushEvery passed.
func (o *output) rowDone() error {
	if time.Since(o.flushed) < flushEvery {
		return nil
	}
	return o.flush()
}

// flush writes out the buffer. A pipe without a reader is ErrOutputClosed.
func (o *output) flush() error {
	o.flushed = time.Now()
	return writeError(o.Writer.Flush())
}

// writeError returns ErrOutputClosed for a closed pipe, and wraps other errors.
func writeError(err error) error {
	switch {
	case err == nil, errors.Is(err, ErrOutputClosed):
		return err
	case errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrClosedPipe):
		return ErrOutputClosed
	}
	return fmt.Errorf("cannot write the output: %w", err)
}

// commandError returns the error of the command of .output. The command may stop
// reading early without error.
func commandError(command string, err error) error {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGPIPE {
			return nil
		}
		return fmt.Errorf("the command %s ended with %s", lex.Escape(command), exit)
	}
	return err
}
