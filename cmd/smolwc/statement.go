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
	// words are those of the statement, optional ones empty.
	words func(args []string) []string
	// needs says what the statement needs of the database.
	needs func(args []string) need
	// format is that of results; "" is the shell's.
	format string
	// remote is a server that runs the statement on its database.
	remote remoteFlags
	// word may stand before the argument, as it does in the statement.
	word string
}

type need int

const (
	needsWriter  need = iota // the database, for writing
	needsTables              // the same, with the tables that the configuration declares
	needsReader              // the database, for reading
	needsNothing             // no database
)

// command makes a command that takes from least to most arguments.
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

// arguments are those of a command without the word before them.
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
		defer func() { _ = client.Close() }() // nothing is under way
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

// typed is a command as a server on this machine runs it: with absolute paths.
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

// database opens the database that a statement needs, or an empty one in memory
// when it needs none.
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

// optionWord is a word of a statement, "" when the value is empty.
func optionWord(name, value string) string {
	if value == "" {
		return ""
	}
	return name + value
}

// quoted is a word of a statement with a value of any text, "" when the value is empty.
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

// numberWord is a number as a word of a statement, "" for 0.
func numberWord(name string, n int) string {
	if n == 0 {
		return ""
	}
	return name + strconv.Itoa(n)
}
