package shell

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/smolwc/smolwc/ql/lex"
)

func (s *Session) dotOutput(_ context.Context, arg string) error {
	err := s.redirect(fileName(arg))
	if errors.Is(err, ErrOutputClosed) { // the previous command stopped reading
		err = nil
	}
	return err
}

// dotOnce sends the results of the next statement elsewhere, and those after it to Out.
func (s *Session) dotOnce(ctx context.Context, arg string) error {
	if arg == "" {
		return errors.New("expected the name of a file, or | and a command")
	}
	err := s.dotOutput(ctx, arg)
	s.once = err == nil
	return err
}

// endOnce ends the redirection of .once after its statement.
func (s *Session) endOnce() error {
	if !s.once {
		return nil
	}
	s.once = false
	err := s.redirect("")
	if errors.Is(err, ErrOutputClosed) {
		return nil
	}
	return err
}

// redirect sends results to a file or, after a |, to a command; "" means back to Out.
// The previous destination is closed first.
func (s *Session) redirect(to string) error {
	err := s.out.flush()
	if s.out.close != nil {
		closeErr := s.out.close()
		if !errors.Is(err, ErrOutputClosed) { // the reason for redirecting
			err = errors.Join(err, writeError(closeErr))
		}
		s.out = newOutput(s.pager, s.opt.Terminal)
	}
	if to == "" || err != nil && !errors.Is(err, ErrOutputClosed) {
		return err
	}
	open := s.openFile
	if strings.HasPrefix(to, "|") {
		open = s.openCommand
	}
	out, err := open(strings.TrimSpace(strings.TrimPrefix(to, "|")))
	if err == nil {
		out.to = to
		s.out = out
	}
	return err
}

// dropRedirection returns to the screen if nobody reads the output any longer.
func (s *Session) dropRedirection() {
	if s.out.close == nil {
		s.out = newOutput(s.pager, s.opt.Terminal)
		return
	}
	to := s.out.to
	if err := s.redirect(""); err != nil && !errors.Is(err, ErrOutputClosed) {
		s.report("", err)
	}
	s.note("%s no longer reads; results are shown here again", lex.Escape(to))
}

func (s *Session) openFile(name string) (*output, error) {
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	out := newOutput(f, isTerminal(f))
	out.close = f.Close
	return out, nil
}

func (s *Session) openCommand(command string) (*output, error) {
	if command == "" {
		return nil, errors.New("expected a command after the |")
	}
	cmd := exec.Command("sh", "-c", command)
	cmd.Stdout, cmd.Stderr = s.opt.Out, s.opt.Err
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	out := newOutput(in, false)
	out.close = func() error {
		closeErr := in.Close()
		if err := cmd.Wait(); err != nil {
			return commandError(command, err)
		}
		return closeErr
	}
	return out, nil
}

// fileName returns the argument without enclosing quotes, with ~ replaced by the home
// directory.
func fileName(arg string) string {
	if len(arg) > 1 && (arg[0] == '"' || arg[0] == '\'') && arg[len(arg)-1] == arg[0] {
		return arg[1 : len(arg)-1]
	}
	if rest, ok := strings.CutPrefix(arg, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return arg
}
