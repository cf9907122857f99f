// Command smolwc-bench compares smolwc with its alternatives, on the same data in one
// process: RocksDB by hand in plain C, which is the limit, and in Go over grocksdb;
// Pebble and Badger with the same cells under the same keys. The ratios are the
// results, because machines differ and drift.
// docs/performance.md says how to measure.
//
// With -soak it looks for faults instead of measuring: docs/reliability.md says how.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// The exit codes, equal to smolwc's.
const (
	exitFailed    = 1
	exitUsage     = 2
	exitInterrupt = 130
)

func main() {
	// On an interrupt, or if its output is no longer read, a run removes its data. A
	// second interrupt ends the process.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // the write fails instead
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs the program, reports its error and returns its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := do(ctx, args, stdout)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, context.Canceled):
		return exitInterrupt
	}
	_, _ = fmt.Fprintln(stderr, "smolwc-bench:", err) // an error here cannot be reported
	if _, ok := errors.AsType[usageError](err); ok {
		_, _ = fmt.Fprintln(stderr, "try: smolwc-bench -help")
		return exitUsage
	}
	return exitFailed
}

// do does what the arguments ask for.
func do(ctx context.Context, args []string, stdout io.Writer) error {
	o, rest, err := parse(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	case o.compare:
		return compare(stdout, o.processor, rest)
	case o.asBenchstat:
		return asBenchstat(stdout, rest)
	case len(rest) > 0:
		return wrongUsage("unexpected argument %q", rest[0])
	case o.soaks:
		return o.soakFor(ctx, stdout)
	}
	if o.queues {
		return o.measureQueues(ctx, stdout)
	}
	return o.measure(ctx, stdout)
}

// A usageError says that the flags or arguments are wrong.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func wrongUsage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }
