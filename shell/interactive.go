package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/peterh/liner"

	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
)

// Interactive reads statements from the terminal until quit, Ctrl-D, or the end of the
// context. It uses the process's own standard input and output, which must be a
// terminal. Errors of statements are shown and do not end the session. Ctrl-C cancels a
// running statement; at the prompt it clears the line.
func (s *Session) Interactive(ctx context.Context) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	t := s.openTerminal(interrupts)
	defer t.close()
	defer context.AfterFunc(ctx, s.pager.Hangup)()
	s.note("smolwc %s. help lists the statements, .help the commands; Ctrl-D leaves.", s.opt.Version)
	if len(s.runner.Database().Schema().Tables) == 0 {
		s.note("There are no tables yet. .tour shows the first statements to know, one by one.")
	}
	for !s.left && ctx.Err() == nil {
		text, err := t.read(ctx)
		if errors.Is(err, io.EOF) || ctx.Err() != nil {
			fmt.Fprintln(s.opt.Out)
			break
		}
		if errors.Is(err, liner.ErrPromptAborted) {
			continue
		}
		if err != nil {
			return fmt.Errorf("cannot read from the terminal: %w", err)
		}
		if err := s.runTyped(ctx, text, interrupts); errors.Is(err, ErrOutputClosed) {
			s.dropRedirection()
		}
	}
	if s.runner.DropBatch() != nil {
		s.note("the batch was not committed; nothing of it was written")
	}
	return ctx.Err()
}

// runTyped runs typed text, which may be several statements, as one page. Ctrl-C
// cancels them.
func (s *Session) runTyped(ctx context.Context, text string, interrupts <-chan os.Signal) error {
	ctx, cancel := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-interrupts:
			cancel()
		case <-ctx.Done():
		}
	}()
	defer func() {
		cancel()
		<-watched
	}()
	return s.page(ctx, func(ctx context.Context) error {
		reader := ql.NewTypedReader(text)
		for !s.left {
			src, err := reader.Next()
			if err == io.EOF {
				break
			}
			if err == nil {
				err = s.exec(ctx, src)
			}
			if err != nil {
				s.showError(text, err)
				return err
			}
		}
		return s.out.flush()
	})
}

// showError shows an error in typed text, with a caret below the place.
func (s *Session) showError(text string, err error) {
	s.out.flush()
	if errors.Is(err, errReported) || errors.Is(err, ErrOutputClosed) {
		return
	}
	var bad *lex.Error
	if !errors.As(err, &bad) {
		s.report("", err)
		return
	}
	if caret := lex.Caret(text, lex.Pos{Line: 1, Col: 1}, bad); caret != "" && bad.Col > 1 {
		fmt.Fprintf(s.opt.Err, "%s\n", caret)
	}
	fmt.Fprintln(s.opt.Err, s.faults().fault("error: "+bad.Msg))
}

// Run prompts if the session is interactive; otherwise it runs In as a script.
func (s *Session) Run(ctx context.Context) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	if s.opt.Interactive {
		return s.Interactive(ctx)
	}
	return s.RunScript(ctx, Stdin, s.opt.In)
}
