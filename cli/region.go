package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/rhino/node"
	"github.com/smolwc/smolwc/server"
)

// A regionRun is smolwc region.
type regionRun struct {
	*command
	roles    []string
	regions  []string
	logLevel string
	http     string
	direct   bool
}

// envRegions names the configuration of the regions, which is not a database's
// configuration.
const envRegions = "SMOLWC_REGIONS"

func (c *command) regionCommand() *cobra.Command {
	r := &regionRun{command: c}
	cmd := &cobra.Command{
		Use:   "region",
		Short: "Run regions: tenants' tables in shards that live in one place each",
		Long: `smolwc region runs the servers of several regions. A tenant's shard lives in one
region; a client talks to the front of the nearest region, in the messages of
Rhino, JSON on a WebSocket. Tokens, tables and the places of shards are replicated
to all regions. docs/regions.md describes messages, settings and promises.

One process runs everything by default. With --role and --region it runs a part:

  front       answers clients, for its region
  region      has the rows of the region's shards, in a database
  control     has what all regions know, in a database
  replicator  brings that to the regions

The configuration, which --config or $SMOLWC_REGIONS names, is the same for all
processes:

  secret: at least 16 bytes
  control: {address: 127.0.0.1:3003}
  regions:
    - {name: eu-west-2, front: 127.0.0.1:3001, address: 127.0.0.1:3002}
    - {name: us-east-2, front: 127.0.0.1:3005, address: 127.0.0.1:3004}

Missing databases are created, in ./regions unless data_dir says otherwise. A region
gets what all regions know from the control, and is not ready until it has that:
/readyz of --http is 503 meanwhile. Ctrl-C stops the servers after the requests under
way have ended.`,
		Example: `  smolwc region --config regions.yaml
  smolwc region --config regions.yaml --role control,replicator
  smolwc region --config regions.yaml --role front,region --region eu-west-2`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&r.roles, "role", nil, "run `ROLE`s: front, region, control, replicator (default all)")
	flags.StringSliceVar(&r.regions, "region", nil, "run the fronts and databases of the regions `NAME` (default all)")
	flags.StringVar(&r.http, "http", "", "serve /metrics, /healthz and /readyz on `HOST:PORT`, or not at all: off (default "+usualPages+", or a free port if that is taken)")
	flags.StringVar(&r.logLevel, "log-level", "warn", "log from `LEVEL` on: debug, info, warn, error")
	cmd.AddCommand(r.callCommand())
	return cmd
}

// load reads the configuration of the regions.
func (r *regionRun) load() (*node.Config, error) {
	if r.config == "" {
		r.config = r.getenv(envRegions)
	}
	switch {
	case r.db != "":
		return nil, fail(exitUsage, errors.New("--db is not for regions; data_dir in their configuration names the directories"))
	case r.config == "":
		return nil, fail(exitUsage, errors.New("name the configuration of the regions with --config or $"+envRegions+"; smolwc region --help shows one"))
	}
	cfg, err := node.LoadConfig(r.config)
	return cfg, fail(exitUsage, err)
}

func (r *regionRun) run(ctx context.Context) error {
	roles, err := node.ParseRoles(r.roles)
	if err != nil {
		return fail(exitUsage, fmt.Errorf("--role: %w", err))
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(r.logLevel)); err != nil {
		return fail(exitUsage, fmt.Errorf("--log-level is %q; want debug, info, warn or error", r.logLevel))
	}
	cfg, err := r.load()
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(r.stderr, &slog.HandlerOptions{Level: level}))
	pages, err := r.pagesAt(r.http, cfg.TLS.Cert != "" || cfg.Insecure)
	if err != nil {
		return err
	}
	o := node.Options{Roles: roles, Regions: r.regions, Logger: logger, Ready: func() { r.greet(cfg, roles, pages) }}
	if pages != nil {
		defer func() { _ = pages.Close() }() // closed by then, unless an earlier step failed
		o.Pages = func(h http.Handler) (stop func()) {
			return keepPages(server.Pages{Handler: toLocalNames(h), TLS: server.TLSFiles{Cert: cfg.TLS.Cert, Key: cfg.TLS.Key}, Logger: logger}, pages)
		}
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	err = node.Run(ctx, cfg, o)
	switch {
	case errors.Is(err, node.ErrConfig):
		return fail(exitUsage, err)
	case errors.Is(err, node.ErrDatabase):
		return fail(exitOpen, err)
	}
	return fail(exitFailed, err)
}

// toLocalNames keeps metrics from pages of other sites, as smolwc serve does.
func toLocalNames(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/metrics" && !server.AnswersTo(req) {
			http.Error(w, "this page answers to localhost and to addresses, not to "+req.Host, http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, req)
	})
}

// greet prints where the servers of this process are, and a first call if it runs all of them.
// It prints the first line, and where the metrics are, even with --quiet: a program that
// started the command may wait for them.
func (r *regionRun) greet(cfg *node.Config, roles []node.Role, pages net.Listener) {
	mine := slices.DeleteFunc(slices.Clone(cfg.Regions), func(g node.Region) bool {
		return len(r.regions) > 0 && !slices.Contains(r.regions, g.Name)
	})
	has := func(role node.Role) bool { return slices.Contains(roles, role) }
	everything := len(r.roles) == 0 && len(r.regions) == 0
	_, _ = fmt.Fprintf(r.out, "serving %s\n", whatServes(mine, has, everything))
	if pages != nil {
		scheme := "http"
		if cfg.TLS.Cert != "" {
			scheme = "https"
		}
		_, _ = fmt.Fprintf(r.out, "metrics on %s://%s/metrics\n", scheme, pages.Addr())
	}
	r.say("")
	for _, g := range mine {
		if front, region := "front "+cfg.URL(g.Front.Address), "region "+g.Address+", data in "+g.DataDir; has(node.FrontRole) && has(node.RegionRole) {
			r.say("  %-12s %s, %s", g.Name, front, region)
		} else if has(node.FrontRole) {
			r.say("  %-12s %s", g.Name, front)
		} else if has(node.RegionRole) {
			r.say("  %-12s %s", g.Name, region)
		}
	}
	if has(node.ControlRole) {
		r.say("  %-12s %s, data in %s", "control", cfg.Control.Address, cfg.Control.DataDir)
	}
	if everything {
		r.say(tour, r.config, mine[0].Name, mine[len(mine)-1].Name)
	}
}

// whatServes names the roles of a process.
func whatServes(mine []node.Region, has func(node.Role) bool, everything bool) string {
	var names, of, all []string
	for _, g := range mine {
		names = append(names, g.Name)
	}
	for _, role := range []node.Role{node.FrontRole, node.RegionRole} {
		if has(role) {
			of = append(of, string(role))
		}
	}
	for _, role := range []node.Role{node.ControlRole, node.ReplicatorRole} {
		if has(role) && !everything {
			all = append(all, "the "+string(role))
		}
	}
	regions := "the regions " + strings.Join(names, ", ")
	switch {
	case everything:
		return regions
	case len(of) > 0:
		all = append(all, regions+" ("+strings.Join(of, ", ")+")")
	}
	return strings.Join(all, ", ")
}

// The tour's arguments are the configuration's file, the first region and the last one.
const tour = `
A tour, in another terminal:

  export SMOLWC_REGIONS=%[1]s
  smolwc region call control '{"AddGlobalTenant":{"tenant_id":"acme","token":"demo"}}'
  smolwc region call %[2]s '{"Login":{"token":"demo"}}' '{"CreateTable":{"name":"notes","pk":["user","n"]}}' '{"CreateShard":{"name":"ada","region":"%[3]s"}}'
  smolwc region call %[2]s '{"Login":{"token":"demo"}}' '{"SetRow":{"shard_name":"ada","table_name":"notes","row":{"user":{"String":"ada"},"n":{"U64":1},"text":{"String":"hello"}}}}'
  smolwc region call %[3]s '{"Login":{"token":"demo"}}' '{"GetRows":{"shard_name":"ada","table_name":"notes","prefix":{"user":{"String":"ada"}}}}'

The row was sent to %[2]s and lives in %[3]s. Ctrl-C stops the regions.`

func (r *regionRun) callCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "call WHERE MESSAGE...",
		Short: "Send messages to a region's front or to the control, and print the replies",
		Long: `call sends messages on one connection, one after another, and prints each reply on
a line. WHERE is a region, whose front gets the messages, or control. A message is
the payload alone, in JSON. An InvalidRequest or a PleaseRetry ends the calls, with
exit code 1.`,
		Example: `  smolwc region call control '{"AddGlobalTenant":{"tenant_id":"acme","token":"demo"}}'
  smolwc region call eu-west-2 '{"Login":{"token":"demo"}}' '{"CreateTable":{"name":"notes","pk":["user"]}}'
  smolwc region call --direct us-east-2 '{"GetShardRegion":{"tenant_id":"acme","shard_name":"ada"}}'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return fmt.Errorf("%s takes WHERE and at least one MESSAGE, and got %d arguments", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return r.call(cmd.Context(), args[0], args[1:]) },
	}
	cmd.Flags().BoolVar(&r.direct, "direct", false, "send to the region itself, not to its front")
	return cmd
}

func (r *regionRun) call(ctx context.Context, where string, messages []string) error {
	cfg, err := r.load()
	if err != nil {
		return err
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	client, err := node.Dial(ctx, cfg, where, r.direct)
	switch {
	case errors.Is(err, node.ErrConfig):
		return fail(exitUsage, err)
	case err != nil:
		return fail(exitFailed, err)
	}
	defer func() { _ = client.Close() }()
	for _, m := range messages {
		reply, err := client.Call(ctx, m)
		if err != nil {
			return fail(exitFailed, err)
		}
		if _, err := fmt.Fprintln(r.out, reply); err != nil {
			return fail(exitFailed, err)
		}
		if strings.HasPrefix(reply, `{"InvalidRequest"`) || strings.HasPrefix(reply, `{"PleaseRetry"`) {
			return &failure{code: exitFailed} // the reply says why
		}
	}
	return nil
}
