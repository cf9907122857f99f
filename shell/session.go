// Package shell runs the statement language at a terminal and in scripts: it reads
// statements and session commands, runs them, and prints their results.
//
// A [Session] prints rows as they are read, in one of the formats that [Formats]
// lists, and never holds more of them than a screenful. In the formats for
// people (table, line, cbt, markdown) keys, columns and values are words of
// the language that can be typed back in; json and jsonl lose nothing of any
// value. No format lets a control character of the data reach a terminal.
//
// # The table format
//
// A scan that asks for one version of each column is shown as a grid, one line a row and one
// column a column, when the columns of its first rows fit the width. Everything else, and every
// get of a single row, is shown one line a cell: row, column, timestamp, value, with the row's
// key on its first line; a terminal too narrow for that goes without the timestamps. A grid
// with too many columns leaves out some in the middle, and says so below. A text longer than
// its column is cut and ends in '…'; keys give way before values, and are cut in the middle. A
// later row with columns that do not fit into the grid begins a new one.
//
// The result of a query in SQL shows the query's columns. Bytes that are not text are
// b'..' in the formats for people, b64'..' in csv and tsv, and in base64 under a name
// that ends in _b64 in json and jsonl. A column without a name is f0_, f1_ and so on.
package shell

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/shell/internal/tty"
)

// Streams returns the options of a session on these streams, as far as the streams and
// the environment determine them.
func Streams(db *query.DB, in io.Reader, out, err io.Writer, getenv func(string) string) Options {
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	size := func(of func(width, height int) int) func() int {
		return func() int {
			f, ok := out.(*os.File)
			if !ok {
				return 0
			}
			width, height, err := term.GetSize(int(f.Fd()))
			if err != nil {
				return 0
			}
			return of(width, height)
		}
	}
	return Options{
		DB: db, In: in, Out: out, Err: err,
		Interactive: isTerminal(in) && isTerminal(out), Terminal: isTerminal(out), ErrTerminal: isTerminal(err),
		Width:  size(func(width, _ int) int { return width }),
		Height: size(func(_, height int) int { return height }),
		Color:  getenv("NO_COLOR") == "" && tty.CanMoveCursor(getenv),
		Pager:  tty.PagerCommand(getenv),
	}
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Formats are the names of the output formats.
var Formats = ql.Formats

// CheckFormat returns an error that lists the formats when name is not one.
func CheckFormat(name string) error {
	if !slices.Contains(Formats, name) {
		return fmt.Errorf("unknown format %s; the formats are %s", lex.QuoteText(name), strings.Join(Formats, ", "))
	}
	return nil
}

// New returns a session. Close it when done.
func New(o Options) *Session {
	if o.In == nil {
		o.In = strings.NewReader("")
	}
	if o.Out == nil {
		o.Out = io.Discard
	}
	if o.Err == nil {
		o.Err = io.Discard
	}
	s := &Session{db: o.DB, opt: o, table: o.Table, runner: exec.Runner{DB: o.DB, Remote: o.Remote, ReadOnly: o.ReadOnly}, color: colorAuto, bail: !o.KeepGoing, patience: completionTime}
	s.pager = &tty.Pager{Command: o.Pager, Mode: tty.Auto, Screen: o.Out, Side: o.Err, Lend: func() func() { return func() {} }}
	if (o.Interactive || o.Pages) && o.Terminal && o.Width != nil && o.Height != nil {
		s.pager.Width, s.pager.Height = o.Width, o.Height
		s.opt.Err = s.pager.SideWriter()
	}
	s.out = newOutput(s.pager, o.Terminal)
	s.format = cmp.Or(o.Format, "jsonl")
	if o.Terminal {
		s.format = cmp.Or(o.Format, "table")
	}
	s.runner.Outside = s.outside
	if o.Interactive {
		s.seen = seenColumns{}
	}
	return s
}

// Close flushes the output and closes the file of .output. If a batch is still open,
// Close writes an error to Err and returns it; nothing of the batch is written to the
// database.
func (s *Session) Close() error {
	if s == nil || s.out == nil {
		return nil
	}
	open := s.runner.DropBatch()
	if open != nil {
		s.report("", open)
	}
	err := errors.Join(s.redirect(""), open)
	if s.opened != nil {
		err = errors.Join(err, s.opened.Close())
	}
	return err
}
