package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/cli/internal/config"
	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/server"
	"github.com/smolwc/smolwc/server/route"
	"github.com/smolwc/smolwc/shardmap"
)

// A routeRun is smolwc route. It listens as smolwc serve does.
type routeRun struct {
	serveRun
	mapFile string
	reads   string
	// profiles are the reads of app profiles, by their names.
	profiles map[string]string
	wait     time.Duration
	remote   remoteFlags // of the servers: TLS, and for check a token
}

func (c *command) routeCommand() *cobra.Command {
	r := &routeRun{serveRun: serveRun{command: c}}
	cmd := &cobra.Command{
		Use:   "route",
		Short: "Send each call to the server that leads its instance",
		Long: `smolwc route takes the calls of Bigtable's clients, and passes each on to the server
that leads its instance. The shard map in --map names the servers of each instance;
which of them leads, the router asks the servers themselves, four times a second. It
follows the file while it runs: a new map counts within a second, and one that is not
valid leaves the map before in use.

  {
    "projects/acme/instances/main": {
      "num_shards": 1,
      "db1:8086:eu-west-1a_0": ["00000:M"],
      "db2:8086:eu-west-1b_0": ["00000:S"]
    }
  }

M is the server that leads until the servers say otherwise, S a standby. Replace the
file all at once, as mv does. While no server leads an instance, its calls wait for up
to --wait. Clients find the router as they find
a server, and send it the tokens that the servers know. Ctrl-C stops the router
after the calls under way have ended.`,
		Example: `  smolwc route --map map.json
  smolwc route --map map.json --addr :8085 --tls-cert cert.pem --tls-key key.pem --server-ca ca.pem
  smolwc route check --map map.json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&r.addr, "addr", "127.0.0.1:8085", "listen on `HOST:PORT`; port 0 picks a free one")
	flags.StringVar(&r.http, "http", "", "serve /metrics, /healthz and /readyz on `HOST:PORT`, or not at all: off; without a host, on the host of --addr (default "+usualPages+", or a free port if that is taken)")
	flags.StringVar(&r.reads, "reads", "leader", "let `SERVERS` answer reads of rows: leader; any, the standbys too; or a lag such as 5s, those that are not further behind; the header smolwc-reads of a call says otherwise")
	flags.StringToStringVar(&r.profiles, "app-profile", nil, "`NAME=SERVERS` says the same for calls with an app profile; may be repeated")
	flags.DurationVar(&r.wait, "wait", 30*time.Second, "let a call wait up to `DURATION` while no server leads its instance")
	flags.StringVar(&r.logLevel, "log-level", "warn", "log from `LEVEL` on: debug, info, warn, error")
	flags.StringVar(&r.logFormat, "log-format", "text", "log as `FORMAT`: text or json")
	r.addListening(cmd)
	shared := cmd.PersistentFlags()
	shared.StringVar(&r.mapFile, "map", "", "the shard map is in `FILE`")
	shared.BoolVar(&r.remote.tls, "server-tls", false, "use TLS with the servers, with the authorities of this machine")
	shared.StringVar(&r.remote.ca, "server-ca", "", "use TLS with the servers, with the authorities in `FILE`")
	shared.StringVar(&r.remote.cert, "server-cert", "", "use TLS with the servers, and show them the certificate in `FILE`")
	shared.StringVar(&r.remote.key, "server-key", "", "the key of --server-cert is in `FILE`")
	cmd.AddCommand(r.checkCommand())
	return cmd
}

// checkMap checks the flags that route and route check have.
func (r *routeRun) checkMap() error {
	switch {
	case r.mapFile == "":
		return errors.New("--map is missing; name the file with the shard map, as in --map map.json")
	case (r.remote.cert == "") != (r.remote.key == ""):
		return errors.New("--server-cert and --server-key go together; one of them is missing")
	case r.db != "":
		return errors.New("--db is not for a router; the servers of the shard map have the databases")
	}
	return nil
}

func (r *routeRun) run(ctx context.Context) error {
	o := route.Options{Limits: r.limits, Grace: r.grace, Wait: r.wait}
	var level slog.Level
	err := cmp.Or(r.checkMap(), r.checkListening())
	if err == nil && level.UnmarshalText([]byte(r.logLevel)) != nil {
		err = fmt.Errorf("--log-level is %q; want debug, info, warn or error", r.logLevel)
	}
	if err == nil {
		if o.Reads, err = route.ParseReads(r.reads); err != nil {
			err = fmt.Errorf("--reads: %w", err)
		}
	}
	for name, text := range r.profiles {
		reads, parsed := route.ParseReads(text)
		if parsed != nil && err == nil {
			err = fmt.Errorf("--app-profile %s: %w", name, parsed)
		}
		if o.Profiles == nil {
			o.Profiles = map[string]route.Reads{}
		}
		o.Profiles[name] = reads
	}
	if err == nil && r.wait <= 0 {
		err = fmt.Errorf("--wait is %v; want a duration such as 30s", r.wait)
	}
	if err == nil {
		o.TLS, err = r.remote.config(ctx, "--server")
	}
	if err != nil {
		return fail(exitUsage, err)
	}
	o.Logger = r.serveLogger(&config.Config{LogLevel: level})
	if r.tls.Cert != "" {
		creds, err := r.tls.Option(o.Logger)
		if err != nil {
			return fail(exitUsage, err)
		}
		o.GRPC = append(o.GRPC, creds)
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	if o.Map, err = shardmap.Watch(ctx, r.mapFile, shardmap.WatchOptions{Logger: o.Logger}); err != nil {
		return fail(exitUsage, err)
	}
	return r.serveRoutes(ctx, o)
}

// serveRoutes listens, and routes calls until the context ends.
func (r *routeRun) serveRoutes(ctx context.Context, o route.Options) error {
	router, err := route.New(o)
	if err != nil {
		return fail(exitUsage, err)
	}
	open := r.tls.Cert != "" || r.insecure
	listener, err := r.listen("addr", r.addr, open, openByFlags)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // already closed, unless an earlier step failed
	pages, err := r.listenPages(open, openByFlags)
	if err != nil {
		return err
	}
	r.collectEarly(r.limits.Bytes)
	go releaseIdle(ctx)
	stopPages := func() {}
	if pages != nil {
		stopPages = keepPages(server.Pages{Handler: router.HTTP(), TLS: r.tls, Limits: r.limits, Grace: r.grace, Logger: o.Logger}, pages)
	}
	defer stopPages()
	r.greetRoutes(listener.Addr(), pages)
	return fail(exitFailed, router.Serve(ctx, listener))
}

// greetRoutes prints the router's addresses, even with --quiet, as smolwc serve does.
func (r *routeRun) greetRoutes(addr net.Addr, pages net.Listener) {
	_, _ = fmt.Fprintf(r.out, "routing by %s on %s\n", r.mapFile, addr)
	scheme := "http"
	if r.tls.Cert != "" {
		scheme = "https"
	}
	if pages != nil {
		_, _ = fmt.Fprintf(r.out, "metrics on %s://%s/metrics\n", scheme, pages.Addr())
	}
	if r.tls.Cert == "" { // clients use no TLS for an emulator
		_, _ = fmt.Fprintf(r.out, "export BIGTABLE_EMULATOR_HOST=%s\n", addr)
	}
}

func (r *routeRun) checkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Compare a shard map with what its servers say",
		Long: `check prints the servers of each instance of the shard map, and what each server
says about itself: whether it is a primary, or the server that it follows. The
exit code is 1 if a server says something else than the map, or does not answer.

A server with tokens wants one with the right to administer all tables.`,
		Example: "  smolwc route check --map map.json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := r.checkMap(); err != nil {
				return fail(exitUsage, err)
			}
			return r.compare(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&r.remote.token, "token", "", "show the servers `TOKEN` (default $"+envToken+")")
	return cmd
}

// A said is a server's answer about itself.
type said struct {
	client.Replicas
	err error
}

// String is it for people.
func (s said) String() string {
	switch {
	case s.err != nil:
		return "no answer"
	case s.Standby && !s.Connected:
		return "standby of " + s.Primary + ", not connected"
	case s.Standby:
		return "standby of " + s.Primary
	case s.FencedBy != "":
		return "takes no writes, since " + s.FencedBy + " was promoted"
	}
	return "primary"
}

// compare prints the map beside its servers' answers.
func (r *routeRun) compare(ctx context.Context) error {
	m, err := shardmap.Load(r.mapFile)
	if err != nil {
		return fail(exitUsage, err)
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	say := r.askAll(ctx, m)
	w := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "INSTANCE\tSERVER\tMAP\tSERVER SAYS\tEPOCH\tPOSITION")
	var wrong []string
	for _, in := range m.Resources {
		line := func(addr, role string) {
			s := say[addr]
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\n", in.Name, addr, role, s, s.Epoch, s.Position)
			if text := disagreement(in, addr, say); text != "" {
				wrong = append(wrong, in.Name+": "+text)
			}
		}
		line(in.Leader.Addr, "leader")
		for _, s := range in.Standbys {
			line(s.Addr, "standby")
		}
	}
	if err := w.Flush(); err != nil {
		return fail(exitFailed, err)
	}
	for _, text := range wrong {
		r.report(errors.New(text))
	}
	if len(wrong) > 0 {
		return &failure{code: exitFailed}
	}
	return nil
}

// disagreement says how a server contradicts the map, "" if it does not.
func disagreement(in shardmap.Resource, addr string, say map[string]said) string {
	s, leads := say[addr], addr == in.Leader.Addr
	known := s.Primary == in.Leader.Addr
	for _, other := range in.Standbys { // a standby may follow another one
		known = known || s.Primary == other.Addr
	}
	switch {
	case s.err != nil:
		return fmt.Sprintf("%s does not answer: %v", addr, s.err)
	case leads && (s.Standby || s.FencedBy != ""):
		return fmt.Sprintf("the map says that %s leads, and the server says: %s", addr, s)
	case !leads && !s.Standby:
		return fmt.Sprintf("the map says that %s is a standby, and the server says: %s", addr, s)
	case !leads && !known:
		return fmt.Sprintf("the map says that %s leads, and %s says: %s", in.Leader.Addr, addr, s)
	case !leads && s.Epoch > say[in.Leader.Addr].Epoch && say[in.Leader.Addr].err == nil:
		return fmt.Sprintf("%s has epoch %d, later than epoch %d of %s, which leads", addr, s.Epoch, say[in.Leader.Addr].Epoch, in.Leader.Addr)
	}
	return ""
}

// askAll asks each server of a map, all at once.
func (r *routeRun) askAll(ctx context.Context, m *shardmap.Map) map[string]said {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	all := map[string]said{}
	var mu sync.Mutex
	var asking sync.WaitGroup
	for _, in := range m.Resources {
		for _, s := range append([]shardmap.Server{in.Leader}, in.Standbys...) {
			mu.Lock()
			_, asked := all[s.Addr]
			all[s.Addr] = said{}
			mu.Unlock()
			if asked {
				continue
			}
			asking.Go(func() {
				answer := r.ask(ctx, s.Addr)
				mu.Lock()
				defer mu.Unlock()
				all[s.Addr] = answer
			})
		}
	}
	asking.Wait()
	return all
}

func (r *routeRun) ask(ctx context.Context, addr string) (s said) {
	remote := r.remote
	remote.addr = addr
	db, err := remote.dial(ctx, r.command)
	if err != nil {
		return said{err: err}
	}
	defer func() { _ = db.Close() }() // no call is running
	s.Replicas, s.err = db.Replicas(ctx)
	if s.err != nil && strings.Contains(s.err.Error(), "takes no standbys") { // its database can have none
		s.err = nil
	}
	return s
}

// A mapChange changes the shard map after a promotion.
type mapChange struct{ file, leader string }

// check reports whether the map can be changed.
func (c mapChange) check() error {
	if c.file == "" {
		return nil
	}
	m, err := shardmap.Load(c.file)
	if err == nil {
		_, _, err = m.Promoted(c.leader)
	}
	return err
}

// make makes the promoted server the leader in the file.
func (c mapChange) make() (moved []string, err error) {
	m, err := shardmap.Load(c.file)
	if err == nil {
		m, moved, err = m.Promoted(c.leader)
	}
	if err == nil {
		err = shardmap.Write(c.file, m)
	}
	return moved, err
}
