//go:build unix

// Command with-stack builds and starts PD and a store on this machine, runs a command
// beside them, and stops them when it ends. $SMOLWC_DB of the command is the URL of a
// database in the store.
//
//	with-stack [-bin FOLDER] [-dir FOLDER] [-name NAME] COMMAND [ARGUMENT…]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/smolwc/smolwc/tikv/stack"
)

func main() {
	bin := flag.String("bin", "bin/tikv", "build pd-server and store in this `FOLDER`")
	dir := flag.String("dir", "data-tikv", "their data is in this `FOLDER`")
	name := flag.String("name", "fleet", "the database's `NAME`")
	module := flag.String("module", "tikv", "the `FOLDER` of the module tikv")
	flag.Parse()
	code, err := run(*module, *bin, *dir, *name, flag.Args())
	if err != nil {
		fmt.Fprintf(os.Stderr, "with-stack: %v\n", err)
	}
	os.Exit(code)
}

// startTime bounds the start of the processes. PD takes some seconds to elect itself.
const startTime = 5 * time.Minute

func run(module, bin, dir, name string, command []string) (code int, err error) {
	if len(command) == 0 {
		return 2, errors.New("name a command")
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	signal.Ignore(os.Interrupt) // it is for the command
	if err := stack.Build(ctx, module, bin); err != nil {
		return 1, err
	}
	starting, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	s, err := stack.Start(starting, bin, dir)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "SMOLWC_DB="+s.URL(name))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Run(); cmd.ProcessState == nil {
		return 1, err
	}
	return max(cmd.ProcessState.ExitCode(), 0), nil
}
