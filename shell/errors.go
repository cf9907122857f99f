package shell

import (
	"context"
	"errors"
	"fmt"

	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/shell/internal/tty"
)

// ErrDifferent is the error of a diff of tables that differ. The result says how; the
// error is not shown.
var ErrDifferent = errors.New("the tables differ")

// errPagerQuit is the cancellation cause when the user quits the pager.
var errPagerQuit = errors.New("the pager was quit")

// errReported marks an error that was already shown.
var errReported = errors.New("reported")

// ExitCode returns the process's exit code for an error of a session: 0 for nil and
// ErrOutputClosed, 4 for ErrNothingFound and ErrDifferent, 130 for a cancelled context,
// else 1.
func ExitCode(err error) int {
	switch {
	case err == nil, errors.Is(err, ErrOutputClosed):
		return 0
	case errors.Is(err, ErrNothingFound), errors.Is(err, ErrDifferent):
		return 4
	case errors.Is(err, context.Canceled):
		return 130
	}
	return 1
}

// ready returns an error if nothing can run.
func (s *Session) ready(ctx context.Context) error {
	problem := ""
	switch {
	case s == nil || s.out == nil:
		problem = "there is no session; New gives one"
	case ctx == nil:
		problem = "the context is nil; context.Background gives one"
	default:
		return nil
	}
	return &query.Error{Op: "run", Kind: query.KindInvalidArgument, Err: errors.New(problem)}
}

// ended describes how a context with this error ended.
func ended(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "timed out"
	}
	return "cancelled"
}

func (s *Session) report(name string, err error) {
	if errors.Is(err, ErrOutputClosed) || errors.Is(err, errReported) || errors.Is(err, ErrDifferent) {
		return
	}
	s.out.flush()
	message := err.Error()
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		message = ended(err)
	}
	if placed := (*lex.Error)(nil); name != "" && errors.As(err, &placed) && placed.IsValid() {
		message = name + ":" + message
	} else if name != "" {
		message = name + ": " + message
	}
	fmt.Fprintln(s.opt.Err, s.faults().fault(lex.Escape(message)))
}

// The errors of a session that do not come from a statement.
var (
	// ErrNothingFound is the error of a get that found no row although MustExist was
	// set.
	ErrNothingFound = errors.New("no such row")
	// ErrOutputClosed says that nobody reads the output any longer, as in `| head`.
	ErrOutputClosed = tty.ErrClosed
	// ErrTerminated is the cause of a context that ends since the process was told to end.
	// The pager of a session with Pages ends then, even while it shows all of its page.
	ErrTerminated = errors.New("told to end")
	// ErrFailed says that statements failed in a script with KeepGoing.
	ErrFailed = errors.New("statements failed")
)
