package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"time"

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

	soak, interval time.Duration
	seed           uint64
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
nothing. Each of the two has a cache of "memory" bytes.

With --soak it measures nothing: for that long it writes, reads, collects,
compacts, backs up, restores, and closes and opens a database of its own, all at
once, and compares all that it reads with what it wrote. It ends with an error
when something read was wrong, when memory or open files grew, when something was
left open, or when the check at the end finds anything, and then leaves the
database for a look. The first third of the time is for warming up; in the last
third the median may be a tenth, and 16 MiB or 16 files, above that of the second.
The same --seed makes the same choices.`,
		Example: `  smolwc bench --cells 200k --run 'scan|get'
  smolwc bench --db data --table fleet
  smolwc bench --soak 10m`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("soak") {
				return r.soakFor(cmd.Context())
			}
			return r.measure(cmd.Context())
		},
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
	flags.DurationVar(&r.soak, "soak", 0, "work for `TIME`, such as 10m or 8h, and look whether all is right")
	flags.DurationVar(&r.interval, "interval", 10*time.Second, "in a soak, print a line every `TIME`")
	flags.Uint64Var(&r.seed, "seed", 0, "in a soak, make the choices of `N`; 0 is another each time")
	cmd.MarkFlagsMutuallyExclusive("json", "benchstat")
	for _, other := range []string{"table", "cells", "ops", "rounds", "run", "json", "benchstat", "list"} {
		cmd.MarkFlagsMutuallyExclusive("soak", other)
	}
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

// soakFor soaks a database of its own, which it leaves behind when it fails.
func (r *benchRun) soakFor(ctx context.Context) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	switch {
	case r.soak <= 0:
		return fail(exitUsage, fmt.Errorf("--soak is %v; it must be more than 0, such as 10m", r.soak))
	case r.interval <= 0:
		return fail(exitUsage, fmt.Errorf("--interval is %v; it must be more than 0, such as 10s", r.interval))
	case r.db != "":
		return fail(exitUsage, errors.New("a soak makes a database of its own, and --db names one; --temp says where it is made"))
	}
	if r.seed == 0 {
		r.seed = rand.Uint64()
	}
	dir, err := os.MkdirTemp(r.temp, "smolwc-soak-")
	if err != nil {
		return fail(exitFailed, err)
	}
	r.say("--seed %d", r.seed)
	s := &bench.Soak{Dir: dir, Duration: r.soak, Interval: r.interval, Seed: r.seed, Memory: 32 << 20, Out: r.stdout}
	switch err := s.Run(ctx); {
	case errors.Is(err, context.Canceled):
		return errors.Join(fail(exitInterrupt, err), os.RemoveAll(dir))
	case err != nil:
		return fail(exitFailed, fmt.Errorf("soak with --seed %d: %w; the database is left in %s", r.seed, err, dir))
	}
	return fail(exitFailed, os.RemoveAll(dir))
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
