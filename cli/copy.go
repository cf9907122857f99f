package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/cli/internal/config"
	"github.com/smolwc/smolwc/internal/osfile"
	"github.com/smolwc/smolwc/query"
)

func (c *command) copyCommand() *cobra.Command {
	r := &copyRun{command: c}
	cmd := &cobra.Command{
		Use:   "copy --from DB --to DB",
		Short: "Copy a database to a new one, or compare two",
		Long: `copy makes a new database that is equal to another one, on any engine (--engine): tables,
families and rules, cells with their types and timestamps, the state of aggregates,
notes, and the names of loads. The copy is as of one moment. It compares every cell,
and prints the number and the checksum of the cells of each table. The database
of --from is not changed, and another process may be writing it.

If copy is interrupted, the same command goes on: it compares what is there and
copies the rest. Until it ends, nothing else may write the new database.

With --follow it then applies the changes that are made to the database of --from,
and prints how far it is behind. Every table must have a change stream, and in a
directory no other process may have the database open. --until-equal ends it when
--from is no longer written and both are equal. --unfinished ends a copy without
--follow so that the same command can bring it up to date later.

--verify copies nothing. It compares the two databases, names the first cells that
differ, and exits with 1 if there are any.

--from bigtable://PROJECT/INSTANCE is Google's Bigtable, with the application's default
credentials, an emulator at $BIGTABLE_EMULATOR_HOST, or the server at ?endpoint=HOST:PORT.
--prefix and --sample then copy some of the rows, and --mask replaces values: hash by a
keyed hash, null by nothing, fake by one of the same shape. * in a mask stands for any
characters, the first mask that fits a column counts, and row keys stay. There --verify
compares after the copy, or only compares if the copy is whole.`,
		Example: "  smolwc copy --from data --to moved\n  smolwc copy --from data --to moved --follow --until-equal\n  smolwc copy --from data --to moved --verify\n" +
			"  smolwc copy --from bigtable://shop/main --to data --table users --sample 1% --mask 'pii:*=fake'",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := r.checkSlice(cmd.Flags()); err != nil {
				return fail(exitUsage, err)
			}
			return r.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&r.from, "from", "", "copy the database in `DB`")
	flags.StringVar(&r.to, "to", "", "make the new database in `DB`")
	flags.StringSliceVar(&r.tables, "table", nil, "copy only the tables in `LIST`, with commas between")
	flags.BoolVar(&r.follow, "follow", false, "then apply the changes that are made to --from, until Ctrl-C")
	flags.BoolVar(&r.untilEqual, "until-equal", false, "with --follow, end when nothing writes --from and both are equal")
	flags.BoolVar(&r.unfinished, "unfinished", false, "end so that the same copy can be continued later")
	flags.BoolVar(&r.verify, "verify", false, "only compare the two databases")
	flags.StringVar(&r.format, "format", "table", "print the result as `FORMAT`: table or json")
	r.slice.add(cmd)
	cmd.MarkFlagsMutuallyExclusive("verify", "follow")
	cmd.MarkFlagsMutuallyExclusive("verify", "unfinished")
	cmd.MarkFlagsMutuallyExclusive("until-equal", "unfinished")
	for _, name := range []string{"from", "to"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // an unknown flag
		}
	}
	return cmd
}

func (r *copyRun) run(ctx context.Context) (err error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	if err := r.check(); err != nil {
		return fail(exitUsage, err)
	}
	if r.ofBigtable() {
		return r.copySlice(ctx)
	}
	for _, place := range []string{r.from, r.to} {
		if err := r.canOpen(place); err != nil {
			return err
		}
	}
	cfg, err := r.load(ctx)
	if err != nil {
		return err
	}
	from, err := r.openFrom(ctx, cfg)
	if err != nil {
		return fail(exitOpen, err)
	}
	defer closing(from, &err)
	for _, name := range r.tables {
		if _, ok := from.Schema().Table(name); !ok { // before anything is created
			return fail(exitFailed, fmt.Errorf("--table: there is no table %q in %s", name, shown(r.from)))
		}
	}
	to, err := r.openAt(ctx, r.to, cfg, query.Options{ReadOnly: r.verify, GCInterval: -1})
	if err != nil {
		return fail(exitOpen, fmt.Errorf("--to: %w", err))
	}
	defer closing(to, &err)
	r.progress = &copyLine{out: r.stderr, shown: !r.quiet && isTerminal(r.stderr), lag: !r.quiet && r.follow}
	if r.verify {
		return r.compare(ctx, from, to)
	}
	return r.copy(ctx, from, to)
}

func (r *copyRun) check() error {
	if r.format != "table" && r.format != "json" {
		return fmt.Errorf("--format is %q; it can be table or json", r.format)
	}
	if r.untilEqual && !r.follow {
		return errors.New("--until-equal needs --follow")
	}
	for _, flag := range []struct {
		name  string
		place *string
	}{{"--from", &r.from}, {"--to", &r.to}} {
		if err := checkPlace(flag.name, *flag.place); err != nil {
			return err
		}
		var err error
		if *flag.place, err = osfile.Home(*flag.place); err != nil {
			return fmt.Errorf("%s: %w", flag.name, err)
		}
	}
	return apart(r.from, r.to)
}

// checkPlace refuses a place without a database that this program can open.
func checkPlace(flag, place string) error {
	scheme, _, _ := strings.Cut(place, "://")
	_, port, hasPort := strings.Cut(place, ":")
	switch {
	case place == "":
		return fmt.Errorf("%s is empty; it names a directory, or the URL of a database", flag)
	case slices.Contains([]string{"http", "https", "grpc"}, scheme), !isURL(place) && hasPort && port != "" && strings.Trim(port, "0123456789") == "":
		return fmt.Errorf("%s is %q, a server: copy opens databases itself; use export and import with a server, or copy on its machine", flag, place)
	}
	return nil
}

// apart refuses two names of one directory, and a directory inside the other one.
func apart(from, to string) error {
	if isURL(from) || isURL(to) {
		return nil // the databases' identities are compared
	}
	a, b := resolved(from), resolved(to)
	switch {
	case a == b:
		return fmt.Errorf("--from and --to are the same directory, %s", a)
	case strings.HasPrefix(b, a+string(filepath.Separator)):
		return fmt.Errorf("--to %s is inside the database %s; name another directory", b, a)
	case strings.HasPrefix(a, b+string(filepath.Separator)):
		return fmt.Errorf("--from %s is inside %s; name another directory for --to", a, b)
	}
	return nil
}

// resolved is an absolute path without symbolic links, as far as it exists.
func resolved(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return filepath.Clean(path)
	}
	for dir, rest := abs, ""; ; dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return abs
		}
	}
}

// openFrom opens the source: for reading, or where its changes are read, for writing.
func (r *copyRun) openFrom(ctx context.Context, cfg *config.Config) (*query.DB, error) {
	source := *cfg
	source.Engine = "" // is for the new database
	db, err := r.openAt(ctx, r.from, &source, query.Options{ReadOnly: !r.follow, MustExist: true, GCInterval: -1})
	switch {
	case r.follow && query.KindOf(err) == query.KindBusy:
		return nil, fmt.Errorf("--from: %w; only that process can read its changes: stop it, or copy with --unfinished while it runs, stop it, and copy again", err)
	case err != nil:
		return nil, fmt.Errorf("--from: %w", err)
	}
	if of, unfinished, err := db.Unfinished(ctx); err != nil || unfinished && !r.verify {
		if err == nil {
			err = fmt.Errorf("--from: %s is itself the unfinished copy of the database with the id %s; let that copy end first", shown(r.from), of)
		}
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func (r *copyRun) copy(ctx context.Context, from, to *query.DB) error {
	report, err := to.CopyFrom(ctx, from, query.CopyOptions{
		Tables: r.tables, Follow: r.follow, UntilEqual: r.untilEqual, Unfinished: r.unfinished, Progress: r.progress.show,
	})
	r.progress.clear()
	if errors.Is(err, context.Canceled) {
		_, _ = fmt.Fprintf(r.stderr, "smolwc: the copy in %s is unfinished; the same command goes on, and with --until-equal or without --follow ends it\n", shown(r.to))
	}
	if err != nil {
		return fail(exitFailed, err)
	}
	return fail(exitFailed, r.printReport(report))
}

func (r *copyRun) printReport(report query.CopyReport) error {
	if r.format == "json" {
		return r.json(struct {
			Tables  []jsonSum `json:"tables"`
			Rows    int64     `json:"rows_followed"`
			Resumed bool      `json:"resumed"`
		}{jsonSums(report.Tables), report.Rows, report.Resumed})
	}
	r.say("%s", strings.TrimSuffix(tableOf("cells\tbytes\tchecksum\t  table\n", func(w io.Writer) {
		for _, t := range report.Tables {
			_, _ = fmt.Fprintf(w, "%d\t%d\t%016x\t  %s\n", t.Cells, t.Bytes, t.Checksum, t.Table)
		}
	}), "\n"))
	if r.follow {
		r.say("%d changed rows were copied again", report.Rows)
	}
	if r.unfinished {
		r.say("source and target are equal as of one moment; the copy can be continued")
	} else {
		r.say("source and target are equal")
	}
	return nil
}

type jsonSum struct {
	Table    string `json:"table"`
	Cells    int64  `json:"cells"`
	Bytes    int64  `json:"bytes"`
	Checksum string `json:"checksum"` // in hexadecimal
}

func jsonSums(tables []query.CopiedTable) []jsonSum {
	sums := []jsonSum{}
	for _, t := range tables {
		sums = append(sums, jsonSum{t.Table, t.Cells, t.Bytes, fmt.Sprintf("%016x", t.Checksum)})
	}
	return sums
}

// compare prints how two databases differ.
func (r *copyRun) compare(ctx context.Context, from, to *query.DB) error {
	c, err := from.Compare(ctx, to, r.tables, r.progress.show)
	r.progress.clear()
	if err != nil {
		return fail(exitFailed, err)
	}
	if err := unlessPiped(r.printComparison(c)); err != nil {
		return fail(exitFailed, err)
	}
	if !c.Equal() {
		return &failure{code: exitFailed}
	}
	return nil
}

func (r *copyRun) printComparison(c *query.Comparison) error {
	if r.format == "json" {
		return r.jsonComparison(c)
	}
	_, err := io.WriteString(r.out, tableOf("cells\tchecksum\tcells in --to\tchecksum\t  table\n", func(w io.Writer) {
		for _, t := range c.Tables {
			_, _ = fmt.Fprintf(w, "%d\t%016x\t%d\t%016x\t  %s\n", t.Of.Cells, t.Of.Checksum, t.And.Cells, t.And.Checksum, t.Table)
		}
	}))
	for _, change := range c.Schema.Changes {
		r.say("schema: --to would need %v", change)
	}
	for _, d := range c.Differences {
		r.say("%s row %q %s:%q@%d: %s", d.Table, d.Row, d.Family, d.Qualifier, d.Timestamp, d.In)
	}
	if more := c.Count - int64(len(c.Differences)); more > 0 {
		r.say("and %d more cells", more)
	}
	if c.Equal() {
		r.say("source and target are equal")
	}
	return err
}

func (r *copyRun) jsonComparison(c *query.Comparison) error {
	type difference struct {
		Table     string `json:"table"`
		Row       []byte `json:"row"` // in base64
		Family    string `json:"family"`
		Qualifier []byte `json:"qualifier"` // in base64
		Timestamp int64  `json:"timestamp"`
		What      string `json:"what"`
	}
	out := struct {
		Equal       bool         `json:"equal"`
		From        []jsonSum    `json:"from"`
		To          []jsonSum    `json:"to"`
		Schema      []string     `json:"schema"`
		Differences []difference `json:"differences"`
		Count       int64        `json:"difference_count"`
	}{Equal: c.Equal(), Count: c.Count, Schema: []string{}, Differences: []difference{}}
	var of, and []query.CopiedTable
	for _, t := range c.Tables {
		of, and = append(of, query.CopiedTable{Table: t.Table, CellSum: t.Of}), append(and, query.CopiedTable{Table: t.Table, CellSum: t.And})
	}
	out.From, out.To = jsonSums(of), jsonSums(and)
	for _, change := range c.Schema.Changes {
		out.Schema = append(out.Schema, change.String())
	}
	for _, d := range c.Differences {
		out.Differences = append(out.Differences, difference{d.Table, []byte(d.Row), d.Family, []byte(d.Qualifier), int64(d.Timestamp), d.In.String()})
	}
	return r.json(out)
}
