package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/branch"
	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/internal/osfile"
	"github.com/smolwc/smolwc/mcp"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// An mcpRun is a run of smolwc mcp.
type mcpRun struct {
	*command
	remote        remoteFlags
	views, tables []string
	maxRows       int64
	maxBytes      sizeFlag
	timeout       time.Duration
	branch        string
}

func (c *command) mcpCommand() *cobra.Command {
	r := &mcpRun{command: c, maxBytes: sizeFlag(mcp.DefaultBudget.Bytes)}
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Let an agent look into the database, over the Model Context Protocol",
		Long: `mcp answers an agent, such as Claude Code or an editor's, over standard input and
output: tables, their schemas and example rows, and queries of SQL. A query that would
read more than the budget is refused before it runs, and one that does so nevertheless
is ended. The database is opened read-only, also beside a process that writes.

With --branch the agent reads and writes this branch of the database, which smolwc branch
create makes, and lists what it has changed. You merge it, or drop it.

With --addr the agent looks into the database of a running smolwc serve; the token's
rights hold, and --branch needs serve --branches. docs/mcp.md describes the tools.`,
		Example: `  claude mcp add fleet -- smolwc mcp --db /srv/data
  smolwc mcp --db data --view large_planes --max-rows 10000
  smolwc mcp --db data --branch refit`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for flag, names := range map[string][]string{"view": r.views, "tables": r.tables} {
				if cmd.Flags().Changed(flag) && len(names) == 0 { // no name would show everything
					return fail(exitUsage, fmt.Errorf("--%s is empty; it must name something", flag))
				}
			}
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			return r.run(ctx)
		},
	}
	r.remote.add(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&r.views, "view", nil, "show only the view `V`, and what is named beside it; may be repeated")
	flags.StringSliceVar(&r.tables, "tables", nil, "show only the table `T`, and what is named beside it; may be repeated")
	flags.Int64Var(&r.maxRows, "max-rows", mcp.DefaultBudget.Rows, "a call reads `N` rows at most")
	flags.Var(&r.maxBytes, "max-bytes", "a call reads `SIZE` at most")
	flags.DurationVar(&r.timeout, "timeout", mcp.DefaultTimeout, "a call takes `D` at most")
	flags.StringVar(&r.branch, "branch", "", "read and write branch `B` instead of the database")
	return cmd
}

func (r *mcpRun) run(ctx context.Context) (err error) {
	if err := r.check(); err != nil {
		return fail(exitUsage, err)
	}
	o := mcp.Options{Names: append(r.views, r.tables...), Timeout: r.timeout, Version: version(), Writes: r.branch != ""}
	o.Budget.Rows, o.Budget.Bytes = r.maxRows, int64(r.maxBytes)
	if r.remote.addr != "" {
		if r.branch != "" {
			r.remote.instance = branchInstance(cmp.Or(r.remote.instance, client.DefaultInstance), r.branch)
		}
		if o.Client, err = r.remote.connect(ctx, r.command); err != nil {
			return err
		}
		defer func() { _ = o.Client.Close() }()
		if r.branch != "" { // another instance of this name would be written
			if err := o.Client.CheckBranch(ctx, r.branch); err != nil {
				return fail(exitOpen, err)
			}
		}
	} else {
		if o.DB, o.Branch, err = r.openHere(ctx); err != nil {
			return err
		}
		defer closing(o.DB, &err)
	}
	if isTerminal(r.stdin) {
		r.hint("waiting for an agent's messages on standard input; docs/mcp.md has the configuration")
	}
	in := io.NopCloser(osfile.Reader(ctx, r.stdin))
	if err := mcp.Serve(ctx, in, unclosed{r.out}, o); ctx.Err() == nil {
		return fail(exitFailed, err)
	}
	return fail(exitFailed, ctx.Err())
}

func (r *mcpRun) check() error {
	switch {
	case r.maxRows < 1 || r.maxBytes < 1:
		return fmt.Errorf("--max-rows is %d and --max-bytes %s; both must be positive", r.maxRows, schema.FormatSize(int64(r.maxBytes)))
	case r.timeout <= 0:
		return fmt.Errorf("--timeout is %v; it must be positive", r.timeout)
	}
	if r.branch != "" {
		if err := branch.CheckName(r.branch); err != nil {
			return err
		}
		if own := cmp.Or(r.remote.instance, client.DefaultInstance); r.remote.addr != "" && branchInstance(own, r.branch) == own {
			return fmt.Errorf("--branch %s is the database itself, the instance %s; writes go to a branch only", r.branch, own)
		}
	}
	return r.remote.check(r.command)
}

// branchInstance is the instance of a branch of the database that serves an instance.
func branchInstance(instance, name string) string {
	return instance[:strings.LastIndexByte(instance, '/')+1] + name
}

// openHere opens the database for reading, or its branch.
func (r *mcpRun) openHere(ctx context.Context) (*query.DB, *branch.Branch, error) {
	cfg, err := r.load(ctx)
	if err != nil {
		return nil, nil, err
	}
	if r.branch == "" {
		r.readOnly = true
		db, err := r.open(ctx, cfg, query.Options{ReadOnly: true, MustExist: true})
		return db, nil, err
	}
	d, err := r.branches(ctx)
	if err != nil {
		return nil, nil, err
	}
	b, err := d.Get(r.branch)
	if query.KindOf(err) == query.KindNotFound {
		err = fmt.Errorf("%w; smolwc branch create %s makes it", err, r.branch)
	}
	if err != nil {
		return nil, nil, fail(exitOpen, err)
	}
	db, err := r.openAt(ctx, b.Dir, cfg, query.Options{MustExist: true})
	if query.KindOf(err) == query.KindBusy {
		err = errors.Join(err, errors.New("if smolwc serve --branches has it open, give --addr HOST:PORT"))
	}
	return db, &b, fail(exitOpen, err)
}

// unclosed is standard output, which its user does not close.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
