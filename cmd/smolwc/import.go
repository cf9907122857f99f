package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/ql/lex"
	"github.com/smolwc/smolwc/shell"
)

// An importRun is the import statement as a command.
type importRun struct {
	*command
	key, columns, ts, na string
	badLines, batch      int
	again, overlap       bool
}

func (c *command) importCommand() *cobra.Command {
	r := &importRun{command: c}
	cmd := &cobra.Command{
		Use:   "import TABLE FILE [--key TEMPLATE --columns LIST]",
		Short: "Load a CSV, JSON lines or Parquet file into a table",
		Long: `import loads FILE (.csv, .jsonl or .ndjson, also with .gz or .zst, or .parquet) into
TABLE, as a whole or not at all. Without --key and --columns it is a file that export
wrote, and gives the same cells again. A file of more than 10,000 rows is imported once, and is
refused where it would replace cells, unless --again or --overlap is given.
It is the import statement of the shell; "help import" there says more.`,
		Example: `  smolwc import fleet planes.csv.gz --key 'plane#{tailnum}' --columns meta:model=model,meta:seats=seats:i32 --na NA`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("import takes a table and a file, and got %d arguments", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args[0], args[1]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&r.key, "key", "", "make row keys of `TEMPLATE`, such as 'flight#{tailnum}#{year}-{month:02}'")
	flags.StringVar(&r.columns, "columns", "", "make columns of the fields in `LIST`, FAM:QUAL=FIELD[:TYPE] with commas between")
	flags.StringVar(&r.ts, "ts", "", "take the cells' timestamps from `FIELD`")
	flags.StringVar(&r.na, "na", "", "take `TEXT` for no value, as an empty field is")
	flags.IntVar(&r.badLines, "bad-lines", 0, "leave out up to `N` bad lines")
	flags.IntVar(&r.batch, "batch", 0, "write the rows `N` at a time, and not all at once")
	flags.BoolVar(&r.again, "again", false, "import a large file that was imported before, too")
	flags.BoolVar(&r.overlap, "overlap", false, "let a large file replace cells, and put its own before older ones")
	cmd.MarkFlagsRequiredTogether("key", "columns")
	return cmd
}

func (r *importRun) run(ctx context.Context, table, file string) (err error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	cfg, err := r.load()
	if err != nil {
		return err
	}
	db, err := r.openDeclared(ctx, cfg, query.Options{MustExist: cfg.Schema == nil})
	if err != nil {
		return err
	}
	defer closing(db, &err)
	s := shell.New(r.options(db))
	err = s.RunStatement(ctx, r.statement(table, file))
	if closeErr := s.Close(); err == nil {
		err = closeErr
	}
	if code := shell.ExitCode(err); code != 0 {
		return &failure{code: code}
	}
	return nil
}

// statement is the import as a statement of the language.
func (r *importRun) statement(table, file string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "import %s from %s", lex.QuoteName(table), lex.QuoteText(file))
	if r.key != "" {
		fmt.Fprintf(&b, " key=%s columns=%s", lex.QuoteText(r.key), r.columns)
	}
	for _, o := range []struct{ name, value string }{{"ts", r.ts}, {"na", r.na}} {
		if o.value != "" {
			fmt.Fprintf(&b, " %s=%s", o.name, lex.QuoteText(o.value))
		}
	}
	for _, o := range []struct {
		name  string
		value int
	}{{"bad-lines", r.badLines}, {"batch", r.batch}} {
		if o.value != 0 {
			fmt.Fprintf(&b, " %s=%d", o.name, o.value)
		}
	}
	for _, o := range []struct {
		name string
		said bool
	}{{"again", r.again}, {"overlap", r.overlap}} {
		if o.said {
			b.WriteString(" " + o.name)
		}
	}
	return b.String()
}
