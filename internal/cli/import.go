package cli

import (
	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/query/ql/lex"
)

func (c *command) importCommand() *cobra.Command {
	r := &statementRun{command: c, needs: func([]string) need { return needsTables }, here: true}
	r.words = func(args []string) []string {
		return []string{"import", lex.QuoteName(args[0]), "from", lex.QuoteText(args[1])}
	}
	cmd := r.makeServed(&cobra.Command{
		Use:   "import TABLE FILE",
		Short: "Load a CSV, JSON lines or Parquet file into a table",
		Long: `import loads FILE (.csv, .jsonl or .ndjson, also with .gz or .zst, or .parquet) into
TABLE, as a whole or not at all. Without --key and --columns it is a file that export
wrote, and gives the same cells again. A file of more than 10,000 rows is imported
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
	r.number(cmd, "bad-lines", "leave out up to `N` bad lines")
	r.number(cmd, "batch", "write the rows `N` at a time, and not all at once")
	r.value(cmd, "as", "as ", "read csv, jsonl or parquet, whatever the file is called; FILE - is standard input")
	r.on(cmd, "dry-run", "write nothing; show the columns and what types their values fit, or without --key and --columns the fields")
	r.on(cmd, "again", "import a large file that was imported before, too")
	r.on(cmd, "overlap", "let a large file replace cells, and add newer versions of existing ones")
	cmd.MarkFlagsRequiredTogether("key", "columns")
	return cmd
}
