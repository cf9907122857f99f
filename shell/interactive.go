package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/peterh/liner"

	"github.com/smolwc/smolwc/query/ql"
)

// The prompts.
const (
	prompt     = "smolwc> "
	promptMore = "   -> "
	// While a batch is open.
	promptBatch     = "smolwc*> "
	promptBatchMore = "    -> "
)

// Interactive reads statements from the terminal until it is left by quit or
// Ctrl-D, or the context ends. It works on the process's own standard input
// and output, which must be a terminal. Errors of statements are shown and do
// not end it. Ctrl-C cancels the statement that runs.
func (s *Session) Interactive(ctx context.Context) error {
	t := s.openTerminal()
	defer t.close()
	s.note("smolwc %s. help lists the statements, .help the commands; Ctrl-D leaves.", s.opt.Version)
	for !s.left && ctx.Err() == nil {
		text, err := t.read()
		if errors.Is(err, io.EOF) {
			fmt.Fprintln(s.opt.Out)
			break
		}
		if errors.Is(err, liner.ErrPromptAborted) {
			continue
		}
		if err != nil {
			return fmt.Errorf("cannot read from the terminal: %w", err)
		}
		if err := s.runTyped(ctx, text); errors.Is(err, ErrOutputClosed) {
			return err
		}
	}
	if s.runner.DropBatch() != nil {
		s.note("the batch was not committed; nothing of it was written")
	}
	return ctx.Err()
}

// runTyped runs what was typed, which may be several statements. Ctrl-C
// cancels them.
func (s *Session) runTyped(ctx context.Context, text string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	reader := ql.NewReader(strings.NewReader(text))
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
}

// showError shows an error to the one who typed the text: with a caret below
// the place.
func (s *Session) showError(text string, err error) {
	s.out.flush()
	if errors.Is(err, errReported) || errors.Is(err, ErrOutputClosed) {
		return
	}
	var bad *ql.Error
	if !errors.As(err, &bad) {
		s.report("", err)
		return
	}
	if caret := ql.Caret(text, ql.Pos{Line: 1, Col: 1}, bad); caret != "" && bad.Col > 1 {
		fmt.Fprintf(s.opt.Err, "%s\n", caret)
	}
	fmt.Fprintf(s.opt.Err, "error: %s\n", bad.Msg)
}

// A terminal is the line editor and its history.
type terminal struct {
	session *Session
	editor  *liner.State
	file    string
	history []string
}

func (s *Session) openTerminal() *terminal {
	t := &terminal{session: s, editor: liner.NewLiner(), file: cmp.Or(s.opt.History, HistoryFile())}
	keepOutput(os.Stdin.Fd())
	t.editor.SetCtrlCAborts(true)
	t.editor.SetMultiLineMode(true)
	t.editor.SetTabCompletionStyle(liner.TabPrints)
	t.editor.SetWordCompleter(func(line string, pos int) (string, []string, string) {
		head := string([]rune(line)[:pos])
		tail := string([]rune(line)[pos:])
		n, words := s.complete(head)
		return head[:len(head)-n], words, tail
	})
	for _, line := range loadHistory(t.file) {
		t.history = append(t.history, line)
		t.editor.AppendHistory(line)
	}
	s.lines = func() []string { return t.history }
	s.runner.Confirm = t.confirm
	return t
}

// read reads lines until they make statements.
func (t *terminal) read() (string, error) {
	first, more := prompt, promptMore
	if t.session.runner.InBatch() {
		first, more = promptBatch, promptBatchMore
	}
	text, err := t.editor.Prompt(first)
	if err != nil {
		return "", err
	}
	t.remember(text)
	for !ql.Complete(text) && !isCommand(text) {
		line, err := t.editor.Prompt(more)
		if err != nil {
			return "", err
		}
		t.remember(line)
		text += "\n" + line
	}
	return text, nil
}

// isCommand reports whether the line is a session command, which never goes on
// in the next line.
func isCommand(text string) bool {
	text = strings.TrimLeft(text, " \t")
	return strings.HasPrefix(text, ".") || strings.HasPrefix(text, `\`) && len(text) > 1
}

// remember takes a line into the history.
func (t *terminal) remember(line string) {
	if !keepLine(line) || len(t.history) > 0 && t.history[len(t.history)-1] == line {
		return
	}
	t.history = append(t.history, line)
	t.editor.AppendHistory(line)
}

// confirm asks; only yes is yes.
func (t *terminal) confirm(question string) (bool, error) {
	t.session.out.flush()
	fmt.Fprintln(t.session.opt.Err, question)
	answer, err := t.editor.Prompt("yes or no: ")
	if errors.Is(err, liner.ErrPromptAborted) || errors.Is(err, io.EOF) {
		return false, nil
	}
	return strings.EqualFold(strings.TrimSpace(answer), "yes"), err
}

// close gives the terminal back and writes the history.
func (t *terminal) close() {
	t.session.runner.Confirm, t.session.lines = nil, nil
	if err := saveHistory(t.file, t.history); err != nil {
		t.session.note("the history was not saved: %s", err)
	}
	t.editor.Close()
}
