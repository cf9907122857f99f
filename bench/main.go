// Command bench measures smolwc against what its users would otherwise use, on
// the same data in one process: RocksDB by hand in plain C, which is the limit,
// and in Go over grocksdb; Pebble and Badger with the same cells under the same
// keys. The figures to read are the ratios; machines differ and drift.
// docs/performance.md says how to measure.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"

	"github.com/smolwc/smolwc/internal/bench"
)

// A config is what the flags say.
type config struct {
	rounds               int
	run, profile, peers  string
	json, benchstat      bool
	list                 bool
	compare, asBenchstat bool
}

func main() {
	if err := mainErr(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func mainErr(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	flags.SetOutput(stderr)
	cells, writes, ops := bench.Number(1_000_000), bench.Number(0), bench.Number(0)
	memory := bench.Number(1 << 30)
	var c config
	flags.Var(&cells, "cells", "cells in a table that is read; 10M is ten million")
	flags.Var(&writes, "writes", "cells that a round of a write workload writes; 0 is as many as in a table, 250k at most")
	flags.Var(&ops, "ops", "operations in a round of gets and of mixed workloads; 0 is a twentieth of the cells, 50k at most")
	flags.Var(&memory, "memory", "bytes of cache and write buffers of each database")
	dir := flags.String("dir", "", "directory for the data, kept and used again; empty is one that is removed")
	flights := flags.String("flights", "", "CSV `file` of flights to import; empty is a generated one")
	flags.IntVar(&c.rounds, "rounds", 5, "rounds that count; the figures are medians")
	flags.StringVar(&c.run, "run", "", "run only workloads whose names match this regular expression")
	flags.StringVar(&c.peers, "peers", "grocksdb,pebble,badger", "engines to compare with besides C")
	flags.BoolVar(&c.json, "json", false, "print a JSON object a line")
	flags.BoolVar(&c.benchstat, "benchstat", false, "print lines for benchstat")
	flags.BoolVar(&c.list, "list", false, "list the workloads and end")
	flags.BoolVar(&c.compare, "compare", false, "compare two files of JSON lines, given as arguments, and end")
	flags.BoolVar(&c.asBenchstat, "as-benchstat", false, "print a file of JSON lines, given as argument, for benchstat, and end")
	flags.StringVar(&c.profile, "cpuprofile", "", "write a CPU profile to this `file`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case c.list:
		return list(stdout)
	case c.compare:
		return compare(stdout, flags.Args())
	case c.asBenchstat:
		return asBenchstat(stdout, flags.Args())
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case c.rounds < 1:
		return fmt.Errorf("%d rounds; there must be one at least", c.rounds)
	}
	e := bench.DefaultEnv(*dir, int(cells))
	e.Memory, e.Flights = int64(memory), *flights
	if writes > 0 {
		e.Writes = int(writes)
	}
	if ops > 0 {
		e.Ops = int(ops)
	}
	var err error
	if e.Peers, err = choose(c.peers); err != nil {
		return err
	}
	if e.Dir == "" {
		if e.Dir, err = os.MkdirTemp("", "smolwc-bench-"); err != nil {
			return err
		}
		defer os.RemoveAll(e.Dir)
	}
	return c.measure(e, stdout)
}

// measure runs the workloads that are asked for.
func (c config) measure(e *bench.Env, stdout io.Writer) error {
	wanted, err := regexp.Compile(c.run)
	if err != nil {
		return err
	}
	ws := slices.DeleteFunc(bench.Workloads(), func(w bench.Workload) bool { return !wanted.MatchString(w.Name) })
	if len(ws) == 0 {
		return fmt.Errorf("no workload is called like %q; -list names them", c.run)
	}
	if c.profile != "" {
		f, err := os.Create(c.profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	report := bench.NewTable(stdout)
	switch {
	case c.json:
		report = bench.NewJSON(stdout)
	case c.benchstat:
		report = bench.NewBenchstat(stdout)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop() // the data is removed when it is interrupted, too
	return bench.RunAll(ctx, e, ws, c.rounds, report)
}

func list(w io.Writer) error {
	for _, l := range bench.Workloads() {
		if _, err := fmt.Fprintf(w, "%-20s %s\n", l.Name, l.About); err != nil {
			return err
		}
	}
	return nil
}

// compare compares what two commits measured.
func compare(w io.Writer, files []string) error {
	if len(files) != 2 {
		return fmt.Errorf("-compare takes two files, and got %d", len(files))
	}
	var in [2]*os.File
	for i, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		in[i] = f
	}
	return bench.Compare(w, filepath.Base(files[0]), in[0], filepath.Base(files[1]), in[1])
}

// asBenchstat prints results again.
func asBenchstat(w io.Writer, files []string) error {
	if len(files) != 1 {
		return fmt.Errorf("-as-benchstat takes one file, and got %d", len(files))
	}
	f, err := os.Open(files[0])
	if err != nil {
		return err
	}
	defer f.Close()
	return bench.Replay(f, bench.NewBenchstat(w))
}

// choose are the peers with these names.
func choose(names string) (chosen []bench.Peer, err error) {
	for name := range strings.SplitSeq(names, ",") {
		if name == "" {
			continue
		}
		i := slices.IndexFunc(peers, func(p bench.Peer) bool { return p.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown peer %q", name)
		}
		chosen = append(chosen, peers[i])
	}
	return chosen, nil
}
