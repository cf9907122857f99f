package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"github.com/peterh/liner"

	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/shell/internal/tty"
)

// A terminal is the line editor and its history.
type terminal struct {
	session     *Session
	editor      *liner.State
	original    liner.ModeApplier // the terminal's mode before the session; nil: unknown
	history     *tty.History
	input       *tty.Input     // of the editor; nil: unknown
	more        bool           // the paste goes on after the last line
	ended       error          // io.EOF was read after statements that had to run first
	before      atomic.Value   // of strings: the lines before the one that is read
	interrupts  chan os.Signal // Ctrl-C while the editor does not read
	toldQueries bool           // it was said how a query ends
	failed      bool           // the history could not be written
}

func (s *Session) openTerminal(interrupts chan os.Signal) *terminal {
	t := &terminal{session: s, interrupts: interrupts}
	t.original, _ = liner.TerminalMode()
	t.editor = liner.NewLiner()
	if liner.TerminalSupported() {
		tty.KeepOutput(os.Stdin.Fd())
		if t.input = tty.InputOf(t.editor, os.Stdin, true); t.input != nil {
			fmt.Fprint(s.opt.Out, tty.MarkPastes)
		}
	} else {
		t.input = tty.InputOf(t.editor, os.Stdin, false)
	}
	t.editor.SetCtrlCAborts(true)
	t.editor.SetMultiLineMode(true)
	t.editor.SetTabCompletionStyle(liner.TabPrints)
	t.editor.SetWordCompleter(t.complete)
	var err error
	t.history, err = tty.OpenHistory(cmp.Or(s.opt.History, tty.HistoryFile()))
	t.noteFailure(err)
	for _, line := range t.history.Entries {
		t.editor.AppendHistory(line)
	}
	s.lines = func() []string { return t.history.Entries }
	s.runner.Confirm = t.confirm
	s.ask = func(ctx context.Context, question string) (string, error) {
		if err := s.pager.End(false); err != nil {
			return "", err
		}
		answer, _, err := t.line(ctx, question, question)
		return strings.TrimSpace(answer), err
	}
	s.pager.Lend = t.lend
	return t
}

// read reads lines until they are complete statements. The lines of a paste are one text,
// and so are lines that are there already: a condition may stand on a line of its own.
func (t *terminal) read(ctx context.Context) (string, error) {
	first, more := prompt, promptMore
	if t.session.runner.InBatch() {
		first, more = promptBatch, promptBatchMore
	}
	if t.ended != nil {
		return "", t.ended
	}
	t.before.Store("")
	text, _, err := t.line(ctx, first, first)
	if err != nil {
		return "", err
	}
	open := text // text that is not known to be complete
	for {
		command := isCommand(open)
		if command || lex.CompleteTyped(open) {
			open = ""
		}
		if open == "" && !t.more && (command || !t.input.Waiting()) {
			break
		}
		if open != "" && !t.more && !t.toldQueries && lex.IsQuery(open) && !t.input.Waiting() {
			t.toldQueries = true
			t.session.note("(a query ends with ; or an empty line)")
		}
		t.before.Store(text + "\n")
		line, anew, err := t.line(ctx, more, first)
		if open == "" && errors.Is(err, io.EOF) {
			t.ended = err
			fmt.Fprintln(t.session.opt.Out)
			break
		}
		switch {
		case err != nil:
			return "", err
		case anew:
			text, open = line, line
		case open == "":
			text, open = text+"\n"+line, line
		default:
			text, open = text+"\n"+line, open+"\n"+line
		}
	}
	t.remember(text)
	return text, nil
}

// line reads one line. anew reports that Ctrl-C dropped the lines before it: the
// terminal sends a signal without a line editor, and until the editor reads. The prompt
// is then first. The wait ends with the context; after that the editor is unusable.
func (t *terminal) line(ctx context.Context, prompt, first string) (line string, anew bool, err error) {
	type typed struct {
		line string
		more bool
		err  error
	}
	done := make(chan typed, 1)
	go func() {
		line, err := t.editor.Prompt(prompt)
		line, more := tty.Unmark(line)
		done <- typed{line, more, err}
	}()
	for {
		select {
		case got := <-done:
			t.more = got.more
			return got.line, anew, got.err
		case <-ctx.Done():
			return "", anew, ctx.Err()
		case <-t.interrupts: // the terminal itself discarded the line
			anew = true
			t.before.Store("")
			fmt.Fprint(t.session.opt.Out, "\n"+first)
		}
	}
}

// complete completes the word before the cursor, for the editor.
func (t *terminal) complete(line string, pos int) (string, []string, string) {
	head, tail := string([]rune(line)[:pos]), string([]rune(line)[pos:])
	if rest, tab, pasted := tty.UnmarkTab(head); pasted {
		return rest, []string{tab}, tail
	}
	before, _ := t.before.Load().(string)
	if before != "" && strings.TrimSpace(head) == "" {
		return head, nil, tail // a tab to indent a line
	}
	begin, words, more := t.session.complete(before + head)
	if more {
		words = withMore(words)
	}
	if begin -= len(before); begin < 0 {
		return head, nil, tail // the word begins in a previous line
	}
	return head[:begin], words, tail
}

// isCommand reports whether the line is a session command; these have only one line.
func isCommand(text string) bool {
	text = strings.TrimLeft(text, " \t")
	return strings.HasPrefix(text, ".") || strings.HasPrefix(text, `\`) && len(text) > 1
}

// remember adds typed text to the history, as one line that can be edited.
func (t *terminal) remember(text string) {
	line := strings.ReplaceAll(text, "\n", " ")
	if !isCommand(text) {
		line = lex.OneLine(text)
	}
	kept, err := t.history.Add(line)
	if kept {
		t.editor.AppendHistory(line)
	}
	t.noteFailure(err)
}

// noteFailure says once that the history cannot be saved.
func (t *terminal) noteFailure(err error) {
	if err != nil && !t.failed {
		t.failed = true
		t.session.note("the history is not kept: %s", lex.Escape(err.Error()))
	}
}

// confirm asks the question; only the answer yes confirms.
func (t *terminal) confirm(question string) (bool, error) {
	s := t.session
	if err := s.out.flush(); err != nil {
		return false, err
	}
	if err := s.pager.End(false); err != nil {
		return false, err
	}
	fmt.Fprintln(s.opt.Err, lex.Escape(question))
	for _, prompt := range []string{"yes or no: ", "yes in full, or no: "} {
		answer, _, err := t.line(context.Background(), prompt, prompt)
		if errors.Is(err, liner.ErrPromptAborted) || errors.Is(err, io.EOF) {
			return false, nil
		}
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "yes":
			return true, err
		case "y", "ye", "ja", "ok":
			if err == nil {
				continue // by habit: yes is typed in full
			}
		}
		return false, err
	}
	return false, nil
}

// lend restores the terminal's original mode for another command.
func (t *terminal) lend() (takeBack func()) {
	mode, err := liner.TerminalMode()
	if err != nil || t.original == nil || !liner.TerminalSupported() {
		return func() {}
	}
	fmt.Fprint(t.session.opt.Out, tty.UnmarkPastes)
	t.original.ApplyMode()
	return func() {
		mode.ApplyMode()
		fmt.Fprint(t.session.opt.Out, tty.MarkPastes)
	}
}

func (t *terminal) close() {
	t.session.runner.Confirm, t.session.lines, t.session.ask = nil, nil, nil
	if liner.TerminalSupported() {
		fmt.Fprint(t.session.opt.Out, tty.UnmarkPastes)
	}
	t.editor.Close()
}

// The prompts.
const (
	prompt     = "smolwc> "
	promptMore = "   -> "
	// while a batch is open
	promptBatch     = "smolwc*> "
	promptBatchMore = "    -> "
)
