package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/shell"
	"github.com/smolwc/smolwc/standby"
)

// A checkRun is a check of a database.
type checkRun struct {
	*command
	format string
}

func (c *command) checkCommand() *cobra.Command {
	r := &checkRun{command: c}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Read everything, and report what is damaged",
		Long: `check reads the whole database and changes nothing; another process may be writing
it meanwhile. It compares files with their checksums and the catalog with the
existing families, and checks that every key and value decodes, is in order and in
bounds, and has its family's type.

It exits with 0 when nothing is wrong, with 1 when something is, and with 3 when
the database cannot be opened, perhaps because it is damaged.`,
		Example: "  smolwc check --db data",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return r.check(cmd.Context()) },
	}
	cmd.Flags().StringVar(&r.format, "format", "table", "print the report as `FORMAT`: table or json")
	return cmd
}

func (r *checkRun) check(ctx context.Context) (err error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	if r.format != "table" && r.format != "json" {
		return fail(exitUsage, fmt.Errorf("--format is %q; it can be table or json", r.format))
	}
	cfg, err := r.load(ctx)
	if err != nil {
		return err
	}
	db, err := r.open(ctx, cfg, query.Options{MustExist: true, ReadOnly: true})
	if err != nil {
		return err
	}
	defer closing(db, &err)
	progress, clear := r.progress()
	report, err := db.Check(ctx, query.OnCheckProgress(progress))
	clear()
	if err != nil {
		return fail(exitFailed, err)
	}
	if err := unlessPiped(r.print(report)); err != nil {
		return fail(exitFailed, err)
	}
	if !report.OK() {
		return &failure{code: exitFailed}
	}
	return nil
}

// progress returns functions that show and clear a check's progress on a terminal.
func (r *checkRun) progress() (show func(query.CheckProgress), clear func()) {
	if r.quiet || !isTerminal(r.stderr) {
		return func(query.CheckProgress) {}, func() {}
	}
	show = func(p query.CheckProgress) {
		_, _ = fmt.Fprintf(r.stderr, "\r\x1b[K%d files, %d MB", p.Files, p.FileBytes>>20)
		if p.Family != "" {
			_, _ = fmt.Fprintf(r.stderr, "; %d cells, family %s", p.Cells, p.Family)
		}
	}
	return show, func() { _, _ = io.WriteString(r.stderr, "\r\x1b[K") }
}

func (r *checkRun) print(report *query.CheckReport) error {
	if r.format == "json" {
		return r.printJSON(report)
	}
	_, err := io.WriteString(r.out, checkText(report))
	return err
}

// checkText is a report for people.
func checkText(report *query.CheckReport) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprint(w, "rows\tcells\tbytes\tproblems\t  family\n")
	for _, f := range report.Families {
		_, _ = fmt.Fprintf(w, "%d\t%d\t%d\t%d\t  %s/%s\n", f.Rows, f.Cells, f.Bytes, f.Problems, f.Table, f.Family)
	}
	_ = w.Flush()
	_, _ = fmt.Fprintf(&out, "%s, %s\n", humanize.Count(report.Files, "file"), humanize.Count(report.FileBytes, "byte"))
	for i := range report.Problems {
		_, _ = fmt.Fprintf(&out, "problem: %v\n", &report.Problems[i])
	}
	switch more := report.Count - int64(len(report.Problems)); {
	case report.OK():
		out.WriteString("nothing is wrong\n")
	case more > 0:
		_, _ = fmt.Fprintf(&out, "and %s more\n", humanize.Count(more, "problem"))
	}
	return out.String()
}

func (r *checkRun) printJSON(report *query.CheckReport) error {
	type family struct {
		Table    string `json:"table"`
		Family   string `json:"family"`
		Rows     int64  `json:"rows"`
		Cells    int64  `json:"cells"`
		Bytes    int64  `json:"bytes"`
		Problems int64  `json:"problems"`
	}
	type problem struct {
		File   string `json:"file,omitempty"`
		Family string `json:"family,omitempty"`
		Key    string `json:"key,omitempty"` // in hexadecimal
		Error  string `json:"error"`
	}
	out := struct {
		OK        bool      `json:"ok"`
		Files     int64     `json:"files"`
		FileBytes int64     `json:"file_bytes"`
		Families  []family  `json:"families"`
		Problems  []problem `json:"problems"`
		Count     int64     `json:"problem_count"`
	}{OK: report.OK(), Files: report.Files, FileBytes: report.FileBytes, Families: []family{}, Problems: []problem{}, Count: report.Count}
	for _, f := range report.Families {
		out.Families = append(out.Families, family(f))
	}
	for _, p := range report.Problems {
		out.Problems = append(out.Problems, problem{p.File, p.Family, fmt.Sprintf("%x", p.Key), p.Err.Error()})
	}
	return json.NewEncoder(r.out).Encode(out)
}

// A verifyRun compares a standby with its primary.
type verifyRun struct {
	*command
	remote          *remoteFlags
	against, format string
}

func (r *verifyRun) check(cmd *cobra.Command, args []string) error {
	switch {
	case r.against == "":
		return errors.New("--format is about --against, which names the primary of the standby on --addr")
	case r.remote.addr == "":
		return errors.New("--addr is missing; it names the standby, and --against its primary, as in --addr db2:8088 --against db1:8086")
	case !isAddr(r.against):
		return fmt.Errorf("--against is %q; want HOST:PORT, as in db1:8086; two directories are compared by smolwc copy --verify", r.against)
	case r.format != "table" && r.format != "json":
		return fmt.Errorf("--format is %q; it can be table or json", r.format)
	case len(args) > 0 || cmd.Flags().Changed("parallel") || cmd.Flags().Changed("rate"):
		return errors.New("--against compares a standby with its primary; TARGET, --parallel and --rate are about backups")
	}
	return r.remote.check(r.command)
}

func (r *verifyRun) run(cmd *cobra.Command, args []string) error {
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	if err := r.check(cmd, args); err != nil {
		return fail(exitUsage, err)
	}
	db, err := r.remote.connect(ctx, r.command)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // no call is running
	line := &copyLine{out: r.stderr, shown: !r.quiet && isTerminal(r.stderr)}
	v, err := db.Verify(ctx, r.against, func(p client.VerifyProgress) {
		line.show(query.CopyProgress{Cells: p.Cells, Bytes: p.Bytes})
	})
	line.clear()
	if err == nil {
		err = r.print(v)
	}
	if err == nil && v.Difference != "" {
		return &failure{code: exitFailed}
	}
	return fail(exitFailed, err)
}

// catalogName stands for the catalog in a list of tables.
const catalogName = "(catalog)"

func (r *verifyRun) print(v *client.Verification) error {
	if r.format == "json" {
		return r.printJSON(v)
	}
	_, err := io.WriteString(r.out, tableOf("rows\tcells\tchecksum\t\t  table\n", func(w io.Writer) {
		for _, t := range v.Tables {
			is := "equal"
			if t.Difference != "" {
				is = "DIFFERENT"
			}
			_, _ = fmt.Fprintf(w, "%d\t%d\t%016x\t%s\t  %s\n", t.Here.Rows, t.Here.Cells, t.Here.Checksum, is, cmp.Or(t.Name, catalogName))
			if t.Difference != "" {
				_, _ = fmt.Fprintf(w, "%d\t%d\t%016x\tthere\t  \n", t.Primary.Rows, t.Primary.Cells, t.Primary.Checksum)
			}
		}
	}))
	for _, t := range v.Tables {
		if t.Difference != "" {
			r.say("%s: %q %s", cmp.Or(t.Name, catalogName), t.Row, t.Difference)
		}
	}
	if v.Difference == "" {
		r.say("%s is equal to %s at position %d", r.remote.addr, r.against, v.Position)
	} else {
		r.say("%s differs from %s at position %d; it serves nothing until it is rebuilt, and keeps its files aside", r.remote.addr, r.against, v.Position)
	}
	return err
}

func (r *verifyRun) printJSON(v *client.Verification) error {
	type sum struct {
		Rows     int64  `json:"rows"`
		Cells    int64  `json:"cells"`
		Bytes    int64  `json:"bytes"`
		Checksum string `json:"checksum"` // in hexadecimal
	}
	type table struct {
		Table      string `json:"table"` // "" is the catalog
		Equal      bool   `json:"equal"`
		Standby    sum    `json:"standby"`
		Primary    sum    `json:"primary"`
		Row        []byte `json:"row,omitempty"` // in base64
		Difference string `json:"difference,omitempty"`
	}
	out := struct {
		Equal    bool    `json:"equal"`
		Position uint64  `json:"position"`
		Began    string  `json:"began"`
		Seconds  float64 `json:"seconds"`
		Tables   []table `json:"tables"`
	}{v.Difference == "", v.Position, v.Began.UTC().Format(time.RFC3339Nano), v.Took.Seconds(), []table{}}
	for _, t := range v.Tables {
		of := func(s client.CellSum) sum { return sum{s.Rows, s.Cells, s.Bytes, fmt.Sprintf("%016x", s.Checksum)} }
		out.Tables = append(out.Tables, table{t.Name, t.Difference == "", of(t.Here), of(t.Primary), []byte(t.Row), t.Difference})
	}
	return json.NewEncoder(r.out).Encode(out)
}

func (c *command) tailCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "Read what a primary has that was replaced",
		Long: `tail is about the changes that a directory has and the server does not that was
promoted in its place.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	r := &tailRun{command: c}
	show := &cobra.Command{
		Use:   "show DIR",
		Short: "Print the changes after the position up to which DIR agrees",
		Long: `show prints the changes that DIR has after the last position that it has in common
with the server that was promoted in its place. DIR is a directory that was kept aside,
such as data.diverged, or that of a primary that was replaced. Nothing is changed in it.

The changes come in their order, as statements that make them again, or as JSON lines.
What is no change of a row, such as a load, is a comment. If the log of the changes is
no longer there, show says so: then compare the rows.`,
		Example: "  smolwc tail show data.diverged\n  smolwc tail show data.diverged --format jsonl > tail.jsonl",
		Args:    oneArg("DIR"),
		RunE:    func(cmd *cobra.Command, args []string) error { return r.show(cmd.Context(), args[0]) },
	}
	show.Flags().StringVar(&r.format, "format", "statements", "print the changes as `FORMAT`: statements or jsonl")
	cmd.AddCommand(show)
	return cmd
}

// A tailRun prints the changes that exist in one directory only.
type tailRun struct {
	*command
	format string
}

func (r *tailRun) show(ctx context.Context, dir string) (err error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	if r.format != "statements" && r.format != "jsonl" {
		return fail(exitUsage, fmt.Errorf("--format is %q; it can be statements or jsonl", r.format))
	}
	t, err := standby.OpenTail(ctx, dir)
	if errors.Is(err, standby.ErrNoTail) {
		err = fmt.Errorf("%w; to see how its rows differ, compare them with a standby's: smolwc copy --verify --from %s --to DIR", err, dir)
	}
	if err != nil {
		return fail(exitOpen, err)
	}
	defer func() { err = cmp.Or(err, fail(exitFailed, t.Close())) }()
	db, err := query.Open(dir, query.Options{ReadOnly: true, MustExist: true})
	if err != nil {
		return fail(exitOpen, err)
	}
	defer closing(db, &err)
	out := bufio.NewWriter(r.out)
	if r.format == "statements" && t.Last > t.After {
		_, _ = fmt.Fprintf(out, "-- changes after position %d, up to %d: %s\n", t.After, t.Last, t.Reason)
	}
	for n := 0; ; n++ {
		c, err := t.Next(ctx)
		if err != nil || c == nil && n > 0 {
			return fail(exitFailed, errors.Join(err, out.Flush()))
		}
		if c == nil {
			return fail(exitFailed, errors.Join(out.Flush(), r.nothing(dir, t)))
		}
		if err := r.print(out, db.Schema(), c); err != nil {
			return fail(exitFailed, err)
		}
	}
}

// nothing says that a directory holds no changes of its own: as a comment, or beside JSON
// lines.
func (r *tailRun) nothing(dir string, t *standby.Tail) error {
	text := fmt.Sprintf("%s has no changes of its own: it ends at position %d, and the server that was promoted has all up to %d", dir, t.Last, t.After)
	if t.Last > t.After {
		text = fmt.Sprintf("%s has no changes of its own that can be shown", dir)
	}
	if r.format == "statements" {
		_, err := fmt.Fprintln(r.out, "-- "+text)
		return err
	}
	_, err := fmt.Fprintln(r.stderr, text)
	return err
}

// print prints a change. A writer that fails says so at its next use, and at its flush.
func (r *tailRun) print(out *bufio.Writer, s *schema.Schema, c *standby.TailChange) error {
	if r.format == "jsonl" {
		_, err := out.Write(shell.ChangeLine(c.Position, c.Table, c.Key, c.Other, c.Changes))
		return err
	}
	if c.Other != "" {
		_, err := fmt.Fprintf(out, "-- %s: %s\n", cmp.Or(c.Table, catalogName), c.Other)
		return err
	}
	table, ok := s.Table(c.Table)
	if !ok {
		table = &schema.Table{Name: c.Table}
	}
	for _, statement := range shell.ChangeStatements(*table, c.Key, c.Changes) {
		if _, err := fmt.Fprintln(out, statement); err != nil {
			return err
		}
	}
	return nil
}
