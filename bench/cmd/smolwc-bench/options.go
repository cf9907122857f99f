package main

import (
	"flag"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/smolwc/smolwc/bench/workload"
)

// options are the values of the flags.
type options struct {
	// workloads, and where they run
	run, engines, peers        string
	dir, temp                  string
	db, table                  string
	flights                    string
	cells, writes, ops, memory number
	rounds                     int

	// how to report it
	json, benchstat, list bool
	cold                  bool // nothing in the system's cache at first
	profiles              string

	// other actions
	compare, asBenchstat bool
	processor            bool // with compare
	soaks                bool // -soak was given
	queues               bool
	soak, interval       time.Duration
	seed                 uint64
}

const usage = `smolwc-bench measures smolwc on this machine, as a ratio to plain C over RocksDB that
does the same on the same files: 1.00 is as fast, 0.50 takes twice as long. The
contenders take turns; a ratio is the median over rounds.

Without -table it makes databases of its own and removes them, unless -dir says
where to keep them. With -table it reads a table of the database that -db names,
and writes nothing. Each contender has a cache of -memory bytes.

With -soak it measures nothing: for that long it writes, reads, collects,
compacts, backs up, restores, and closes and opens a database of its own, all at
once, and compares all that it reads with what it wrote. It ends with an error
when something read was wrong, when memory or open files grew, when something was
left open, or when the check at the end finds anything, and then leaves the
database for a look. The first third of the time is for warming up; in the last
third the median may be a tenth, and 16 MiB or 16 files, above that of the second.
The same -seed makes the same choices.

With -queue it measures queues: -ops items that 16 workers enqueue, take and
complete, beside a table of jobs in SQLite; then single dequeues while up to -cells
items wait, and after these have been done.

Examples:
  smolwc-bench -cells 200k -run 'scan|get'
  smolwc-bench -db data -table fleet
  smolwc-bench -soak 10m

Flags:
`

// parse reads the flags and returns the arguments after them. For -help it prints
// the usage and returns flag.ErrHelp.
func parse(args []string, stdout io.Writer) (*options, []string, error) {
	o := &options{cells: 1_000_000, memory: 1 << 30}
	flags := flag.NewFlagSet("smolwc-bench", flag.ContinueOnError)
	o.define(flags)
	flags.SetOutput(io.Discard) // the error carries the message
	err := flags.Parse(args)
	switch {
	case err == flag.ErrHelp:
		flags.SetOutput(stdout)
		if _, err := io.WriteString(stdout, usage); err != nil {
			return nil, nil, err
		}
		flags.PrintDefaults()
		return nil, nil, err
	case err != nil:
		return nil, nil, usageError{err}
	}
	return o, flags.Args(), o.check(flags)
}

func (o *options) define(flags *flag.FlagSet) {
	flags.Var(&o.cells, "cells", "make tables of `N` cells; 10M is ten million")
	flags.Var(&o.writes, "writes", "write `N` cells in a round of a write workload; 0 is as many as in a table, 250k at most")
	flags.Var(&o.ops, "ops", "do `N` operations in a round of gets and of mixed workloads; 0 is a twentieth of the cells, 50k at most")
	flags.Var(&o.memory, "memory", "give each database `N` bytes for its cache and write buffers")
	flags.StringVar(&o.dir, "dir", "", "keep the data in `DIR` and use it again; empty: a temporary directory")
	flags.StringVar(&o.temp, "temp", "", "make the temporary directory in `DIR`; empty: the system's place for temporary files")
	flags.StringVar(&o.db, "db", "", "read a table of the database in `DIR`")
	flags.StringVar(&o.table, "table", "", "read `TABLE` of the database instead of generated data")
	flags.StringVar(&o.flights, "flights", "", "import the flights of a CSV `FILE`; empty is a generated one")
	flags.IntVar(&o.rounds, "rounds", 5, "do everything `N` times, after a first time for warming up; the figures are medians")
	flags.StringVar(&o.run, "run", "", "run only workloads whose names match `REGEXP`")
	flags.StringVar(&o.engines, "engine", workload.RocksDB, "measure smolwc on these `ENGINES`: "+strings.Join(workload.Engines, ", ")+", or both with a comma between")
	flags.StringVar(&o.peers, "peers", "grocksdb,pebble,badger", "compare with these `ENGINES` besides C")
	flags.BoolVar(&o.cold, "cold", false, "before each turn of a contender, make the system forget the files of -dir that it has cached")
	flags.BoolVar(&o.json, "json", false, "print a JSON object in each line")
	flags.BoolVar(&o.benchstat, "benchstat", false, "print lines for benchstat")
	flags.BoolVar(&o.list, "list", false, "list the workloads and exit")
	flags.StringVar(&o.profiles, "profiles", "", "write what smolwc does in each workload into `DIR`: profiles of the processor's time, of allocations, and of waits for locks (mutex) and for anything in Go (block), for go tool pprof")
	flags.BoolVar(&o.compare, "compare", false, "compare two files of JSON lines, given as arguments, and exit")
	flags.BoolVar(&o.processor, "processor", false, "with -compare: compare processor time, which varies less on a busy machine")
	flags.BoolVar(&o.asBenchstat, "as-benchstat", false, "print a file of JSON lines, given as argument, for benchstat, and exit")
	flags.DurationVar(&o.soak, "soak", 0, "run all kinds of operations for `TIME`, such as 10m or 8h, and check the results")
	flags.BoolVar(&o.queues, "queue", false, "measure queues beside a table of jobs in SQLite")
	flags.DurationVar(&o.interval, "interval", 10*time.Second, "in a soak, print a line every `TIME`")
	flags.Uint64Var(&o.seed, "seed", 0, "in a soak, make the same choices as every run with `N`; 0: a new seed each time")
}

// modes are the flags that choose an action, each with the flags that it allows.
var modes = map[string][]string{
	"soak":         {"interval", "seed", "temp"},
	"table":        {"db", "ops", "memory", "rounds", "run", "json", "benchstat", "list", "profiles"},
	"queue":        {"ops", "cells", "memory", "rounds", "temp"},
	"compare":      {"processor"},
	"as-benchstat": {},
}

// needs are flags that have no effect without another one.
var needs = map[string]string{"interval": "soak", "seed": "soak", "db": "table", "table": "db", "processor": "compare"}

// check refuses flags that do not go together, and impossible values.
func (o *options) check(flags *flag.FlagSet) error {
	var given []string
	flags.Visit(func(f *flag.Flag) { given = append(given, f.Name) })
	for _, name := range given {
		if need, ok := needs[name]; ok && !slices.Contains(given, need) {
			return wrongUsage("-%s says nothing without -%s; add it", name, need)
		}
		beside, ok := modes[name]
		for _, other := range given {
			if ok && other != name && !slices.Contains(beside, other) {
				return wrongUsage("-%s and -%s do not go together%s", name, other, goesWith(beside))
			}
		}
	}
	o.soaks = slices.Contains(given, "soak")
	switch {
	case o.json && o.benchstat:
		return wrongUsage("-json and -benchstat do not go together")
	case o.dir != "" && o.temp != "":
		return wrongUsage("-dir and -temp do not go together")
	case o.rounds < 1:
		return wrongUsage("-rounds is %d; it must be at least 1", o.rounds)
	case o.cells < 1:
		return wrongUsage("-cells is 0; it must be at least 1")
	case o.soaks && o.soak <= 0:
		return wrongUsage("-soak is %v; it must be more than 0, such as 10m", o.soak)
	case o.interval <= 0:
		return wrongUsage("-interval is %v; it must be more than 0, such as 10s", o.interval)
	}
	return nil
}

func goesWith(flags []string) string {
	if len(flags) == 0 {
		return ""
	}
	return "; the others may be -" + strings.Join(flags, ", -")
}
