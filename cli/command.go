package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"golang.org/x/term"

	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/shell"
)

// The exit codes. The shell chooses the code of a failed statement.
const (
	exitFailed    = 1
	exitUsage     = 2
	exitOpen      = 3
	exitInterrupt = 130
)

// A command is one run of the program: its input, output and flags.
type command struct {
	stores         Stores
	stdin          io.Reader
	stdout, stderr io.Writer
	out            *printed // stdout, for all that is printed here
	getenv         func(string) string

	config, db      string
	engine          string
	readOnly, quiet bool
}

// run runs the program with arguments and returns its exit code.
func (c *command) run(args []string) int {
	c.out = &printed{w: c.stdout}
	root := c.root()
	root.SetArgs(args)
	root.SetIn(c.stdin)
	root.SetOut(c.out)
	root.SetErr(c.stderr)
	ran, err := root.ExecuteContextC(context.Background())
	return c.out.exitCode(c, c.exitCode(ran, err))
}

// A printed is the standard output. It remembers that something could not be written: not
// everything that prints looks at its errors.
type printed struct {
	w   io.Writer
	err error // the first one
}

func (o *printed) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// exitCode returns the code of a command that ends with this code: it fails if its output
// was lost. A reader that stops early, as in | head, is no failure.
func (o *printed) exitCode(c *command, code int) int {
	if code != 0 || o.err == nil || errors.Is(o.err, syscall.EPIPE) {
		return code
	}
	c.report(fmt.Errorf("cannot write the output: %w", o.err))
	return exitFailed
}

// closedOutput is the output of a process that was started with a closed one, as by >&-.
// The runtime opened the null device in its place.
type closedOutput struct{}

func (closedOutput) Write([]byte) (int, error) { return 0, errClosedOutput }

var errClosedOutput = errors.New("standard output is closed")

// unlessPiped returns the error, or nil if the reader of the output is gone.
func unlessPiped(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

func (c *command) root() *cobra.Command {
	root := c.shellCommand()
	root.SilenceErrors, root.SilenceUsage = true, true
	flags := root.PersistentFlags()
	flags.StringVar(&c.config, "config", "", "read the configuration from `FILE` (default $SMOLWC_CONFIG, else config.yaml)")
	flags.StringVar(&c.db, "db", "", "the database is in `DIR`, or at a URL such as tikv://PD:2379/NAME (default $SMOLWC_DB, else data_dir of the configuration)")
	flags.StringVar(&c.engine, "engine", "", "make a new database on `ENGINE`, rocksdb or pebble (default $SMOLWC_ENGINE, else engine of the configuration, else rocksdb where it is linked)")
	flags.BoolVarP(&c.quiet, "quiet", "q", false, "print results and errors only")
	root.AddCommand(c.schemaCommand(), c.importCommand(), c.serveCommand(), c.replicasCommand(), c.promoteCommand(), c.switchoverCommand(), c.tailCommand(), c.routeCommand(), c.regionCommand(), c.tokenCommand(), c.pingCommand(), c.versionCommand())
	root.AddCommand(c.exportCommand(), c.backupCommand(), c.backupsCommand(), c.restoreCommand(), c.verifyCommand(), c.pruneCommand(), c.checkpointCommand(), c.branchCommand(), c.copyCommand(), c.checkCommand(), c.doctorCommand(), c.mcpCommand())
	root.AddCommand(c.manCommand())
	if err := completions(root); err != nil {
		panic(err) // an unknown flag
	}
	helpCommand(root)
	return root
}

// A failure is an error with its exit code. err is nil if it was already reported.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return fmt.Sprint(f.err) }
func (f *failure) Unwrap() error { return f.err }

func fail(code int, err error) error {
	if err == nil {
		return nil
	}
	return &failure{code, err}
}

// exitCode reports an error and returns its code. An error that is not a failure comes
// from cobra and is about flags or arguments.
func (c *command) exitCode(ran *cobra.Command, err error) int {
	if err == nil || c.out.err != nil && errors.Is(err, c.out.err) {
		return 0 // what a lost output means follows
	}
	f, ok := errors.AsType[*failure](err)
	if !ok {
		c.report(err)
		_, _ = fmt.Fprintf(c.stderr, "try: %s --help\n", ran.CommandPath())
		return exitUsage
	}
	switch {
	case errors.Is(f.err, context.Canceled):
		return exitInterrupt
	case f.err != nil:
		c.report(f.err)
	}
	return f.code
}

// report prints an error. Each error in a file is on a line that begins with the file's
// name, a format that editors recognize.
func (c *command) report(err error) {
	if e, ok := errors.AsType[*schema.Errors](err); ok && e.File != "" {
		_, _ = fmt.Fprintln(c.stderr, e)
		return
	}
	_, _ = fmt.Fprintf(c.stderr, "smolwc: %v\n", err) // an error here cannot be reported
}

// say prints a message for people.
func (c *command) say(format string, args ...any) {
	if !c.quiet {
		_, _ = fmt.Fprintf(c.out, format+"\n", args...)
	}
}

// hint prints a hint for people, unless it is empty.
func (c *command) hint(text string) {
	if text != "" && !c.quiet {
		_, _ = fmt.Fprintln(c.stderr, "smolwc:", text)
	}
}

// options returns the options of a session that uses the command's streams.
func (c *command) options(db *query.DB) shell.Options {
	o := shell.Streams(db, c.stdin, c.stdout, c.stderr, c.getenv)
	o.Quiet, o.Version = c.quiet, version()
	return o
}

// ask asks a question; only the answer yes gives no error. unasked is the error without
// a terminal, and refused the one for another answer.
func (c *command) ask(question, unasked, refused string) error {
	if !isTerminal(c.stdin) || !isTerminal(c.stderr) {
		return errors.New(unasked)
	}
	_, _ = fmt.Fprint(c.stderr, question+" yes or no: ")
	answer, _ := bufio.NewReader(c.stdin).ReadString('\n') // no answer means no
	if !strings.EqualFold(strings.TrimSpace(answer), "yes") {
		return errors.New(refused)
	}
	return nil
}

// interrupts is the key of contexts that end on signals.
type interrupts struct{}

// interruptible returns a context that ends on Ctrl-C or SIGTERM, the latter with the cause
// [shell.ErrTerminated]. A second signal ends the process, even directly after the context
// ended: contexts within this one do not receive signals, or they could take the second.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Value(interrupts{}) != nil {
		return context.WithCancel(ctx)
	}
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, interrupts{}, true))
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	stop := func(cause error) {
		signal.Stop(signals)
		cancel(cause)
	}
	go func() {
		select {
		case sig := <-signals:
			if sig == syscall.SIGTERM {
				stop(shell.ErrTerminated)
			}
		case <-ctx.Done():
		}
		stop(nil)
	}()
	return ctx, func() { stop(nil) }
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// oneArg requires one argument; name is its name in the usage.
func oneArg(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return fmt.Errorf("%s takes %s, and got nothing", cmd.CommandPath(), name)
		case 1:
			return nil
		}
		return fmt.Errorf("%s takes %s alone, and got %q too", cmd.CommandPath(), name, args[1])
	}
}

// helpCommand adds help COMMAND, the same as COMMAND --help. It has no help of statements.
func helpCommand(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"})
	help.Short, help.Long, help.Run = "Explain a command", "", nil
	help.RunE = func(_ *cobra.Command, args []string) error {
		cmd, rest, err := root.Find(args)
		if err != nil {
			return err
		}
		if cmd == root && len(rest) > 0 {
			return fmt.Errorf("%w; for a statement: smolwc -c 'help %s'", noArgs(root, rest), rest[0])
		}
		cmd.InitDefaultHelpFlag()
		return cmd.Help()
	}
}

// noArgs refuses arguments and suggests the subcommand that was probably meant.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var known []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			known = append(known, sub.Name())
		}
	}
	if args[0] == "bench" && !cmd.HasParent() { // as in version 0.1
		return errors.New("the benchmarks are a program of their own, smolwc-bench: make smolwc-bench")
	}
	if len(known) == 0 {
		return fmt.Errorf("%s takes no argument, and got %q", cmd.CommandPath(), args[0])
	}
	return fmt.Errorf("there is no command %q%s (the commands are %s)", args[0], schema.DidYouMean(args[0], known), strings.Join(known, ", "))
}

// manCommand writes the manual pages. It is for packagers of smolwc and hidden from
// users.
func (c *command) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write manual pages into a directory",
		Hidden: true,
		Args:   oneArg("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return fail(exitFailed, writeManual(cmd.Root(), args[0]))
		},
	}
}

// writeManual writes a page for each command. The page of smolwc also lists the
// statements of the shell.
func writeManual(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	statements, err := ql.HelpPage("")
	if err != nil {
		return err
	}
	root.DisableAutoGenTag = true
	root.Long += "\n\nThe statements of the shell, which help explains one by one:\n\n" + indented(statements)
	return doc.GenManTree(root, &doc.GenManHeader{Title: "SMOLWC", Section: "1", Source: "smolwc " + version(), Manual: "smolwc"}, dir)
}

// indented indents text so that its lines are kept.
func indented(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ") + "\n"
}

// completions defines how bash, zsh and fish complete the values of flags.
func completions(root *cobra.Command) error {
	if err := root.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(shell.Formats, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		return err
	}
	if err := root.MarkPersistentFlagDirname("db"); err != nil {
		return err
	}
	return root.MarkPersistentFlagFilename("config", "yaml", "yml")
}
