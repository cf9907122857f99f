// Package cli is the smolwc command: its subcommands and flags, and the wiring of the
// packages below them. A program that is smolwc calls [Main].
package cli

import (
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // for .timezone, where the system has no zones
)

// Main runs smolwc with the arguments, streams and environment of the process, and
// returns the exit code. The database may also be in one of the stores. Main sets the allocator, the garbage collector and the signals of
// the process for itself, so a program calls it once, and first.
func Main(stores Stores) int {
	setProcess(os.Getenv)
	// A closed pipe makes the write fail instead of ending the process, so that the
	// database is closed.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	c := &command{stores: stores, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv}
	return c.run(os.Args[1:])
}
