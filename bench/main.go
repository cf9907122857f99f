// Command bench measures smolwc against RocksDB used by hand, in one process
// and on the same files: as plain C, which is the limit, and as Go over
// grocksdb, which is what a Go program would do. The figures to read are the
// ratios; machines differ and drift.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/pprof"
	"slices"
)

func main() {
	rows := flag.Int("rows", 400_000, "rows to load, of 5 cells of 100 bytes")
	rounds := flag.Int("rounds", 7, "rounds; the figures are medians")
	dir := flag.String("dir", "", "directory for the data, kept and used again; empty is one that is removed")
	only := flag.String("run", "", "run only workloads whose names match this regular expression")
	profile := flag.String("cpuprofile", "", "write a CPU profile of smolwc's scans to this file")
	flag.Parse()
	if err := run(*rows, *rounds, *dir, *only, *profile); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(rows, rounds int, dir, only, profile string) error {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "smolwc-bench-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	ctx := context.Background()
	if _, err := os.Stat(filepath.Join(dir, "CURRENT")); err != nil {
		if err := load(ctx, dir, rows); err != nil {
			return err
		}
	}
	w, err := openScan(dir)
	if err != nil {
		return err
	}
	defer w.close()
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	fmt.Printf("%d rows x %d cells x %d bytes, cached, %d rounds, %d cores\n", rows, cellsPerRow, valueBytes, rounds, runtime.GOMAXPROCS(0))
	all := []workload{
		{"scan one family: C over RocksDB", w.scanC},
		{"scan one family: Go over grocksdb", w.scanGrocksdb},
		{"scan one family: smolwc", func() (int, error) { return w.scanSmolwc(ctx) }},
	}
	return compare(rounds, slices.DeleteFunc(all, func(w workload) bool { return !wanted.MatchString(w.name) }))
}
