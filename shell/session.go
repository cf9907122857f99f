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
// A scan that asks for one version of each column is shown as a grid, one line a row and
// one column a column, when the columns of its first rows fit the width. Everything else,
// and every get of a single row, is shown one line a cell: row, column, timestamp, value,
// with the row's key on its first line; a terminal too narrow for that goes without the
// timestamps. A grid with too many columns leaves out those in the middle, and says so
// below. A text longer than its column is cut and ends in '…'; keys give way before values, and
// are cut in the middle. A later row with
// columns that the grid has no place for begins a new one.
//
// The result of a query in SQL has the query's columns. Bytes that are not text are
// b'..' in the formats for people, b64'..' in csv and tsv, and in base64 under a name
// that ends in _b64 in json and jsonl. A column without a name is f0_, f1_ and so on.
package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/shell/internal/tty"
)

// Options configure a session. Either DB or Remote must be set; see [Streams] for the
// rest.
type Options struct {
	DB *query.DB
	// Remote is the database if it is reached over the network.
	Remote Remote
	In     io.Reader // nil: empty
	Out    io.Writer // results; nil: discarded
	Err    io.Writer // errors, hints, timing, progress; nil: discarded

	// Interactive says that In and Out are the process's terminal; [Session.Run] then
	// prompts.
	Interactive bool
	// Pages says that a person at the process's terminal reads the output of
	// [Session.RunStatement]. Long results go through the pager.
	Pages bool
	// Terminal says that Out is a terminal: the default format is table, cut to the
	// terminal's width, and scans without limit= show 100 rows.
	Terminal bool
	// ErrTerminal says that Err is a terminal, which can show progress bars.
	ErrTerminal bool
	// Width and Height return the terminal's size in columns and lines; nil or 0 means
	// no bound.
	Width, Height func() int
	// Color marks keys, families and errors with colours on a terminal; .color changes
	// it.
	Color bool
	// Pager is the command that shows results longer than the screen in an interactive
	// session; "": no pager.
	Pager string

	Format    string // one of Formats; "": table on a terminal, else jsonl
	Table     string // the table in use; statements may omit it
	KeepGoing bool   // scripts continue after an error
	MustExist bool   // a get that finds nothing is ErrNothingFound
	Quiet     bool   // no messages, no hints
	Timing    bool   // say how long statements take
	Stats     bool   // report the cost of reads
	History   string // file; "": smolwc/history below $XDG_STATE_HOME, by default ~/.local/state
	Version   string // for .version
	// Prepare is called before the first statement that may change rows or tables of DB,
	// until it succeeds; its error is the statement's. nil: there is nothing to prepare.
	Prepare func(ctx context.Context) error
	// Open opens another database for .open; nil: .open is refused.
	Open func(ctx context.Context, dir string) (*query.DB, error)
}

// A Remote is a database over the network. Its server makes the backups.
type Remote interface {
	exec.Remote
	operator
}

// An operator makes backups of a database: [archive.Local], which documents the
// methods, or a server.
type operator interface {
	BackUp(ctx context.Context, target string, o archive.BackupOptions) (archive.BackupResult, error)
	ListBackups(ctx context.Context, target string) ([]archive.Generation, error)
	VerifyBackups(ctx context.Context, target string, o archive.Options) (archive.VerifyReport, error)
	Checkpoint(ctx context.Context, dir string) error
}

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

// terminalLimit is the number of rows that a scan without limit= shows on a terminal.
const terminalLimit = 100

// A Session runs statements and session commands one after another. It is not
// safe for use by several goroutines at once.
type Session struct {
	db     *query.DB
	opt    Options
	runner exec.Runner
	out    *output
	pager  *tty.Pager // before Out; without a Height it never shows a page
	seen   seenColumns
	format string
	color  string // one of colorAuto, colorOn, colorOff
	echo   bool
	bail   bool      // scripts stop at the first error
	opened *query.DB // opened by .open; nil: db is the caller's
	// imported is the number of rows that an import wrote before it failed.
	imported int
	limit    *int     // rows that a scan without limit= shows, set by .limit; nil: not set
	table    string   // the table in use; "": no table
	next     *ql.Scan // the statement for .next; nil: no statement
	left     bool
	hinted   bool                                                       // a native spelling was shown once
	depth    int                                                        // of .read
	once     bool                                                       // the output goes back to Out after the next statement
	reads    bool                                                       // the statements come from In
	lines    func() []string                                            // the history; nil: no history
	ask      func(ctx context.Context, question string) (string, error) // nil: nobody to ask
	patience time.Duration                                              // how long a completion may read names from the database
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
	s := &Session{db: o.DB, opt: o, table: o.Table, runner: exec.Runner{DB: o.DB, Remote: o.Remote}, color: colorAuto, bail: !o.KeepGoing, patience: completionTime}
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

// Left reports whether a quit ended the session.
func (s *Session) Left() bool { return s != nil && s.left }

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

// The errors of a session that do not come from a statement.
var (
	// ErrNothingFound is the error of a get that found no row although MustExist was
	// set.
	ErrNothingFound = errors.New("no such row")
	// ErrOutputClosed says that the output has no reader anymore, as in `| head`.
	ErrOutputClosed = tty.ErrClosed
	// ErrTerminated is the cause of a context that ends since the process was told to end.
	// The pager of a session with Pages ends then, even while it shows all of its page.
	ErrTerminated = errors.New("told to end")
	// ErrFailed says that statements failed in a script with KeepGoing.
	ErrFailed = errors.New("statements failed")
)

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

// note writes a message for people to Err.
func (s *Session) note(format string, args ...any) {
	if !s.opt.Quiet {
		s.out.flush()
		fmt.Fprintf(s.opt.Err, format+"\n", args...)
	}
}

// rowLimit returns the row limit of a scan without limit=; 0 means all. By default only
// output to the screen has a limit.
func (s *Session) rowLimit() int {
	switch {
	case s.limit != nil:
		return *s.limit
	case s.out.terminal:
		return terminalLimit
	}
	return 0
}

// width returns the width of the output in columns; 0 means no bound.
func (s *Session) width() int {
	if !s.out.terminal || s.opt.Width == nil {
		return 0
	}
	return s.opt.Width()
}

func elapsed(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%dus", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.1fs", d.Seconds())
}
