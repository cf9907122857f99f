package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
)

// A serveRun is smolwc serve.
type serveRun struct {
	*command
	addr       string
	instance   string
	durability string
	grace      time.Duration
}

func (c *command) serveCommand() *cobra.Command {
	r := &serveRun{command: c}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the database to Bigtable's clients",
		Long: `smolwc serve serves the database over gRPC as Bigtable's own API, so that
Bigtable's clients in any language, cbt and Terraform work with it. They find it
through $BIGTABLE_EMULATOR_HOST.

A database is created where there is none. Ctrl-C stops the server: calls under
way may end first, a second Ctrl-C ends the process.`,
		Example: `  smolwc serve --db ./data
  smolwc serve --db ./data --addr 127.0.0.1:9000 --instance projects/dev/instances/main`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&r.addr, "addr", "127.0.0.1:8086", "listen on `HOST:PORT`; port 0 is any that is free")
	flags.StringVar(&r.instance, "instance", server.DefaultInstance, "the tables of `NAME` are those with plain names")
	flags.StringVar(&r.durability, "durability", "", "acknowledge a write when it is on disk, sync, or when the system has it, `async` (default the configuration's)")
	flags.DurationVar(&r.grace, "grace", 10*time.Second, "let calls under way go on for `D` when the server stops")
	return cmd
}

func (r *serveRun) run(ctx context.Context) (err error) {
	if r.grace <= 0 {
		return fail(exitUsage, fmt.Errorf("--grace is %v; it must be longer than 0", r.grace))
	}
	cfg, err := r.load()
	if err != nil {
		return err
	}
	switch r.durability {
	case "":
	case "sync", "async":
		cfg.Durability = r.durability
	default:
		return fail(exitUsage, fmt.Errorf("--durability is %q; want sync or async", r.durability))
	}
	listener, err := net.Listen("tcp", r.addr)
	if err != nil {
		return fail(exitFailed, err)
	}
	defer func() { _ = listener.Close() }() // closed already, unless something failed before
	db, err := r.open(cfg, query.Options{Schema: cfg.Schema})
	if err != nil {
		return err
	}
	defer closing(db, &err)
	s, err := server.New(db, server.Options{Instance: r.instance, Grace: r.grace, Logger: r.logger(cfg)})
	if err != nil {
		return fail(exitUsage, err)
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	r.greet(cfg.DataDir, listener.Addr().String())
	return fail(exitFailed, s.Serve(ctx, listener))
}

// greet says where the server is and how clients find it. It does so even when
// it is to be quiet: with port 0 nobody knows the port otherwise.
func (r *serveRun) greet(dir, addr string) {
	_, _ = fmt.Fprintf(r.stdout, "serving %s on %s\nexport BIGTABLE_EMULATOR_HOST=%s\n", dir, addr, addr)
}
