package shell

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/schema"
)

// A dotCommand is a session command. It is not part of the language.
type dotCommand struct {
	name string
	also []string // psql's spellings and short ones
	args string
	help string
	run  func(s *Session, ctx context.Context, arg string) error
}

// dotCommands is set by init: .help refers to it.
var dotCommands []dotCommand

func init() {
	dotCommands = []dotCommand{
		{".help", []string{".h", `\?`}, "[TOPIC]", "this list; help lists the statements, and .help TOPIC is help TOPIC", (*Session).dotHelp},
		{".tables", []string{`\d`, `\dt`}, "", "the tables and views", (*Session).dotTables},
		{".schema", nil, "[T]", `statements that make the table, or all tables; \d T describes it`, (*Session).dotSchema},
		{".use", []string{`\c`}, "[T]", "the table for statements that leave it out", (*Session).dotUse},
		{".mode", nil, "[FORMAT]", "how rows are shown: " + strings.Join(Formats, " "), (*Session).dotMode},
		{".limit", nil, "[N]", "how many rows a scan without limit= shows; 0: all", (*Session).dotLimit},
		{".versions", nil, "[N|all]", "how many versions get and scan without versions= show", (*Session).dotVersions},
		{".next", nil, "", "the rows after those that the last scan showed", (*Session).dotNext},
		{".timezone", nil, "[ZONE|local]", "the zone of times, as in Europe/Oslo: of those shown, and of those typed without one", (*Session).dotTimezone},
		{".timing", []string{`\timing`}, "[on|off]", "say how long statements take", toggle(func(s *Session) *bool { return &s.opt.Timing })},
		{".stats", nil, "[on|off]", "say what each get, scan and count cost; alone: the statistics of the database", (*Session).dotStats},
		{".output", []string{`\o`}, "[FILE | '|' COMMAND]", "where results go; alone: back here", (*Session).dotOutput},
		{".once", nil, "FILE | '|' COMMAND", "where the results of the next statement go", (*Session).dotOnce},
		{".read", []string{`\i`}, "FILE", "run a script", (*Session).dotRead},
		{".bail", nil, "[on|off]", "stop scripts at the first error", toggle(func(s *Session) *bool { return &s.bail })},
		{".echo", nil, "[on|off]", "print statements before they run", toggle(func(s *Session) *bool { return &s.echo })},
		{".pager", nil, "[on|off|auto]", "show results through the pager; auto: those longer than the screen", (*Session).dotPager},
		{".color", nil, "[on|off|auto]", "mark keys, families and errors; auto: on a terminal", (*Session).dotColor},
		{".history", []string{`\s`}, "[N]", "the last statements typed", (*Session).dotHistory},
		{".open", nil, "DIR", "close the database and open another", (*Session).dotOpen},
		{".tour", nil, "", "the first statements to know, one by one, on a table that goes again", (*Session).dotTour},
		{".version", nil, "", "the version of smolwc", (*Session).dotVersion},
		{".quit", []string{`\q`, ".exit"}, "", "leave (also Ctrl-D)", func(s *Session, _ context.Context, _ string) error { s.left = true; return nil }},
	}
}

// command runs a session command; its errors have the place of the line.
func (s *Session) command(ctx context.Context, src lex.Source) error {
	word, arg := splitCommand(src.Text)
	err := s.dispatch(ctx, word, arg)
	if err == nil {
		err = s.out.flush()
	}
	return at(src.Pos, err)
}

// splitCommand returns a command's name and its argument. A final semicolon, which
// users type from habit, is dropped.
func splitCommand(text string) (word, arg string) {
	word = text
	if n := strings.IndexAny(text, " \t"); n >= 0 {
		word, arg = text[:n], text[n:]
	}
	if !strings.HasPrefix(strings.TrimSpace(arg), "|") { // a command's semicolons are its own
		arg = strings.TrimSuffix(strings.TrimSpace(arg), ";")
	}
	return strings.ToLower(strings.TrimSuffix(word, ";")), strings.TrimSpace(arg)
}

func (s *Session) dispatch(ctx context.Context, word, arg string) error {
	switch {
	case word == `\x`: // psql: expanded display
		return s.toggleLine()
	case word == `\d` && arg != "":
		return s.run(ctx, &ql.Describe{Table: ql.Name{Text: arg}})
	}
	if c := findCommand(word); c != nil {
		if c.args == "" && arg != "" {
			return fmt.Errorf("%s takes no argument, and got %s", word, lex.QuoteText(arg))
		}
		return c.run(s, ctx, arg)
	}
	if instead := insteadOf(word); instead != "" {
		return fmt.Errorf("there is no command %s; %s", lex.QuoteText(word), instead)
	}
	var names []string
	for _, c := range dotCommands {
		names = append(append(names, c.name), c.also...)
	}
	return fmt.Errorf("there is no command %s%s; .help lists them", lex.QuoteText(word), schema.DidYouMean(word, names))
}

func findCommand(word string) *dotCommand {
	for i, c := range dotCommands {
		if c.name == word || slices.Contains(c.also, word) {
			return &dotCommands[i]
		}
	}
	return nil
}

func (s *Session) dotHelp(ctx context.Context, topic string) error {
	if topic != "" {
		return s.run(ctx, &ql.Help{Topic: topic})
	}
	for _, c := range dotCommands {
		spelling := strings.TrimSpace(c.name + " " + c.args)
		if len(c.also) > 0 {
			spelling += " (" + strings.Join(c.also, " ") + ")"
		}
		s.say("  %-34s %s", spelling, c.help)
	}
	return nil
}

func (s *Session) dotTables(ctx context.Context, _ string) error {
	return s.run(ctx, &ql.Tables{})
}

func (s *Session) dotSchema(_ context.Context, arg string) error {
	tables := s.runner.Database().Schema().Tables
	if arg == "" && s.table != "" {
		arg = s.table
	}
	if arg != "" {
		t, err := s.lookUp(arg)
		if err != nil {
			return err
		}
		tables = []schema.Table{t}
	}
	for _, t := range tables {
		s.out.WriteString(ql.CreateStatement(t))
	}
	return nil
}

func (s *Session) dotUse(_ context.Context, arg string) error {
	if arg == "" {
		s.table = ""
		return nil
	}
	t, err := s.lookUp(arg)
	if err == nil {
		s.table = t.Name
	}
	return err
}

func (s *Session) dotMode(_ context.Context, arg string) error {
	if arg == "" {
		return s.say("%s", s.format)
	}
	arg = strings.ToLower(arg)
	if instead, ok := otherModes[arg]; ok {
		return fmt.Errorf("there is no mode %s; .mode %s is the nearest", lex.QuoteText(arg), instead)
	}
	err := CheckFormat(arg)
	if err == nil {
		s.format = arg
	}
	return err
}

func (s *Session) toggleLine() error {
	if s.format == "line" {
		s.format = "table"
	} else {
		s.format = "line"
	}
	return nil
}

func (s *Session) dotLimit(_ context.Context, arg string) error {
	if arg == "" {
		return s.say("%d", s.rowLimit())
	}
	n, err := strconv.Atoi(arg)
	if err != nil || n < 0 {
		return fmt.Errorf("expected a number of rows, or 0 for all, not %s", lex.QuoteText(arg))
	}
	s.limit = &n
	return nil
}

func (s *Session) dotVersions(_ context.Context, arg string) error {
	n, err := strconv.Atoi(arg)
	switch {
	case arg == "" && s.runner.Versions == ql.Unlimited:
		return s.say("all")
	case arg == "":
		return s.say("%d", max(1, s.runner.Versions))
	case strings.EqualFold(arg, "all"):
		n = ql.Unlimited
	case err != nil || n < 1:
		return fmt.Errorf("expected a number of versions, or all, not %s", lex.QuoteText(arg))
	}
	s.runner.Versions = n
	return nil
}

func (s *Session) dotNext(ctx context.Context, _ string) error {
	if s.next == nil {
		return errors.New("there is no scan to continue")
	}
	return s.run(ctx, s.next)
}

// toggle switches a setting on or off, or shows it.
func toggle(setting func(*Session) *bool) func(*Session, context.Context, string) error {
	return func(s *Session, _ context.Context, arg string) error {
		switch strings.ToLower(arg) {
		case "":
			return s.say("%s", map[bool]string{true: "on", false: "off"}[*setting(s)])
		case "on", "off":
			*setting(s) = strings.EqualFold(arg, "on")
			return nil
		}
		return fmt.Errorf("expected on or off, not %s", lex.QuoteText(arg))
	}
}

func (s *Session) dotVersion(_ context.Context, _ string) error {
	return s.say("smolwc %s", s.opt.Version)
}
