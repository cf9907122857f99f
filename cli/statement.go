package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/client/remote"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/plumbing"
	"github.com/smolwc/smolwc/shell"
)

// A statementRun is a statement of the language as a command.
type statementRun struct {
	*command
	// words returns the words of the statement up to its options; "" stands for nothing.
	words func(args []string) []string
	// needs says what the statement needs of the database.
	needs func(args []string) need
	// options return the options that the flags give, each as a word of the statement.
	options []func() string
	// format is the format of results; "" is the shell's default.
	format string
	// remote names a server that runs the statement on its database.
	remote remoteFlags
	// copies says that the statement only copies the files of the database: a stopped standby's too.
	copies bool
	// here says that the files of the statement are this process's, with a server too.
	here bool
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
		if len(args) == most+1 && (args[0] == "to" || args[0] == "in") { // as in version 0.1
			return fmt.Errorf("%s takes %s alone: leave out %q", cmd.Name(), strings.TrimPrefix(cmd.Use, cmd.Name()+" "), args[0])
		}
		if len(args) < least || len(args) > most {
			return fmt.Errorf("%s takes %s, and got %d", cmd.Name(), strings.TrimPrefix(cmd.Use, cmd.Name()+" "), len(args))
		}
		return nil
	}
	cmd.RunE = r.run
	return cmd
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
		o := r.command.options(nil)
		o.Remote = remote.Database{Client: client}
		return r.statement(ctx, o, args)
	}
	db, err := r.database(ctx, r.needs(args))
	if query.KindOf(err) == query.KindBusy && cmd.Flags().Lookup("addr") != nil {
		hint := "if smolwc serve has it open, --addr writes through the server"
		if !r.here {
			hint = shell.Served(typed(cmd, args)...)
		}
		err = fail(exitOpen, fmt.Errorf("%w; %s", err, hint))
	}
	if err != nil {
		return err
	}
	defer closing(db, &err)
	return r.statement(ctx, r.command.options(db), args)
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

func (r *statementRun) statement(ctx context.Context, o shell.Options, args []string) (err error) {
	o.Format = r.format
	s := shell.New(o)
	words := r.words(args)
	for _, option := range r.options {
		words = append(words, option())
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
	if n == needsNothing {
		db, err := query.OpenInMemory(query.Options{})
		return db, fail(exitOpen, err)
	}
	cfg, err := r.load(ctx)
	if err != nil {
		return nil, err
	}
	if n == needsTables {
		return r.openDeclared(ctx, cfg, query.Options{MustExist: !declares(cfg)})
	}
	if _, err := os.Stat(filepath.Join(cfg.DataDir, plumbing.StandbyFile)); err == nil && r.copies {
		return r.openStopped(ctx, cfg)
	}
	return r.open(ctx, cfg, query.Options{MustExist: true, ReadOnly: n == needsReader})
}

// value adds a flag whose value the statement takes after a word, such as "limit=".
func (r *statementRun) value(cmd *cobra.Command, flag, word, usage string) *string {
	v := cmd.Flags().String(flag, "", usage)
	r.options = append(r.options, func() string { return after(word, *v) })
	return v
}

// text adds a flag like value, but the statement takes the value in quotes.
func (r *statementRun) text(cmd *cobra.Command, flag, word, usage string) *string {
	v := cmd.Flags().String(flag, "", usage)
	r.options = append(r.options, func() string { return quoted(word, *v) })
	return v
}

// number adds a flag like value for a number.
func (r *statementRun) number(cmd *cobra.Command, flag, usage string) {
	n := cmd.Flags().Int(flag, 0, usage)
	r.options = append(r.options, func() string {
		if *n == 0 {
			return ""
		}
		return flag + "=" + strconv.Itoa(*n)
	})
}

// on adds a flag that is a word of the statement.
func (r *statementRun) on(cmd *cobra.Command, flag, usage string) *bool {
	on := cmd.Flags().Bool(flag, false, usage)
	r.options = append(r.options, func() string {
		if *on {
			return flag
		}
		return ""
	})
	return on
}

// travelling adds the flags for the transfer of files.
func (r *statementRun) travelling(cmd *cobra.Command) {
	r.value(cmd, "parallel", "parallel=", "transfer `N` files at once (default 4)")
	r.value(cmd, "rate", "rate=", "transfer at most `SIZE` a second, such as 50MB")
}

// after returns the value after a word, or "" if it is empty.
func after(word, value string) string {
	if value == "" {
		return ""
	}
	return word + value
}

// quoted returns the value in quotes after a word, or "" if it is empty.
func quoted(word, value string) string {
	if value == "" {
		return ""
	}
	return word + lex.QuoteText(value)
}

func (c *command) importCommand() *cobra.Command {
	r := &statementRun{command: c, here: true}
	r.words = func(args []string) []string {
		return []string{"import", lex.QuoteName(args[0]), "from", lex.QuoteText(args[1])}
	}
	cmd := r.makeServed(&cobra.Command{
		Use:   "import TABLE FILE",
		Short: "Load a CSV, TSV, JSON lines or Parquet file into a table",
		Long: `import loads FILE (.csv, .tsv, .jsonl or .ndjson, also with .gz or .zst, or .parquet) into
TABLE, as a whole or not at all; FILE may be a pattern, as 'flights-*.csv'. Without --key
and --columns it is a file that export or scan as jsonl wrote, or CSV with a field key and
columns, and for any other file the error has the statement to type. A file of more than 10,000 rows is imported
only once unless --again is given, and is refused if it would overlap existing cells
unless --overlap is given. It is the import statement of the shell; "help import"
there says more.

With --addr it writes the rows to a running smolwc serve, in batches.`,
		Example: `  smolwc import fleet planes.csv.gz --key 'plane#{tailnum}' --columns meta:model=model,meta:seats=seats:i32 --na NA`,
	}, 2, 2)
	r.text(cmd, "key", "key=", "make row keys of `TEMPLATE`, such as 'flight#{tailnum}#{year}-{month:02}'")
	r.value(cmd, "columns", "columns=", "make columns of the fields in `LIST`, FAM:QUAL=FIELD[:TYPE] with commas between")
	r.text(cmd, "ts", "ts=", "take the cells' timestamps from `FIELD`")
	r.text(cmd, "na", "na=", "treat a field that equals `TEXT` like an empty one: it makes no cell")
	r.on(cmd, "keep-empty", "let a field with the empty text make a cell, in columns of text or bytes")
	r.text(cmd, "sep", "sep=", "the fields have `TEXT` between them, such as ; or tab (default what the file shows)")
	r.text(cmd, "quote", "quote=", "fields are quoted with `CHAR`, or none (default what the file shows)")
	r.on(cmd, "header", "the first line names the fields (default what the file shows)")
	r.on(cmd, "no-header", "the first line is data: the fields are column1, column2 and so on")
	r.number(cmd, "skip", "pass over `N` lines before the header (default what the file shows)")
	r.text(cmd, "comment", "comment=", "pass over lines that begin with `TEXT`, or none (default what the file shows)")
	r.text(cmd, "decimal", "decimal=", "numbers have `CHAR`, a comma or a point, before their fraction (default what the file shows)")
	r.on(cmd, "ragged", "let lines have fewer fields than the header")
	r.value(cmd, "encoding", "encoding=", "the text is in `NAME`: utf-8, utf-16le, utf-16be, latin-1 or windows-1252")
	r.text(cmd, "bad", "bad=", "keep the bad lines in the new `FILE`; without --bad-lines leave out any number of them")
	r.number(cmd, "bad-lines", "leave out up to `N` bad lines")
	r.number(cmd, "batch", "write the rows `N` at a time, and not all at once")
	r.value(cmd, "as", "as ", "read csv, tsv, jsonl or parquet, whatever the file is called; FILE - is standard input")
	dryRun := r.on(cmd, "dry-run", "write nothing; show the columns and what types their values fit, or without --key and --columns the fields")
	r.on(cmd, "again", "import a large file that was imported before, too")
	r.on(cmd, "overlap", "let a large file replace cells, and add newer versions of existing ones")
	r.needs = func([]string) need {
		if *dryRun {
			return needsWriter
		}
		return needsTables
	}
	cmd.MarkFlagsRequiredTogether("key", "columns")
	return cmd
}
