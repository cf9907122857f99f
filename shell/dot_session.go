package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/smolwc/smolwc/internal/osfile"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/shell/internal/tty"
)

func (s *Session) dotStats(ctx context.Context, arg string) error {
	if arg == "" {
		return s.exec(ctx, lex.Source{Text: "stats", Pos: lex.Pos{Line: 1, Col: 1}})
	}
	return toggle(func(s *Session) *bool { return &s.opt.Stats })(s, ctx, arg)
}

// dotTimezone sets the zone of times. Formats for programs have microseconds, which are
// of no zone, and statements of SQL have functions with zones.
func (s *Session) dotTimezone(_ context.Context, arg string) error {
	if arg == "" {
		if s.runner.Zone == nil {
			return s.say("UTC")
		}
		return s.say("%s", s.runner.Zone)
	}
	zone, err := zoneOf(arg)
	if err == nil {
		s.runner.Zone = zone
	}
	return err
}

// zoneOf is the zone of a name; nil is UTC.
func zoneOf(name string) (*time.Location, error) {
	switch {
	case strings.EqualFold(name, "utc") || strings.EqualFold(name, "z"):
		return nil, nil
	case strings.EqualFold(name, "local"):
		return time.Local, nil
	}
	if at, err := time.Parse("-07:00", name); err == nil {
		_, offset := at.Zone()
		return time.FixedZone(name, offset), nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("there is no time zone %s; write a name, as in Europe/Oslo, an offset, as in +02:00, local or UTC", lex.QuoteText(lex.Clip(name)))
	}
	return zone, nil
}

func (s *Session) dotPager(_ context.Context, arg string) error {
	if s.pager.Height == nil {
		return errors.New("only a session at a terminal has a pager")
	}
	if arg == "" {
		return s.say("%s", s.pager.Mode)
	}
	mode, err := oneOf(arg, tty.On, tty.Off, tty.Auto)
	if err != nil {
		return err
	}
	if s.pager.Command == "" && mode != tty.Off {
		return errors.New("there is no pager: $SMOLWC_PAGER or $PAGER is cat, or $TERM is dumb")
	}
	s.pager.Mode = mode
	return nil
}

func (s *Session) dotColor(_ context.Context, arg string) error {
	if arg == "" {
		return s.say("%s", s.color)
	}
	mode, err := oneOf(arg, colorOn, colorOff, colorAuto)
	if err == nil {
		s.color = mode
	}
	return err
}

func (s *Session) dotHistory(_ context.Context, arg string) error {
	if s.lines == nil {
		return errors.New("only a session at a terminal has a history")
	}
	lines := s.lines()
	if arg != "" {
		n, err := strconv.Atoi(arg)
		if err != nil || n < 1 {
			return fmt.Errorf("expected a number of lines, not %s", lex.QuoteText(arg))
		}
		lines = lines[max(0, len(lines)-n):]
	}
	for _, line := range lines {
		s.say("%s", lex.Escape(line))
	}
	return nil
}

// dotOpen opens another database and closes the previous one; if the open fails, the
// session keeps the previous database.
func (s *Session) dotOpen(ctx context.Context, arg string) error {
	dir := fileName(arg)
	switch {
	case s.opt.Open == nil:
		return errors.New("this session cannot open another database")
	case dir == "":
		return errors.New("expected the directory of a database, or its URL")
	case s.runner.InBatch():
		return errors.New("a batch is open; commit or abort it first")
	}
	db, err := s.opt.Open(ctx, dir)
	if err != nil {
		return err
	}
	before := s.opened
	s.db, s.opened, s.runner.DB = db, db, db
	s.table, s.next = "", nil
	clear(s.seen)
	if before != nil {
		return before.Close()
	}
	if s.opt.DB != nil {
		return s.opt.DB.Close() // closing it again later does nothing
	}
	return nil
}

// tour is the statements of .tour, with their explanations.
var tour = [][2]string{
	{"A table has families of columns, which are declared. Here one keeps three versions, and one has a type.", "create table tour family meta, family delay type=i32 versions=3"},
	{"A row has a key and any columns of the families: qualifiers need no declaration.", `put tour plane#TF-FIR meta:model="757-256" meta:miles=51000000`},
	{"Each cell has a time. Keys that begin alike lie side by side.", "put tour flight#TF-FIR#FI318 delay:dep=7@2024-01-25 delay:dep=180@2024-01-26"},
	{"A row, in all its versions.", "get tour flight#TF-FIR#FI318 versions=all"},
	{"Rows by a prefix of their keys, or by a condition on a column.", "scan tour where meta:miles > 1000000 or delay:dep exists"},
	{"Figures of groups of rows.", "aggregate tour count, max(delay:dep) group by key-part(1)"},
	{"A change of all rows that satisfy a condition counts them first, and asks: type yes.", "put tour meta:late=true where delay:dep >= 120"},
	{"What loses data asks too. A dropped table can be brought back for a while, by undelete.", "drop table tour"},
}

const tourEnded = "the tour has ended; a table tour that is left goes by drop table tour"

// dotTour shows statements and runs each one on Enter. They are statements like others:
// a failure ends the tour.
func (s *Session) dotTour(ctx context.Context, _ string) error {
	if s.ask == nil {
		return errors.New("the tour needs a terminal")
	}
	for i, step := range tour {
		s.say("\n%s\n  %s", step[0], step[1])
		if err := s.out.flush(); err != nil {
			return err
		}
		answer, err := s.ask(ctx, fmt.Sprintf("(%d of %d) Enter runs it, q ends the tour: ", i+1, len(tour)))
		if err != nil || answer != "" {
			return s.say(tourEnded)
		}
		if err := s.exec(ctx, lex.Source{Text: step[1], Pos: lex.Pos{Line: 1, Col: 1}}); err != nil {
			return errors.Join(s.say(tourEnded), err)
		}
	}
	return s.say("\nThat was the tour. help lists all statements, and help scan explains one.")
}

func (s *Session) dotRead(ctx context.Context, arg string) error {
	name := fileName(arg)
	if name == "" {
		return errors.New("expected the name of a file")
	}
	if s.depth == maxReads {
		return fmt.Errorf("%d scripts read each other; stopped", maxReads)
	}
	f, err := osfile.Open(ctx, filepath.Clean(name), os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	s.depth++
	defer func() { s.depth-- }()
	if err := s.RunScript(ctx, name, osfile.Reader(ctx, f)); err != nil {
		return fmt.Errorf("%w: %w", err, errReported)
	}
	return nil
}

// maxReads is the maximum nesting depth of .read.
const maxReads = 20
