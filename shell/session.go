package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"golang.org/x/term"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/ql"
)

// Options configure a session. DB must be set; see [Std] for the rest.
type Options struct {
	DB  *query.DB
	In  io.Reader // nil: empty
	Out io.Writer // nil: nowhere; results
	Err io.Writer // nil: nowhere; errors, hints, timing, progress

	// Interactive says that In and Out are the process's terminal, so that
	// [Session.Run] prompts.
	Interactive bool
	// Terminal says that Out is a terminal: the default format is table, cut
	// to its width, and scans show 100 rows if they do not say.
	Terminal bool
	// ErrTerminal says that Err is a terminal, for progress bars.
	ErrTerminal bool
	// Width is the terminal's width in columns; nil or 0 is no bound.
	Width func() int

	Format    string // one of Formats; "": table on a terminal, else jsonl
	Table     string // in use, so that statements may leave it out
	KeepGoing bool   // scripts go on after an error
	MustExist bool   // a get that finds nothing is ErrNothingFound
	Quiet     bool   // no messages, no hints
	Timing    bool   // say how long statements take
	History   string // file; "": HistoryFile()
	Version   string // for .version
}

// Std are the options of a session on the process's standard streams.
func Std(db *query.DB) Options {
	in, out := term.IsTerminal(int(os.Stdin.Fd())), term.IsTerminal(int(os.Stdout.Fd()))
	return Options{
		DB: db, In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Interactive: in && out, Terminal: out, ErrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		Width: func() int {
			width, _, err := term.GetSize(int(os.Stdout.Fd()))
			if err != nil {
				return 0
			}
			return width
		},
	}
}

// Formats are the names of the output formats.
var Formats = ql.Formats

// CheckFormat returns an error that lists the formats when name is not one.
func CheckFormat(name string) error {
	if !slices.Contains(Formats, name) {
		return fmt.Errorf("unknown format %s; the formats are %s", ql.QuoteText(name), joinWords(Formats))
	}
	return nil
}

// terminalLimit is how many rows a scan shows on a terminal if it does not say.
const terminalLimit = 100

// A Session runs statements and session commands one after another. It is not
// safe for use by several goroutines at once.
type Session struct {
	db     *query.DB
	opt    Options
	runner ql.Runner
	out    *output
	format string
	table  string   // in use; "": none
	next   *ql.Scan // what .next runs; nil: nothing
	left   bool
	hinted bool // a native spelling was shown once
	depth  int  // of .read
	prompt func(question string) (string, error)
	lines  func() []string // history; nil: none
}

// New returns a session. Close it when done.
func New(o Options) *Session {
	if o.In == nil {
		o.In = eofReader{}
	}
	if o.Out == nil {
		o.Out = io.Discard
	}
	if o.Err == nil {
		o.Err = io.Discard
	}
	s := &Session{db: o.DB, opt: o, table: o.Table, runner: ql.Runner{DB: o.DB}}
	s.out = newOutput(o.Out, o.Terminal)
	s.format = cmp.Or(o.Format, "jsonl")
	if o.Terminal {
		s.format = cmp.Or(o.Format, "table")
		s.runner.Limit = terminalLimit
	}
	s.runner.Import = s.importFile
	return s
}

type eofReader struct{}

func (eofReader) Read([]byte) (int, error) { return 0, io.EOF }

// Close writes out what is buffered and closes the file of .output. A batch that
// is still open is an error, which is written to Err; nothing of it is written
// to the database.
func (s *Session) Close() error {
	open := s.runner.DropBatch()
	if open != nil {
		s.report("", open)
	}
	return errors.Join(s.redirect(""), open)
}

// Left reports whether a quit ended the session.
func (s *Session) Left() bool { return s.left }

// Run prompts if the session is interactive, and else runs In as a script.
func (s *Session) Run(ctx context.Context) error {
	if s.opt.Interactive {
		return s.Interactive(ctx)
	}
	return s.RunScript(ctx, "stdin", s.opt.In)
}

// The errors of a session that are not those of a statement.
var (
	// ErrNothingFound is what a get gives that had to find a row.
	ErrNothingFound = errors.New("no such row")
	// ErrOutputClosed says that nobody reads the output any more, as in `| head`.
	ErrOutputClosed = errors.New("output is closed")
	// ErrFailed says that statements of a script failed that was to keep going.
	ErrFailed = errors.New("statements failed")
)

// ExitCode is the process's exit code for what a session returned: 0 for nil
// and a closed output, 4 for ErrNothingFound, 130 for a cancelled context, else 1.
func ExitCode(err error) int {
	switch {
	case err == nil, errors.Is(err, ErrOutputClosed):
		return 0
	case errors.Is(err, ErrNothingFound):
		return 4
	case errors.Is(err, context.Canceled):
		return 130
	}
	return 1
}

// note writes a line for people to Err.
func (s *Session) note(format string, args ...any) {
	if !s.opt.Quiet {
		s.out.flush()
		fmt.Fprintf(s.opt.Err, format+"\n", args...)
	}
}

// width is the width to fit, 0 for no bound.
func (s *Session) width() int {
	if !s.out.terminal || s.opt.Width == nil {
		return 0
	}
	return s.opt.Width()
}

// elapsed is a duration as people read it.
func elapsed(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%dus", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.1fs", d.Seconds())
}
