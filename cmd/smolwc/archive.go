package main

import (
	"context"
	"fmt"
	"path/filepath"
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
	needsWriter  need = iota
	needsTables       // to write it, with the tables that the configuration declares
	needsReader       // to read it
	needsNothing      // its arguments say everything
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

// A travelling is the flags that the commands that send files share.
type travelling struct {
	parallel, rate string
}

func (t *travelling) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.parallel, "parallel", "", "send `N` files at once (default 4)")
	cmd.Flags().StringVar(&t.rate, "rate", "", "send at most `SIZE` a second, such as 50MB")
}

func (t *travelling) words() []string {
	return []string{optionWord("parallel=", t.parallel), optionWord("rate=", t.rate)}
}

const targets = `A target is a directory, or s3://BUCKET/PREFIX with ?endpoint=URL for a server that
is not Amazon's and ?region=NAME; access keys are those of AWS_ACCESS_KEY_ID and
AWS_SECRET_ACCESS_KEY, of AWS's files, or with ?credentials=instance of a machine's role.`

func (c *command) backupCommand() *cobra.Command {
	var keep string
	var t travelling
	r := &statementRun{command: c, word: "to", needs: func([]string) need { return needsWriter }}
	r.words = func(args []string) []string {
		return append([]string{"backup", quoted("to ", first(args)), optionWord("keep=", keep)}, t.words()...)
	}
	cmd := r.makeServed(&cobra.Command{
		Use:   "backup [TARGET]",
		Short: "Back the database up",
		Long: `backup sends the files of the database, as of one moment, to TARGET, or to where
the last backup went. Files that an earlier backup has are not sent again, and what
an interrupted backup has sent neither.

` + targets + `

A database that a process has open is backed up by that process: in a shell with
the statement backup, and by smolwc serve with --addr. Then TARGET is as the server
sees it, with its access keys, and its --backup-to has to allow it.`,
		Example: "  smolwc backup /backups/fleet --keep 7\n  smolwc --addr localhost:8086 backup /backups/fleet\n  smolwc backup 's3://backups/fleet?endpoint=http://127.0.0.1:7070'",
	}, 0, 1)
	cmd.AddCommand(c.unlockCommand())
	cmd.Flags().StringVar(&keep, "keep", "", "prune all but the newest `N` backups")
	t.flags(cmd)
	return cmd
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// needsTarget is the need of a command whose target may be left out: it then
// reads the last one from the database.
func needsTarget(args []string) need {
	if len(args) > 0 {
		return needsNothing
	}
	return needsReader
}

func (c *command) backupsCommand() *cobra.Command {
	r := &statementRun{command: c, word: "in", needs: needsTarget}
	r.words = func(args []string) []string { return []string{"backups", quoted("in ", first(args))} }
	cmd := r.makeServed(&cobra.Command{
		Use:     "backups [TARGET]",
		Short:   "List the backups",
		Long:    "backups lists the backups in TARGET, or where the database was backed up to last.\n\n" + targets,
		Example: "  smolwc backups /backups/fleet",
	}, 0, 1)
	cmd.Flags().StringVar(&r.format, "format", "", "print the list as `FORMAT` (default table on a terminal, else jsonl)")
	return cmd
}

func (c *command) verifyCommand() *cobra.Command {
	var t travelling
	r := &statementRun{command: c, word: "in", needs: needsTarget}
	r.words = func(args []string) []string {
		return append([]string{"verify", quoted("in ", first(args))}, t.words()...)
	}
	cmd := r.makeServed(&cobra.Command{
		Use:     "verify [TARGET]",
		Short:   "Read all backups and compare them with their checksums",
		Long:    "verify reads every byte in TARGET, or where the database was backed up to last, and\nnames what is damaged. It exits with 1 when anything is.\n\n" + targets,
		Example: "  smolwc verify /backups/fleet",
	}, 0, 1)
	t.flags(cmd)
	return cmd
}

func (c *command) restoreCommand() *cobra.Command {
	var from string
	var overwrite bool
	var t travelling
	r := &statementRun{command: c}
	r.needs = func([]string) need { return needsTarget(strings.Fields(from)) }
	r.words = func(args []string) []string {
		return append([]string{"restore", args[0], quoted("to ", args[1]), quoted("from ", from), flagWord("overwrite", overwrite)}, t.words()...)
	}
	cmd := r.make(&cobra.Command{
		Use:   "restore BACKUP DIR",
		Short: "Make a database of a backup",
		Long: `restore makes a database in DIR of BACKUP, a number that backups lists, or latest.
Every byte is compared with its checksum before DIR gets its name.

` + targets,
		Example: "  smolwc restore latest ./restored --from /backups/fleet",
	}, 2, 2)
	cmd.Flags().StringVar(&from, "from", "", "restore from `TARGET` (default where the database was backed up to last)")
	cmd.Flags().BoolVar(&overwrite, "overwrite", false, "replace a database that is in DIR")
	t.flags(cmd)
	return cmd
}

func (c *command) checkpointCommand() *cobra.Command {
	r := &statementRun{command: c, needs: func([]string) need { return needsWriter }}
	r.words = func(args []string) []string { return []string{"checkpoint", lex.QuoteText(args[0])} }
	return r.makeServed(&cobra.Command{
		Use:     "checkpoint DIR",
		Short:   "Copy the database to a directory",
		Long:    "checkpoint makes a database in DIR, as of one moment. On the same disk the files are\nlinked, which takes hardly any time or space.",
		Example: "  smolwc checkpoint ./copy",
	}, 1, 1)
}

func (c *command) exportCommand() *cobra.Command {
	var as, wide, bytes, prefix, start, end, columns, where, versions, limit, since, until string
	var overwrite bool
	r := &statementRun{command: c, needs: func([]string) need { return needsReader }}
	r.words = func(args []string) []string {
		return []string{"export", lex.QuoteName(args[0]), quoted("prefix=", prefix), quoted("start=", start), quoted("end=", end),
			optionWord("columns=", columns), optionWord("where ", where), optionWord("versions=", versions), optionWord("limit=", limit),
			optionWord("since=", since), optionWord("until=", until), "to", lex.QuoteText(args[1]), optionWord("as ", as), optionWord("wide=", wide),
			optionWord("bytes=", bytes), flagWord("overwrite", overwrite)}
	}
	cmd := r.make(&cobra.Command{
		Use:   "export TABLE FILE",
		Short: "Write a table to a CSV, JSON lines or Parquet file",
		Long: `export writes what TABLE shows at one moment to FILE (.csv, .jsonl, .ndjson, also
with .gz or .zst, or .parquet), or to the output if FILE is -. It is the export statement of the
shell; "help export" there says more. A process may be writing the database
meanwhile.`,
		Example: "  smolwc export fleet fleet.parquet\n  smolwc export fleet - --as csv --prefix 'plane#' --wide meta:model,miles",
	}, 2, 2)
	flags := cmd.Flags()
	flags.StringVar(&as, "as", "", "write `FORMAT`: csv, jsonl or parquet (default as the file's name says)")
	flags.StringVar(&wide, "wide", "", "a line for each row, with a field for each column in `LIST`, FAM:QUAL[=FIELD[:TYPE]] with commas between")
	flags.StringVar(&bytes, "bytes", "", "with --wide, write bytes in csv and jsonl as `FORM`: hex or base64 (default hex in csv, base64 in jsonl)")
	flags.StringVar(&prefix, "prefix", "", "only rows whose keys start with `KEY`")
	flags.StringVar(&start, "start", "", "only rows from `KEY` on")
	flags.StringVar(&end, "end", "", "only rows before `KEY`")
	flags.StringVar(&columns, "columns", "", "only columns in `LIST`")
	flags.StringVar(&where, "where", "", "only rows for which `CONDITION` holds, such as 'meta:miles >= 5'")
	flags.StringVar(&versions, "versions", "", "the newest `N` versions of each column (default all)")
	flags.StringVar(&limit, "limit", "", "the first `N` rows")
	flags.StringVar(&since, "since", "", "only cells from `TIME` on")
	flags.StringVar(&until, "until", "", "only cells before `TIME`")
	flags.BoolVar(&overwrite, "overwrite", false, "replace FILE if it exists")
	flags.BoolVar(&c.readOnly, "read-only", false, "open for reading alone, beside a writer if need be; export always does")
	return cmd
}
