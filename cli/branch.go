package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/archive/moments"
	"github.com/smolwc/smolwc/branch"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/internal/excerpt"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/plumbing"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/shell"
)

func (c *command) branchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "branch",
		Short: "Make writable copies of a database by links, and merge them",
		Long: `A branch is a writable copy of the database, made by hard links in little time whatever
its size: a database for a test or an experiment. The branches of the database in DIR are in
DIR.branches, beside it. Branch B is the database in DIR.branches/B/db, which every
command opens with --db.`,
		Example: "  smolwc branch create b\n  smolwc --db data.branches/b/db\n  smolwc branch diff b\n  smolwc branch merge b\n  smolwc branch drop b",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.branchCreateCommand(), c.branchListCommand(), c.branchDiffCommand(), c.branchMergeCommand(), c.branchDropCommand())
	return cmd
}

// branches is the directory with the branches of the database.
func (c *command) branches(ctx context.Context) (branch.Dir, error) {
	cfg, err := c.load(ctx)
	if err != nil {
		return branch.Dir{}, err
	}
	if isURL(cfg.DataDir) {
		return branch.Dir{}, fail(exitUsage, fmt.Errorf("%s has no files to link: only a database in a directory has branches", shown(cfg.DataDir)))
	}
	d, err := branch.Of(cfg.DataDir)
	return d, fail(exitOpen, err)
}

// branchWriter opens the database for writing. If another process has it open, the error says
// what to do.
func (c *command) branchWriter(ctx context.Context, instead string) (*query.DB, error) {
	cfg, err := c.load(ctx)
	if err != nil {
		return nil, err
	}
	db, err := c.open(ctx, cfg, query.Options{MustExist: true, GCInterval: -1})
	if query.KindOf(err) == query.KindBusy {
		err = fail(exitOpen, fmt.Errorf("%w; %s", err, instead))
	}
	return db, err
}

func (c *command) branchCreateCommand() *cobra.Command {
	var remote remoteFlags
	var past branchPast
	cmd := &cobra.Command{
		Use:   "create B",
		Short: "Make a branch of the database",
		Long: `create makes branch B of the database as it is now. On the file system of the database
it takes no space until the branch, or the database, rewrites its files. The branch gets
an identity of its own: backups and standbys do not take it for the database.

While smolwc serve on this machine has the database open, --addr lets the server make the
copy. Its --backup-to must allow the directory of the branches.

With --at the branch is as the database was at a moment, which is restored from where smolwc
serve --continuous has sent the log, as by smolwc restore --at; another process may have the
database open. It shares no files with the database.`,
		Example: "  smolwc branch create before --at 2024-01-25T10:30:59Z\n  smolwc branch create b\n  smolwc --db data branch create b --addr localhost:8086",
		Args:    oneArg("B"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			return c.branchCreate(ctx, args[0], &remote, past)
		},
	}
	remote.add(cmd)
	cmd.Flags().StringVar(&past.at, "at", "", "make it of the moment `T`: a time, an age such as 5m, or a position of the log")
	cmd.Flags().StringVar(&past.from, "from", "", "with --at: restore from `TARGET` (default where the database was backed up to last)")
	return cmd
}

// branchPast is the moment of a branch; a zero one is now.
type branchPast struct{ at, from string }

func (c *command) branchCreate(ctx context.Context, name string, remote *remoteFlags, past branchPast) (err error) {
	switch {
	case past.at == "" && past.from != "":
		return fail(exitUsage, errors.New("--from goes with --at"))
	case past.at != "" && remote.addr != "":
		return fail(exitUsage, errors.New("--at needs no server: it restores from the archive, and the database may be open; leave out --addr"))
	}
	server, err := c.branchServer(ctx, name, remote)
	if err != nil {
		return err
	}
	if server != nil {
		defer func() { _ = server.Close() }() // no call is running
	}
	d, err := c.branches(ctx)
	if err != nil {
		return err
	}
	var checkpoint func(context.Context, string) error
	if past.at != "" {
		db, m, a, e := c.branchMoment(ctx, past)
		if e != nil {
			return e
		}
		defer closing(db, &err)
		checkpoint = func(ctx context.Context, dir string) error {
			res, err := moments.Restore(ctx, a, m, dir, moments.RestoreOptions{})
			if err == nil && res.Database != db.UUID().String() {
				err = fmt.Errorf("%s has the log of the database %s, and this one is %s", a.Target(), res.Database, db.UUID())
			}
			return err
		}
	} else if server == nil {
		db, e := c.branchWriter(ctx, "if smolwc serve has it open, --addr HOST:PORT lets it make the copy")
		if e != nil {
			return e
		}
		defer closing(db, &err)
		checkpoint = db.Checkpoint
	} else if checkpoint, err = c.branchServed(ctx, server); err != nil {
		return err
	}
	b, err := d.Create(ctx, name, checkpoint)
	if err != nil {
		return fail(exitFailed, err)
	}
	c.say("branch %s is the database in %s", b.Name, b.Dir)
	return nil
}

// branchMoment opens the database for reading, and the archive, for the branch of a past moment.
func (c *command) branchMoment(ctx context.Context, past branchPast) (db *query.DB, m moments.Moment, a *archive.Archive, err error) {
	if m, err = shell.ParseMoment(past.at); err != nil {
		return nil, m, nil, fail(exitUsage, fmt.Errorf("--at: %w", err))
	}
	cfg, err := c.load(ctx)
	if err != nil {
		return nil, m, nil, err
	}
	if db, err = c.open(ctx, cfg, query.Options{ReadOnly: true}); err != nil {
		return nil, m, nil, err
	}
	from, err := archive.Local{DB: db}.Target(ctx, past.from)
	if err == nil {
		a, err = archive.Open(ctx, from)
	}
	if err != nil {
		return nil, m, nil, fail(exitFailed, errors.Join(err, db.Close()))
	}
	return db, m, a, nil
}

// branchServed lets the server make the copy, of the database in --db: the branch is beside that.
func (c *command) branchServed(ctx context.Context, server *client.Client) (func(context.Context, string) error, error) {
	cfg, err := c.load(ctx)
	if err != nil {
		return nil, err
	}
	db, err := c.open(ctx, cfg, query.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	here := db.UUID().String()
	if err := db.Close(); err != nil {
		return nil, fail(exitFailed, err)
	}
	return func(ctx context.Context, dir string) error {
		if err := server.Checkpoint(ctx, dir); err != nil {
			return err
		}
		served, err := plumbing.Identity(ctx, dir)
		if err == nil && served != here {
			err = fmt.Errorf("the server has another database than %s; name its directory with --db", shown(cfg.DataDir))
		}
		return err
	}, nil
}

func (c *command) branchListCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the branches of the database",
		Long:    "list prints the names of the branches; with --format json a line of JSON for each,\nwith its directory, the time when it was made and its identity. It opens no database.",
		Example: "  smolwc branch list",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != "table" && format != "json" {
				return fail(exitUsage, fmt.Errorf("--format is %q; it can be table or json", format))
			}
			d, err := c.branches(cmd.Context())
			if err != nil {
				return err
			}
			all, err := d.List()
			for _, b := range all {
				c.printBranch(b, format)
			}
			return fail(exitFailed, err)
		},
	}
	cmd.Flags().StringVar(&format, "format", "table", "print the list as `FORMAT`: table or json")
	return cmd
}

func (c *command) printBranch(b branch.Branch, format string) {
	if format == "table" {
		_, _ = fmt.Fprintln(c.out, b.Name)
		return
	}
	_ = json.NewEncoder(c.out).Encode(struct {
		Name    string    `json:"name"`
		Dir     string    `json:"dir"`
		Created time.Time `json:"created"`
		ID      string    `json:"id"`
		Origin  string    `json:"origin"`
	}{b.Name, b.Dir, b.Created, b.ID, b.Origin}) // c.out keeps the error
}

func (c *command) branchDropCommand() *cobra.Command {
	var remote remoteFlags
	cmd := &cobra.Command{
		Use:   "drop B",
		Short: "Remove a branch and its files",
		Long: `drop removes branch B. No process may have it open, and its own branches must be
dropped before. With --addr, smolwc serve --branches drops it, and cancels the calls about it.`,
		Example: "  smolwc branch drop b\n  smolwc branch drop b --addr localhost:8086",
		Args:    oneArg("B"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			return c.branchDrop(ctx, args[0], &remote)
		},
	}
	remote.add(cmd)
	return cmd
}

func (c *command) branchDrop(ctx context.Context, name string, remote *remoteFlags) error {
	server, err := c.branchServer(ctx, name, remote)
	if err != nil {
		return err
	}
	if server != nil {
		err = errors.Join(server.DropBranch(ctx, name), server.Close())
	} else {
		var d branch.Dir
		if d, err = c.branches(ctx); err != nil {
			return err
		}
		if err = d.Drop(ctx, name); query.KindOf(err) == query.KindBusy {
			err = fmt.Errorf("%w; if smolwc serve --branches has it open, --addr HOST:PORT lets it drop it", err)
		}
	}
	if err != nil {
		return fail(exitFailed, err)
	}
	c.say("dropped branch %s", name)
	return nil
}

// branchServer connects to the server that works on a branch; nil without --addr.
func (c *command) branchServer(ctx context.Context, name string, remote *remoteFlags) (*client.Client, error) {
	here := *c
	here.db = "" // --db names the place of the branches too
	if err := remote.check(&here); err != nil {
		return nil, fail(exitUsage, err)
	}
	if err := branch.CheckName(name); err != nil {
		return nil, fail(exitUsage, err)
	}
	if remote.addr == "" {
		return nil, nil
	}
	return remote.connect(ctx, c)
}

// A branchDiff prints the differences of a branch.
type branchDiff struct {
	*command
	format  string
	limit   int
	printed int64
}

func (c *command) branchDiffCommand() *cobra.Command {
	r := &branchDiff{command: c}
	cmd := &cobra.Command{
		Use:   "diff B",
		Short: "Print what was changed in a branch",
		Long: `diff compares branch B with the state that it began from, or with its state at its last
merge. Each cell that was added (+), removed (-) or replaced at its timestamp (~) is a
line. It reads both as a whole. Another process may be writing the branch.`,
		Example: "  smolwc branch diff b",
		Args:    oneArg("B"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			return r.run(ctx, args[0])
		},
	}
	cmd.Flags().StringVar(&r.format, "format", "table", "print each cell as `FORMAT`: table, or json for a line of JSON")
	cmd.Flags().IntVar(&r.limit, "limit", 100, "with --format table, print the first `N` cells; 0 prints all")
	return cmd
}

func (r *branchDiff) run(ctx context.Context, name string) error {
	if r.format != "table" && r.format != "json" {
		return fail(exitUsage, fmt.Errorf("--format is %q; it can be table or json", r.format))
	}
	d, err := r.branches(ctx)
	if err != nil {
		return err
	}
	b, err := d.Get(name)
	if err != nil {
		return fail(exitFailed, err)
	}
	report, err := branch.Diff(ctx, b, r.print)
	if err := unlessPiped(err); err != nil || r.format == "json" {
		return fail(exitFailed, err)
	}
	cells := report.Added + report.Removed + report.Changed
	if more := cells - r.printed; more > 0 {
		r.say("and %s more", counted(more, "cell"))
	}
	r.printSchema(report.Schema)
	switch {
	case cells > 0:
		r.say("%s in %s: %d added, %d removed, %d changed", counted(cells, "cell"), counted(report.Rows, "row"), report.Added, report.Removed, report.Changed)
	case report.Schema.Empty():
		r.say("the branch is equal to its base")
	}
	return nil
}

func (c *command) printSchema(p schema.Plan) {
	for _, change := range p.Changes {
		c.say("schema: %v", change)
	}
}

func (r *branchDiff) print(d branch.Difference) error {
	if r.format == "json" {
		return json.NewEncoder(r.out).Encode(struct {
			Table     string  `json:"table"`
			Row       []byte  `json:"row"` // in base64
			Family    string  `json:"family"`
			Qualifier []byte  `json:"qualifier"` // in base64
			Timestamp int64   `json:"timestamp"`
			Was       *string `json:"was"`
			Is        *string `json:"is"`
		}{d.Table, []byte(d.Row), d.Family, []byte(d.Qualifier), int64(d.Timestamp), textOf(d.Was), textOf(d.Is)})
	}
	if r.limit > 0 && r.printed >= int64(r.limit) {
		return nil
	}
	r.printed++
	sign, value := "~", fmt.Sprintf("%s -> %s", shortly(d.Was), shortly(d.Is))
	switch {
	case d.Was.Type() == cells.TypeAny:
		sign, value = "+", shortly(d.Is)
	case d.Is.Type() == cells.TypeAny:
		sign, value = "-", shortly(d.Was)
	}
	_, err := fmt.Fprintf(r.out, "%s %s row %q %s:%q@%d: %s\n", sign, d.Table, d.Row, d.Family, d.Qualifier, d.Timestamp, value)
	return err
}

// textOf is a value as text, or nil for no value.
func textOf(v cells.Value) *string {
	if v.Type() == cells.TypeAny {
		return nil
	}
	text := v.String()
	return &text
}

// shortly is a value on a line.
func shortly(v cells.Value) string {
	if v.Type() == cells.TypeAny {
		return "no cell"
	}
	text := excerpt.Of(v.String())
	if quoted := strconv.Quote(text); quoted != `"`+text+`"` {
		return quoted
	}
	return text
}

func (c *command) branchMergeCommand() *cobra.Command {
	var winner string
	var o branch.MergeOptions
	var remote remoteFlags
	cmd := &cobra.Command{
		Use:   "merge B",
		Short: "Make the changes of a branch in the database",
		Long: `merge makes in the database what was changed in branch B since it was made, or since its
last merge: cells with versions and types, deletes, and new tables and families. Other
changes of the schema are refused.

If the database has changed the same columns, and both are not equal now, merge lists
these conflicts, writes nothing and exits with 1. With --conflicts ours the database keeps
those columns, with --conflicts theirs it gets the branch's.

Changes of up to 16 MiB are one commit. A larger merge is several commits of whole rows;
if it is interrupted, the same command makes the rest. No other process may have the
database or the branch open; with --addr, smolwc serve merges, while both are used.`,
		Example: "  smolwc branch merge b --dry-run\n  smolwc branch merge b --conflicts theirs\n  smolwc branch merge b --addr localhost:8086",
		Args:    oneArg("B"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			switch {
			case !cmd.Flags().Changed("conflicts"):
			case winner == "ours":
				o.Winner = branch.Ours
			case winner == "theirs":
				o.Winner = branch.Theirs
			default:
				return fail(exitUsage, fmt.Errorf("--conflicts is %q; it can be ours or theirs", winner))
			}
			return c.branchMerge(ctx, args[0], o, &remote)
		},
	}
	cmd.Flags().StringVar(&winner, "conflicts", "", "let `SIDE` win conflicts: ours or theirs")
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "only count the changes and list the conflicts")
	remote.add(cmd)
	return cmd
}

func (c *command) branchMerge(ctx context.Context, name string, o branch.MergeOptions, remote *remoteFlags) error {
	server, err := c.branchServer(ctx, name, remote)
	if err != nil {
		return err
	}
	if server == nil {
		return c.branchMergeHere(ctx, name, o)
	}
	m, err := server.MergeBranch(ctx, name, o)
	return c.merged(m.MergeReport, m.Created, o, errors.Join(err, server.Close()))
}

func (c *command) branchMergeHere(ctx context.Context, name string, o branch.MergeOptions) (err error) {
	d, err := c.branches(ctx)
	if err != nil {
		return err
	}
	b, err := d.Get(name)
	if err != nil {
		return fail(exitFailed, err)
	}
	const instead = "if smolwc serve has it open, --addr HOST:PORT lets it merge"
	db, err := c.branchWriter(ctx, instead)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	report, err := branch.Merge(ctx, db, b, o)
	if query.KindOf(err) == query.KindBusy {
		return fail(exitOpen, fmt.Errorf("%w; %s", err, instead))
	}
	var created []string
	for _, change := range report.Schema.Changes {
		created = append(created, change.String())
	}
	return c.merged(report, created, o, err)
}

// merged prints the result of a merge.
func (c *command) merged(report branch.MergeReport, created []string, o branch.MergeOptions, err error) error {
	for _, f := range report.First {
		c.say("conflict: %s row %q %s:%q was %s, is %s here and %s in the branch", f.Table, f.Row, f.Family, f.Qualifier, shortly(f.Base), shortly(f.Ours), shortly(f.Theirs))
	}
	if more := report.Conflicts - int64(len(report.First)); more > 0 {
		c.say("and %s more", counted(more, "conflict"))
	}
	switch {
	case errors.Is(err, branch.ErrConflicts):
		return fail(exitFailed, fmt.Errorf("%w; --conflicts ours or --conflicts theirs says which side wins", err))
	case err != nil:
		return fail(exitFailed, err)
	}
	for _, change := range created {
		c.say("schema: %s", change)
	}
	if o.DryRun {
		c.say("would change %s in %s", counted(report.Cells, "cell"), counted(report.Rows, "row"))
		return nil
	}
	commits := "in one commit"
	if report.Commits > 1 {
		commits = fmt.Sprintf("in %d commits", report.Commits)
	}
	if report.Commits == 0 {
		c.say("there was no cell to change")
		return nil
	}
	c.say("changed %s in %s, %s", counted(report.Cells, "cell"), counted(report.Rows, "row"), commits)
	return nil
}

func counted(n int64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", one, "s")
}
