package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/internal/config"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

// A serveRun is smolwc serve.
type serveRun struct {
	*command
	addr       string
	http       string
	instance   string
	durability string
	memory     string
	grace      time.Duration
	tls        server.TLSFiles
	insecure   bool
	limits     server.Limits
	backupTo   []string
	logLevel   string
	logFormat  string
}

func (c *command) serveCommand() *cobra.Command {
	r := &serveRun{command: c}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the database to Bigtable's clients",
		Long: `smolwc serve serves the database over gRPC as Bigtable's own API, so that
Bigtable's clients in any language, cbt and Terraform work with it. They find it
through $BIGTABLE_EMULATOR_HOST.

An address that other machines can reach needs TLS, or --insecure. Once smolwc
token has created a token, every client needs one.

A missing database is created. Ctrl-C stops the server after the calls under way
have ended; a second Ctrl-C ends the process at once.

These environment variables have defaults of smolwc's own: MALLOC_ARENA_MAX 1,
GOGC 50 (with some memory set aside), GOMEMLIMIT the value of --max-bytes.`,
		Example: `  smolwc serve --db ./data
  smolwc serve --db ./data --addr 127.0.0.1:9000 --instance projects/dev/instances/main
  smolwc serve --db ./data --addr :8086 --tls-cert cert.pem --tls-key key.pem --http :8087`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&r.addr, "addr", "127.0.0.1:8086", "listen on `HOST:PORT`; port 0 picks a free one")
	flags.StringVar(&r.http, "http", "", "serve /metrics, /healthz and /readyz on `HOST:PORT`; without a host, on the host of --addr")
	flags.StringVar(&r.instance, "instance", server.DefaultInstance, "plain table names mean the tables of `NAME`")
	flags.StringVar(&r.durability, "durability", "", "`WHEN` a write is acknowledged: sync, when it is on disk, or async, when the system has it (default the configuration's)")
	flags.StringVar(&r.memory, "memory", "", "keep blocks and writes in `SIZE` of memory (default the configuration file's, 128MiB without one)")
	flags.DurationVar(&r.grace, "grace", 10*time.Second, "let calls under way go on for `D` when the server stops")
	flags.StringVar(&r.tls.Cert, "tls-cert", "", "serve with TLS and the certificate in `FILE`")
	flags.StringVar(&r.tls.Key, "tls-key", "", "the certificate's key is in `FILE`")
	flags.StringVar(&r.tls.ClientCA, "tls-client-ca", "", "clients must have certificates signed by one in `FILE`")
	flags.BoolVar(&r.insecure, "insecure", false, "let other machines connect without TLS")
	flags.StringArrayVar(&r.backupTo, "backup-to", nil, "let clients with the right to administer all tables back up to `TARGET`s at or below this one; may be repeated (default * if only this machine can reach --addr, else none)")
	flags.StringVar(&r.logLevel, "log-level", "", "log from `LEVEL` on: debug, info, warn, error; info has a line for each call (default the configuration's)")
	flags.StringVar(&r.logFormat, "log-format", "text", "log as `FORMAT`: text or json")
	r.limits.SetDefaults()
	flags.IntVar(&r.limits.Connections, "max-connections", r.limits.Connections, "have up to `N` connections open; others wait, and take the places of those that make no call")
	flags.IntVar(&r.limits.HostConnections, "max-host-connections", 0, "have up to `N` connections of one host open; further ones are closed (default three quarters of --max-connections)")
	flags.IntVar(&r.limits.Streams, "max-streams", r.limits.Streams, "have up to `N` calls of one connection under way; others wait")
	flags.IntVar(&r.limits.Calls, "max-calls", r.limits.Calls, "have up to `N` calls under way; others fail and may be tried again")
	flags.Var((*sizeFlag)(&r.limits.ConnectionBytes), "max-connection-bytes", "have up to `SIZE` of requests, responses and reads in hand for a connection")
	flags.Var((*sizeFlag)(&r.limits.Bytes), "max-bytes", "have up to `SIZE` of requests, responses and reads in hand for all connections")
	flags.DurationVar(&r.limits.Deadline, "deadline", r.limits.Deadline, "end calls after `D`")
	flags.DurationVar(&r.limits.SendTimeout, "send-timeout", r.limits.SendTimeout, "end streams whose client does not read for `D`")
	return cmd
}

// minBytes is the smallest --memory.
const minBytes = 16 << 20

// A sizeFlag is a flag whose value is a size, such as 256MiB.
type sizeFlag int64

func (f *sizeFlag) String() string { return schema.FormatSize(int64(*f)) }

func (f *sizeFlag) Type() string { return "SIZE" }

func (f *sizeFlag) Set(text string) (err error) {
	n, err := schema.ParseSize(text)
	*f = sizeFlag(n)
	return err
}

// check refuses mistakes in the flags.
func (r *serveRun) check() error {
	for _, f := range []struct {
		name  string
		wrong bool
		value any
		want  string
	}{
		{"grace", r.grace <= 0, r.grace, "longer than 0"},
		{"deadline", r.limits.Deadline <= 0, r.limits.Deadline, "longer than 0"},
		{"send-timeout", r.limits.SendTimeout <= 0, r.limits.SendTimeout, "longer than 0"},
		{"max-connections", r.limits.Connections <= 0, r.limits.Connections, "greater than 0"},
		{"max-host-connections", r.limits.HostConnections < 0, r.limits.HostConnections, "greater than 0"},
		{"max-streams", r.limits.Streams <= 0, r.limits.Streams, "greater than 0"},
		{"max-calls", r.limits.Calls <= 0, r.limits.Calls, "greater than 0"},
		{"max-connection-bytes", r.limits.ConnectionBytes < minBytes, schema.FormatSize(r.limits.ConnectionBytes), "16MiB or more"},
		{"max-bytes", r.limits.Bytes < minBytes, schema.FormatSize(r.limits.Bytes), "16MiB or more"},
	} {
		if f.wrong {
			return fmt.Errorf("--%s is %v; it must be %s", f.name, f.value, f.want)
		}
	}
	switch {
	case server.CheckInstance(r.instance) != nil:
		return fmt.Errorf("--instance: %w", server.CheckInstance(r.instance))
	case r.logFormat != "text" && r.logFormat != "json":
		return fmt.Errorf("--log-format is %q; want text or json", r.logFormat)
	case (r.tls.Cert == "") != (r.tls.Key == ""):
		return errors.New("--tls-cert and --tls-key go together; one of them is missing")
	case r.tls.ClientCA != "" && r.tls.Cert == "":
		return errors.New("--tls-client-ca needs TLS: --tls-cert and --tls-key")
	case r.tls.Cert != "" && r.insecure:
		return errors.New("--insecure serves without TLS, and --tls-cert with it; give one of them")
	}
	return nil
}

// listen listens on an address. Without open it refuses an address that other machines
// can reach; otherwise is the end of that error and says how to proceed.
func (r *serveRun) listen(flag, addr string, open bool, otherwise string) (net.Listener, error) {
	at, err := net.ResolveTCPAddr("tcp", addr)
	if wrong, ok := errors.AsType[*net.AddrError](err); ok {
		return nil, fail(exitUsage, fmt.Errorf("--%s is %q: %s; want HOST:PORT, as in 127.0.0.1:8086", flag, addr, wrong.Err))
	}
	if err != nil {
		return nil, fail(exitFailed, fmt.Errorf("--%s is %q: %w", flag, addr, err))
	}
	if !open && !at.IP.IsLoopback() {
		return nil, fail(exitUsage, fmt.Errorf("--%s is %s, which other machines reach; %s", flag, addr, otherwise))
	}
	l, err := net.Listen("tcp", at.String())
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		err = fmt.Errorf("--%s is %s, where another process listens; name another port, or 0 for any that is free", flag, addr)
	case err != nil:
		err = fmt.Errorf("--%s: %w", flag, err)
	}
	return l, fail(exitFailed, err)
}

// httpAddr returns --http, with the host of --addr if it has no host.
func (r *serveRun) httpAddr() string {
	host, port, err := net.SplitHostPort(r.http)
	if err != nil || host != "" {
		return r.http
	}
	host, _, _ = net.SplitHostPort(r.addr)
	return net.JoinHostPort(host, port)
}

func (r *serveRun) run(ctx context.Context) (err error) {
	if err := r.check(); err != nil {
		return fail(exitUsage, err)
	}
	if err := wantEngine(); err != nil {
		return err
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
	if err := r.setMemory(cfg); err != nil {
		return fail(exitUsage, err)
	}
	if r.logLevel != "" {
		if err := cfg.LogLevel.UnmarshalText([]byte(r.logLevel)); err != nil {
			return fail(exitUsage, fmt.Errorf("--log-level is %q; want debug, info, warn or error", r.logLevel))
		}
	}
	o := server.Options{Instance: r.instance, Grace: r.grace, Logger: r.serveLogger(cfg), Tokens: server.OpenTokens(cfg.DataDir), Limits: r.limits}
	withTLS := r.tls.Cert != ""
	if withTLS {
		creds, err := r.tls.Option(o.Logger)
		if err != nil {
			return fail(exitUsage, err)
		}
		o.GRPC = append(o.GRPC, creds)
	}
	if _, _, err := o.Tokens.List(); err != nil {
		return fail(exitUsage, fmt.Errorf("the tokens, without which nobody is let in: %w", err))
	}
	listener, err := r.listen("addr", r.addr, withTLS || r.insecure, "give --tls-cert and --tls-key, or --insecure")
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // already closed, unless an earlier step failed
	var pages net.Listener
	if r.http != "" {
		if pages, err = r.listen("http", r.httpAddr(), withTLS || r.insecure, "name an address of this machine, or give --insecure: it has no TLS"); err != nil {
			return err
		}
		defer func() { _ = pages.Close() }()
	}
	if o.BackupTo, err = r.places(listener.Addr()); err != nil {
		return fail(exitUsage, err)
	}
	db, err := r.openDeclared(ctx, cfg, query.Options{})
	if err != nil {
		return err
	}
	defer closing(db, &err)
	s, err := server.New(db, o)
	if err != nil {
		return fail(exitUsage, err)
	}
	r.warnIfOpen(o, listener)
	ctx, stop := interruptible(ctx)
	defer stop()
	r.collectEarly(r.limits.Bytes)
	go releaseIdle(ctx)
	defer servePages(s, pages)()
	r.greet(cfg.DataDir, listener.Addr().String(), pages)
	return fail(exitFailed, s.Serve(ctx, listener))
}

// places returns the targets to which clients may back up the database. If the server
// listens only on this machine, any target is allowed unless the flags name some.
func (r *serveRun) places(addr net.Addr) (archive.Places, error) {
	at, ok := addr.(*net.TCPAddr)
	if len(r.backupTo) == 0 && ok && at.IP.IsLoopback() {
		return archive.Places{archive.AnyPlace}, nil
	}
	places := archive.Places(r.backupTo)
	if err := places.Check(); err != nil {
		return nil, fmt.Errorf("--backup-to: %w", errors.Unwrap(err))
	}
	return places, nil
}

// setMemory sets the memory for blocks and writes.
func (r *serveRun) setMemory(cfg *config.Config) error {
	switch {
	case r.memory != "":
		n, err := schema.ParseSize(r.memory)
		if err == nil && n < config.MinMemory {
			err = fmt.Errorf("%s is too little; want 16MiB or more", r.memory)
		}
		if err != nil {
			return fmt.Errorf("--memory: %w", err)
		}
		cfg.Memory = n
	case cfg.Path == "":
		cfg.Memory = serveMemory
	}
	return nil
}

// serveLogger returns the log of the server and of its calls.
func (r *serveRun) serveLogger(cfg *config.Config) *slog.Logger {
	if r.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(r.stderr, &slog.HandlerOptions{Level: cfg.LogLevel, ReplaceAttr: inSeconds}))
	}
	return r.logger(cfg)
}

// inSeconds adds a unit to a duration, which slog's JSON lacks: duration becomes
// duration_seconds.
func inSeconds(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() != slog.KindDuration {
		return a
	}
	return slog.Float64(a.Key+"_seconds", a.Value.Duration().Seconds())
}

// warnIfOpen warns if clients on other machines have full access without credentials.
func (r *serveRun) warnIfOpen(o server.Options, l net.Listener) {
	at, ok := l.Addr().(*net.TCPAddr)
	if _, tokens, _ := o.Tokens.List(); ok && !at.IP.IsLoopback() && !tokens && r.tls.ClientCA == "" {
		o.Logger.Warn("every client that connects may read and write everything; smolwc token create makes tokens, which the server then requires")
	}
}

// servePages serves the pages for monitoring, even while the server stops. The returned
// function ends this.
func servePages(s *server.Server, l net.Listener) (stop func()) {
	if l == nil {
		return func() {}
	}
	h := &http.Server{Handler: s.HTTP(), ReadHeaderTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = h.Serve(l) // until it is closed
	}()
	return func() {
		_ = h.Close()
		<-done
	}
}

// greet prints the server's address and how clients connect. It does so even with
// --quiet: with port 0 this is the only place with the port.
func (r *serveRun) greet(dir, addr string, pages net.Listener) {
	var b strings.Builder
	fmt.Fprintf(&b, "serving %s on %s\n", dir, addr)
	if pages != nil {
		fmt.Fprintf(&b, "metrics on http://%s/metrics\n", pages.Addr())
	}
	if r.tls.Cert == "" { // clients use no TLS for an emulator
		fmt.Fprintf(&b, "export BIGTABLE_EMULATOR_HOST=%s\n", addr)
	}
	_, _ = fmt.Fprint(r.stdout, b.String())
}
