// Command smolwc is the shell of a smolwc database, and the tools around it.
//
// Without a subcommand it runs statements: those of -c and -f in their order, else a
// script on standard input, else, at a terminal, the statements that the user types.
//
// Exit codes: 0 success; 1 a statement failed; 2 wrong flags, arguments or
// configuration; 3 the database cannot be opened; 4 with --must-exist, a get found
// nothing; 130 interrupted.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	setProcess(os.Getenv)
	// A closed pipe makes the write fail instead of ending the process, so that the
	// database is closed.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}
