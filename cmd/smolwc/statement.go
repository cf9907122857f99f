package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/ql/lex"
	"github.com/smolwc/smolwc/shell"
)

// A statementRun is a statement of the language as a command.
type statementRun struct {
	*command
	// words returns the words of the statement; omitted options are "".
	words func(args []string) []string
	// needs says what the statement needs of the database.
	needs func(args []string) need
	// format is the format of results; "" is the shell's default.
	format string
	// remote names a server that runs the statement on its database.
	remote remoteFlags
	// word may precede the argument, as in the statement.
	word string
}

type need int

const (
	needsWriter  need = iota // the database, for writing
	needsTables              // like needsWriter, with the tables that the configuration declares
	needsReader              // the database, for reading
	needsNothing             // no database
)

// make makes a command with least to most arguments, inclusive.
func (r *statementRun) make(cmd *cobra.Command, least, most int) *cobra.Command {
	cmd.Args = func(_ *cobra.Command, args []string) error {
		args = r.arguments(args)
		if len(args) < least || len(args) > most {
			return fmt.Errorf("%s takes %s, and got %d", cmd.Name(), strings.TrimPrefix(cmd.Use, cmd.Name()+" "), len(args))
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return r.run(cmd, r.arguments(args)) }
	return cmd
}

// arguments returns a command's arguments without the optional word before them.
func (r *statementRun) arguments(args []string) []string {
	if len(args) == 2 && r.word != "" && args[0] == r.word {
		return args[1:]
	}
	return args
}

// makeServed makes a command that a server can run on its database.
func (r *statementRun) makeServed(cmd *cobra.Command, least, most int) *cobra.Command {
	r.remote.add(cmd)
	return r.make(cmd, least, most)
}

func (r *statementRun) run(cmd *cobra.Command, args []string) (err error) {
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	if r.format != "" {
		if err := shell.CheckFormat(r.format); err != nil {
			return fail(exitUsage, err)
		}
	}
	if err := r.remote.check(r.command); err != nil {
		return fail(exitUsage, err)
	}
	if r.remote.addr != "" {
		client, err := r.remote.connect(ctx, r.command)
		if err != nil {
			return err
		}
		defer func() { _ = client.Close() }() // no call is running
		o := r.options(nil)
		o.Remote = remote{client}
		return r.statement(ctx, o, args)
	}
	db, err := r.database(ctx, r.needs(args))
	if query.KindOf(err) == query.KindBusy && cmd.Flags().Lookup("addr") != nil {
		err = fail(exitOpen, fmt.Errorf("%w; %s", err, shell.Served(typed(cmd, args)...)))
	}
	if err != nil {
		return err
	}
	defer closing(db, &err)
	return r.statement(ctx, r.options(db), args)
}

// typed returns a command for a server on this machine: with absolute paths.
func typed(cmd *cobra.Command, args []string) []string {
	words := []string{cmd.Name()}
	for _, a := range args {
		if abs, err := filepath.Abs(a); err == nil && !strings.Contains(a, "://") {
			a = abs
		}
		words = append(words, a)
	}
	return words
}

// statement runs the statement.
func (r *statementRun) statement(ctx context.Context, o shell.Options, args []string) (err error) {
	o.Format = r.format
	s := shell.New(o)
	var words []string
	for _, w := range r.words(args) {
		if w != "" {
			words = append(words, w)
		}
	}
	err = s.RunStatement(ctx, strings.Join(words, " "))
	if closeErr := s.Close(); err == nil {
		err = closeErr
	}
	if code := shell.ExitCode(err); code != 0 {
		return &failure{code: code}
	}
	return nil
}

// database opens the database that a statement needs, or an empty one in memory if it
// needs none.
func (r *statementRun) database(ctx context.Context, n need) (*query.DB, error) {
	if err := wantEngine(); err != nil {
		return nil, err
	}
	if n == needsNothing {
		db, err := query.OpenInMemory(query.Options{})
		return db, fail(exitOpen, err)
	}
	cfg, err := r.load()
	if err != nil {
		return nil, err
	}
	if n == needsTables {
		return r.openDeclared(ctx, cfg, query.Options{MustExist: cfg.Schema == nil})
	}
	return r.open(cfg, query.Options{MustExist: true, ReadOnly: n == needsReader})
}

// optionWord returns a word of a statement, or "" if the value is empty.
func optionWord(name, value string) string {
	if value == "" {
		return ""
	}
	return name + value
}

// quoted returns a word of a statement with a quoted value, or "" if the value is
// empty.
func quoted(name, value string) string {
	if value == "" {
		return ""
	}
	return name + lex.QuoteText(value)
}

func flagWord(name string, on bool) string {
	if on {
		return name
	}
	return ""
}

// numberWord returns a number as a word of a statement, or "" for 0.
func numberWord(name string, n int) string {
	if n == 0 {
		return ""
	}
	return name + strconv.Itoa(n)
}
