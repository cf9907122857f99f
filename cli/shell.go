package cli

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/cli/internal/config"
	"github.com/smolwc/smolwc/internal/osfile"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/shell"
	"github.com/smolwc/smolwc/views"
)

// A shellRun is smolwc without a subcommand.
type shellRun struct {
	*command
	sources   sources
	format    string
	keepGoing bool
	mustExist bool
	noColor   bool
	timing    bool
	version   bool
	stats     bool
	timeout   time.Duration
	remote    remoteFlags
	unkeep    func() // undoes keepViews; nil: nothing
}

func (c *command) shellCommand() *cobra.Command {
	r := &shellRun{command: c}
	cmd := &cobra.Command{
		Use:   "smolwc",
		Short: "Bigtable's data model in one binary: a shell, and tools around it",
		Long: `smolwc opens a database and runs statements: those of -c and -f in the order
given; without these, a script on standard input; at a terminal, a shell. The
statement help explains the language: smolwc -c help, smolwc -c 'help scan'.

With --addr it uses the database of a running smolwc serve. --db may also be the URL
of a database on TiKV, in a build that has it: tikv://PD:2379/NAME. docs/tikv.md
describes it.

A database is created when --db or $SMOLWC_DB names a directory without one, or
when the configuration declares tables; the first statement that writes creates the
declared tables. It is not created if there is only -c, and the statements only read,
or use tables that nothing declares or creates: the directory's name is then probably
mistyped.`,
		Example: `  smolwc
  smolwc -c 'scan fleet prefix=plane# limit=5'
  smolwc --db ./data -f load.smolwc
  smolwc --addr localhost:8086 -c 'scan fleet limit=5'
  echo 'count fleet' | smolwc --format csv`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if r.version { // cobra's own would need templates: see console/assets.go
				return c.printVersion()
			}
			return r.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&r.version, "version", "v", false, "print the version")
	flags.FuncP("command", "c", "run the statements in `STMT`; may be repeated", r.sources.add(sourceStatement))
	flags.FuncP("file", "f", "run the statements in `FILE`, - for standard input; may be repeated", r.sources.add(sourceFile))
	flags.StringVar(&r.format, "format", "", "print results as `FORMAT` (default table on a terminal, else jsonl)")
	flags.BoolVar(&r.keepGoing, "keep-going", false, "go on after a statement that fails, and exit with 1 at the end")
	flags.BoolVar(&r.mustExist, "must-exist", false, "exit with 4 when a get finds nothing")
	flags.BoolVar(&r.noColor, "no-color", false, "use no colours; $NO_COLOR does the same")
	flags.BoolVar(&r.timing, "timing", false, "say how long each statement takes")
	flags.BoolVar(&r.stats, "stats", false, "say what each get, scan and count costs")
	flags.DurationVar(&r.timeout, "timeout", 0, "give up after `D`, such as 30s")
	r.remote.add(cmd)
	flags.BoolVar(&c.readOnly, "read-only", false, "open read-only, even while another process writes")
	return cmd
}

func (r *shellRun) run(ctx context.Context) (err error) {
	if r.format != "" {
		if err := shell.CheckFormat(r.format); err != nil {
			return fail(exitUsage, err)
		}
	}
	if r.timeout < 0 {
		return fail(exitUsage, fmt.Errorf("--timeout is %v; it must not be negative", r.timeout))
	}
	if err := r.remote.check(r.command); err != nil {
		return fail(exitUsage, err)
	}
	interactive := len(r.sources) == 0 && isTerminal(r.stdin) && isTerminal(r.stdout)
	var stop context.CancelFunc
	if interactive { // the shell handles Ctrl-C
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
		context.AfterFunc(ctx, stop)
	} else {
		ctx, stop = interruptible(ctx)
	}
	defer stop()
	if r.timeout > 0 && !interactive {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.timeout)
		defer cancel()
	}
	if err := r.sources.open(ctx, r.stdin); err != nil {
		return fail(exitUsage, err)
	}
	defer r.sources.close()
	r.sources.name()
	if r.sources.explain() {
		return r.session(ctx, r.options(nil), false)
	}
	if r.remote.addr != "" {
		return r.runRemote(ctx, interactive)
	}
	cfg, err := r.load(ctx)
	if err != nil {
		return err
	}
	db, err := r.openForStatements(ctx, cfg)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fail(exitOpen, fmt.Errorf("%w: %w", r.gaveUp(), err))
	}
	if err != nil {
		return err
	}
	defer closing(db, &err)
	return r.statements(ctx, cfg, db, interactive)
}

func (r *shellRun) openForStatements(ctx context.Context, cfg *config.Config) (*query.DB, error) {
	if r.readOnly {
		return r.open(ctx, cfg, query.Options{ReadOnly: true, MustExist: true})
	}
	db, err := r.open(ctx, cfg, query.Options{MustExist: r.sources.typed() && (r.sources.onlyRead() || !declares(cfg) && r.sources.wantData())})
	switch {
	case errors.Is(err, query.ErrNotFound) && r.sources.unreadable() != nil: // it may be one that makes the database
		err = fail(exitFailed, r.sources.unreadable())
	case query.KindOf(err) == query.KindBusy:
		err = fail(exitOpen, fmt.Errorf("%w; --read-only opens it beside that process, and --addr uses it through smolwc serve", err))
	case query.KindOf(err) == query.KindUnavailable && mayOnlyRead(cfg.DataDir):
		err = fail(exitOpen, fmt.Errorf("%w; --read-only opens it there", err))
	}
	return db, err
}

func (r *shellRun) statements(ctx context.Context, cfg *config.Config, db *query.DB, interactive bool) error {
	o := r.options(db)
	o.Open = func(ctx context.Context, dir string) (*query.DB, error) { return r.openOther(ctx, cfg, dir) }
	r.keepViews(ctx, db)
	defer func() { r.keepViews(ctx, nil) }()
	if !r.readOnly {
		o.Prepare = func(ctx context.Context) error { return r.declare(ctx, db, cfg) }
	}
	if interactive {
		r.hint(undeclared(db, cfg))
	}
	err := r.session(ctx, o, interactive)
	if err != nil && !interactive && ctx.Err() == nil {
		r.hint(undeclared(db, cfg))
	}
	return err
}

// scripts runs the sources in order; without sources it runs standard input.
func (r *shellRun) scripts(ctx context.Context, s *shell.Session) error {
	var first error
	todo := r.sources
	if len(todo) == 0 {
		todo = sources{{kind: sourceFile, text: shell.Stdin, reader: r.stdin}}
	}
	for _, src := range todo {
		if s.Left() {
			break
		}
		var err error
		if src.kind == sourceStatement {
			err = s.RunNamed(ctx, src.name, src.text)
		} else {
			err = s.RunScript(ctx, src.text, osfile.Reader(ctx, src.reader))
		}
		if first == nil {
			first = err
		}
		if err != nil && (!r.keepGoing || ctx.Err() != nil || errors.Is(err, shell.ErrOutputClosed)) {
			break
		}
	}
	if errors.Is(first, context.DeadlineExceeded) {
		return fail(exitFailed, r.gaveUp())
	}
	return r.outcome(first)
}

func (r *shellRun) gaveUp() error { return fmt.Errorf("gave up after %v, the --timeout", r.timeout) }

// outcome returns a session's error as an exit code. The session already reported the
// error.
func (r *shellRun) outcome(err error) error {
	if code := shell.ExitCode(err); code != 0 {
		return &failure{code: code}
	}
	return nil
}

func (r *shellRun) options(db *query.DB) shell.Options {
	o := r.command.options(db)
	o.Format, o.KeepGoing, o.MustExist, o.Timing, o.Stats = r.format, r.keepGoing, r.mustExist, r.timing, r.stats
	o.Color = o.Color && !r.noColor
	o.ReadOnly = r.readOnly
	return o
}

// openOther opens another database, in a directory or at a URL, for .open. The database must exist;
// it is opened with the same options as the first one.
func (r *shellRun) openOther(ctx context.Context, cfg *config.Config, dir string) (*query.DB, error) {
	db, err := r.openAt(ctx, dir, cfg, query.Options{ReadOnly: r.readOnly, MustExist: true})
	if errors.Is(err, query.ErrNotFound) {
		err = fmt.Errorf("%w; smolwc --db %s creates one", err, shown(dir))
	}
	if err == nil {
		if err = r.checkFinished(ctx, db, dir, r.readOnly); err != nil {
			return nil, errors.Join(err, db.Close())
		}
		r.keepViews(ctx, db)
	}
	return db, err
}

// keepViews keeps the rows of a database's materialized views beside the statements, as a
// server does, and leaves the views of the database before; nil is no database.
func (r *shellRun) keepViews(ctx context.Context, db *query.DB) {
	if r.unkeep != nil {
		r.unkeep()
		r.unkeep = nil
	}
	if db == nil || r.readOnly {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		views.Of(db).Keep(ctx, nil) // queries of the views say what fails
	}()
	r.unkeep = func() { cancel(); <-done }
}
