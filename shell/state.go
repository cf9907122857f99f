package shell

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/archive/moments"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/shell/internal/tty"
)

// Options configure a session. Either DB or Remote must be set; see [Streams] for the
// rest.
type Options struct {
	DB *query.DB
	// Remote is the database if it is reached over the network.
	Remote   Remote
	ReadOnly bool      // DB takes no writes
	In       io.Reader // nil: empty
	Out      io.Writer // results; nil: discarded
	Err      io.Writer // errors, hints, timing, progress; nil: discarded

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

	// Patient says that tables wait for their first 100 rows to fit the columns to them.
	// Otherwise rows that are there are shown after some 200 ms.
	Patient bool

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

// An operator makes backups of a database: [moments.Local], which documents the
// methods, or a server.
type operator interface {
	BackUp(ctx context.Context, target string, o archive.BackupOptions) (archive.BackupResult, error)
	ListBackups(ctx context.Context, target string) ([]archive.Generation, error)
	VerifyBackups(ctx context.Context, target string, o archive.Options) (archive.VerifyReport, error)
	Moments(ctx context.Context, target string) (moments.Report, error)
	VerifyMoments(ctx context.Context, target string, o moments.VerifyOptions) (moments.Report, error)
	RestoreTable(ctx context.Context, target string, t moments.TableRestore, o moments.RestoreOptions) (moments.Restored, error)
	Checkpoint(ctx context.Context, dir string) error
}

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

// rowLimit returns the row limit of a scan without limit=; 0 means all. By default only
// output to the screen is limited.
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

// terminalLimit is the number of rows that a scan without limit= shows on a terminal.
const terminalLimit = 100

// Left reports whether a quit ended the session.
func (s *Session) Left() bool { return s != nil && s.left }

func (s *Session) tableNames() []string {
	return namesOf(s.runner.Database().Schema())
}

func (s *Session) lookUp(name string) (schema.Table, error) {
	known := s.runner.Database().Schema()
	if t, ok := known.Table(name); ok {
		return *t, nil
	}
	return schema.Table{}, fmt.Errorf("unknown table %s%s", lex.QuoteText(name), schema.DidYouMean(name, s.tableNames()))
}

// Stdin is the name of a script that is read from the session's In.
const Stdin = "stdin"

func (s *Session) allFamilies() (names []string) {
	for _, t := range s.runner.Database().Schema().Tables {
		names = append(names, s.families(t.Name)...)
	}
	return names
}

func namesOf(s *schema.Schema) (names []string) {
	for _, t := range s.Tables {
		names = append(names, t.Name)
	}
	return names
}

func (s *Session) families(table string) []string {
	var names []string
	if t, ok := s.runner.Database().Schema().Table(table); ok {
		for _, f := range t.Families {
			names = append(names, f.Name)
		}
	}
	return names
}
