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

	"github.com/smolwc/smolwc/cli"
)

func main() { os.Exit(cli.Main(nil)) }
