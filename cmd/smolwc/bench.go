package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/internal/bench"
	"github.com/smolwc/smolwc/internal/config"
	"github.com/smolwc/smolwc/query"
)

// A benchRun is a run of benchmarks.
type benchRun struct {
	*command
	table, run, temp      string
	cells, ops            bench.Number
	rounds                int
	json, benchstat, list bool
}

func (c *command) benchCommand() *cobra.Command {
	r := &benchRun{command: c, cells: 1_000_000}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure smolwc against plain C over RocksDB, on this machine",
		Long: `bench measures smolwc on this machine, as a ratio to plain C over RocksDB that
does the same on the same files: 1.00 is as fast, 0.50 takes twice as long. The
two take turns; a ratio is the median over rounds.

Without --table it makes databases of its own and removes them. With --table it
reads a table of the database that --db or the configuration names, and writes
nothing. Each of the two has a cache of "memory" bytes.`,
		Example: `  smolwc bench --cells 200k --run 'scan|get'
  smolwc bench --db data --table fleet`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.measure(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&r.table, "table", "", "read `TABLE` of the database instead of made data")
	flags.Var(&r.cells, "cells", "make tables of `N` cells, such as 200k or 10M")
	flags.Var(&r.ops, "ops", "get `N` rows in a round (default: from the number of cells)")
	flags.IntVar(&r.rounds, "rounds", 5, "do everything `N` times, after once to warm up")
	flags.StringVar(&r.run, "run", "", "only workloads whose names match `REGEXP`")
	flags.StringVar(&r.temp, "temp", "", "make the databases in `DIR` (default: the directory for temporary files)")
	flags.BoolVar(&r.json, "json", false, "print a JSON object a line")
	flags.BoolVar(&r.benchstat, "benchstat", false, "print lines for benchstat")
	flags.BoolVar(&r.list, "list", false, "list the workloads and end")
	cmd.MarkFlagsMutuallyExclusive("json", "benchstat")
	return cmd
}

// measure runs the workloads that are asked for.
func (r *benchRun) measure(ctx context.Context) (err error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	wanted, err := regexp.Compile(r.run)
	switch {
	case err != nil:
		return fail(exitUsage, fmt.Errorf("--run: %w", err))
	case r.rounds < 1:
		return fail(exitUsage, fmt.Errorf("--rounds is %d; it must be at least 1", r.rounds))
	case r.cells < 1:
		return fail(exitUsage, errors.New("--cells is 0; it must be at least 1"))
	case r.table == "" && r.db != "":
		return fail(exitUsage, errors.New("--db names a database and nothing says which table of it to read; add --table"))
	}
	cfg, err := r.load()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(r.temp, "smolwc-bench-")
	if err != nil {
		return fail(exitFailed, err)
	}
	defer func() { err = errors.Join(err, fail(exitFailed, os.RemoveAll(dir))) }()
	e := bench.DefaultEnv(dir, int(r.cells))
	if r.ops > 0 {
		e.Ops = int(r.ops)
	}
	ws, err := r.workloads(ctx, e, cfg)
	if err != nil {
		return err
	}
	ws = slices.DeleteFunc(ws, func(w bench.Workload) bool { return !wanted.MatchString(w.Name) })
	switch {
	case len(ws) == 0:
		return fail(exitUsage, fmt.Errorf("--run: no workload is called like %q; --list names them", r.run))
	case r.list:
		return r.names(ws)
	}
	return fail(exitFailed, bench.RunAll(ctx, e, ws, r.rounds, r.report()))
}

// workloads are those on made data, or those on the user's table.
func (r *benchRun) workloads(ctx context.Context, e *bench.Env, cfg *config.Config) ([]bench.Workload, error) {
	if r.table == "" {
		return bench.Workloads(), nil
	}
	e.Memory = cfg.Memory
	ws, err := bench.TableWorkloads(ctx, e, cfg.DataDir, r.table)
	if _, ok := errors.AsType[*query.Error](err); ok {
		return nil, fail(exitOpen, err)
	}
	return ws, fail(exitFailed, err)
}

func (r *benchRun) report() bench.Report {
	switch {
	case r.json:
		return bench.NewJSON(r.stdout)
	case r.benchstat:
		return bench.NewBenchstat(r.stdout)
	}
	return bench.NewTable(r.stdout)
}

func (r *benchRun) names(ws []bench.Workload) error {
	for _, w := range ws {
		if _, err := fmt.Fprintf(r.stdout, "%-22s %s\n", w.Name, w.About); err != nil {
			return fail(exitFailed, err)
		}
	}
	return nil
}
