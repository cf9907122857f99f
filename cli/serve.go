package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/branch"
	"github.com/smolwc/smolwc/cli/internal/config"
	"github.com/smolwc/smolwc/internal/osfile"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
	"github.com/smolwc/smolwc/standby"
)

// A serveRun is smolwc serve.
type serveRun struct {
	*command
	addr       string
	http       string
	instance   string
	durability string
	memory     string
	ofGo       int64 // memory of the engine that is Go's
	grace      time.Duration
	tls        server.TLSFiles
	origins    []string
	insecure   bool
	limits     server.Limits
	backupTo   []string
	history    string
	sql        string
	branches   bool
	logLevel   string
	logFormat  string
	logData    bool
	traces     tracesFlags
	tests      testFlags

	backup      string // the target of backups on schedule; "" makes none
	backupEvery time.Duration
	backupKeep  time.Duration
	backupFrom  string // the roles in which the server backs up; "" is backupPrimary
	moments     momentsFlags

	standby      standbyFlags
	etcd         etcdFlags
	keepDeleted  time.Duration
	deletedBytes int64
}

func (c *command) serveCommand() *cobra.Command { return (&serveRun{command: c}).commandOf() }

func (r *serveRun) commandOf() *cobra.Command {
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

With --etcd, $ETCDCTL_CACERT, $ETCDCTL_CERT, $ETCDCTL_KEY, $ETCDCTL_USER and
$ETCDCTL_PASSWORD are as for etcdctl.

These environment variables have defaults of smolwc's own: MALLOC_ARENA_MAX 1,
GOGC 50 (with some memory set aside), GOMEMLIMIT the value of --max-bytes, and of --memory in a build without cgo.`,
		Example: `  smolwc serve --db ./data
  smolwc serve --db ./data --addr 127.0.0.1:9000 --instance projects/dev/instances/main
  smolwc serve --db ./data --addr :8086 --tls-cert cert.pem --tls-key key.pem --http :8087
  smolwc serve --db ./data --backup s3://backups/fleet --backup-every 1d --backup-keep 7d
  smolwc serve --db ./data --branches
  smolwc serve --db ./copy --addr 127.0.0.1:8088 --standby-of 127.0.0.1:8086
  smolwc serve --memory-only --schema tables.yaml --seed ./seed --http :8087`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&r.addr, "addr", usualAddr, "listen on `HOST:PORT`; port 0 picks a free one")
	flags.StringVar(&r.http, "http", "", "serve the console, /metrics, /healthz, /readyz and the JSON API on `HOST:PORT`, or not at all: off; without a host, on the host of --addr (default "+usualPages+", or a free port if that is taken)")
	flags.StringArrayVar(&r.origins, "http-origin", nil, "pages of `ORIGIN` may use the JSON API of a server without tokens; * is all; may be repeated")
	flags.StringVar(&r.instance, "instance", server.DefaultInstance, "plain table names mean the tables of `NAME`")
	flags.StringVar(&r.durability, "durability", "", "`WHEN` a write is acknowledged: sync, when it is on disk, or async, when the system has it (default the configuration's)")
	flags.StringVar(&r.memory, "memory", "", "keep blocks and writes in `SIZE` of memory (default the configuration file's, 128MiB without one)")
	flags.StringArrayVar(&r.backupTo, "backup-to", nil, "let clients with the right to administer all tables back up to `TARGET`s at or below this one; may be repeated (default * if only this machine can reach --addr, else none)")
	flags.StringVar(&r.backup, "backup", "", "back all tables up to `TARGET` on a schedule: a directory, or s3://BUCKET/PREFIX, as smolwc backup --help says")
	flags.Var((*ageFlag)(&r.backupEvery), "backup-every", "with --backup: back up every `D`, by the database's clock (default 1d)")
	flags.Var((*ageFlag)(&r.backupKeep), "backup-keep", "with --backup: remove backups of the schedule that are older than `D` after each backup, and never the newest (default keeps all)")
	flags.StringVar(&r.backupFrom, "backup-from", "", "with --backup: back up while this server is a `ROLE`: primary, standby or any; servers with one TARGET share the schedule (default primary)")
	r.moments.add(cmd)
	r.keepDeleted = 7 * 24 * time.Hour
	flags.Var((*ageFlag)(&r.keepDeleted), "keep-deleted", "keep deleted tables for `D`, so that UndeleteTable brings them back; 0 removes them at once")
	flags.Var((*sizeFlag)(&r.deletedBytes), "keep-deleted-bytes", "keep up to `SIZE` of deleted tables, and always the one that was deleted last (default no bound)")
	flags.StringVar(&r.history, "history", "on", "keep a month of the metrics for the console: `on` or off")
	flags.StringVar(&r.sql, "sql", "all", "take `all` queries, or only those that bigtable takes: no joins, no queries in queries")
	flags.BoolVar(&r.branches, "branches", false, "serve each branch of the database too, as the instance of its name; half of --memory is for those that are open, 16MiB each")
	flags.StringVar(&r.logLevel, "log-level", "", "log from `LEVEL` on: debug, info, warn, error; info has a line for each call (default the configuration's)")
	flags.StringVar(&r.logFormat, "log-format", "text", "log as `FORMAT`: text or json")
	flags.BoolVar(&r.logData, "log-data", false, "log the texts of clients' errors too, with row keys and values in them; traces have them, and the texts of requests")
	r.traces.add(flags)
	r.addListening(cmd)
	r.standby.add(cmd)
	r.etcd.add(cmd)
	r.tests.add(cmd)
	return cmd
}

// addListening adds the flags of a server about its clients: TLS, limits, and the time
// when it stops.
func (r *serveRun) addListening(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.DurationVar(&r.grace, "grace", 10*time.Second, "stop within `D`, and cancel calls under way shortly before its end")
	flags.StringVar(&r.tls.Cert, "tls-cert", "", "serve with TLS and the certificate in `FILE`")
	flags.StringVar(&r.tls.Key, "tls-key", "", "the certificate's key is in `FILE`")
	flags.StringVar(&r.tls.ClientCA, "tls-client-ca", "", "clients must have certificates signed by one in `FILE`")
	flags.BoolVar(&r.insecure, "insecure", false, "let other machines connect without TLS")
	r.limits.SetDefaults()
	flags.IntVar(&r.limits.Connections, "max-connections", r.limits.Connections, "have up to `N` connections open; others wait, and take the places of those that make no call")
	flags.IntVar(&r.limits.HostConnections, "max-host-connections", 0, "have up to `N` connections of one host open; further ones are closed (default three quarters of --max-connections)")
	flags.IntVar(&r.limits.Streams, "max-streams", r.limits.Streams, "have up to `N` calls of one connection under way; others wait")
	flags.IntVar(&r.limits.Calls, "max-calls", r.limits.Calls, "have up to `N` calls under way; others fail and may be tried again")
	flags.Var((*sizeFlag)(&r.limits.ConnectionBytes), "max-connection-bytes", "have up to `SIZE` of requests, responses and reads in hand for a connection")
	flags.Var((*sizeFlag)(&r.limits.Bytes), "max-bytes", "have up to `SIZE` of requests, responses and reads in hand for all connections")
	flags.DurationVar(&r.limits.Deadline, "deadline", r.limits.Deadline, "end calls after `D`")
	flags.DurationVar(&r.limits.SendTimeout, "send-timeout", r.limits.SendTimeout, "end streams whose client does not read for `D`")
}

// options returns the database's options.
func (r *serveRun) options() query.Options {
	o := query.Options{KeepDeleted: r.keepDeleted, DeletedBytes: r.deletedBytes}
	if o.KeepDeleted == 0 {
		o.KeepDeleted = -1
	}
	return o
}

func (r *serveRun) check() error {
	if err := r.checkListening(); err != nil {
		return err
	}
	if err := r.tests.check(r); err != nil {
		return err
	}
	if err := cmp.Or(r.etcd.check(r), r.standby.check(r)); err != nil {
		return err
	}
	if err := cmp.Or(r.moments.check(r), r.traces.check()); err != nil {
		return err
	}
	switch {
	case r.backup == "" && (r.backupEvery != 0 || r.backupKeep != 0):
		return errors.New("--backup-every and --backup-keep go with --backup TARGET")
	case r.backup == "" && r.backupFrom != "":
		return errors.New("--backup-from goes with --backup TARGET")
	case !slices.Contains([]string{"", backupPrimary, backupStandby, backupAny}, r.backupFrom):
		return fmt.Errorf("--backup-from is %q; want primary, standby or any", r.backupFrom)
	case r.backupFrom == backupStandby && r.standby.log == 0 && r.standby.of == "":
		return errors.New("--backup-from standby needs standbys, which --standby-log 0 refuses; leave one of them out")
	case r.backup != "" && r.tests.on:
		return errors.New("--memory-only has no files to back up; leave out --backup")
	case r.branches && (r.tests.on || r.standby.of != "" || r.etcd.on()):
		return errors.New("--branches serves the branches of a database in a directory that this server alone writes; leave out --memory-only, --standby-of and --etcd")
	case server.CheckInstance(r.instance) != nil:
		return fmt.Errorf("--instance: %w", server.CheckInstance(r.instance))
	case r.history != "on" && r.history != "off":
		return fmt.Errorf("--history is %q; want on or off", r.history)
	case r.sql != "all" && r.sql != "bigtable":
		return fmt.Errorf("--sql is %q; want all or bigtable", r.sql)
	}
	return nil
}

// checkListening checks the flags of addListening, and how the server logs.
func (r *serveRun) checkListening() error {
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

func (r *serveRun) run(ctx context.Context) (err error) {
	if err := r.check(); err != nil {
		return fail(exitUsage, err)
	}
	cfg, err := r.load(ctx)
	if err != nil {
		return err
	}
	if r.tests.on {
		cfg.DataDir = ""
		r.http = cmp.Or(r.http, "127.0.0.1:0")
	} else if err := r.canOpen(cfg.DataDir); err != nil {
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
	o := server.Options{Instance: r.instance, Grace: r.grace, Logger: r.serveLogger(cfg), LogData: r.logData, Limits: r.limits, Origins: r.origins, History: r.history == "on", BigtableSQL: r.sql == "bigtable"}
	if r.traces.to != "" {
		p, closing, err := r.traces.provider(ctx, o.Logger)
		if err != nil {
			return fail(exitUsage, fmt.Errorf("--traces: %w", err))
		}
		defer closing()
		o.Traces = p
	}
	withTLS := r.tls.Cert != ""
	if withTLS {
		creds, err := r.tls.Option(o.Logger)
		if err != nil {
			return fail(exitUsage, err)
		}
		o.GRPC = append(o.GRPC, creds)
	}
	if !isURL(cfg.DataDir) && !r.tests.on {
		if o.Tokens, err = readable(server.OpenTokens(cfg.DataDir)); err != nil {
			return err
		}
	}
	listener, err := r.listen("addr", r.addr, withTLS || r.insecure, openByFlags)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // already closed, unless an earlier step failed
	pages, err := r.listenPages(withTLS || r.insecure, openByFlags)
	if err != nil {
		return err
	}
	if pages != nil {
		defer func() { _ = pages.Close() }()
	}
	if o.BackupTo, err = r.places(listener.Addr()); err != nil {
		return fail(exitUsage, err)
	}
	if r.tests.on {
		return r.serveMemoryOnly(ctx, cfg, o, listener, pages)
	}
	if r.etcd.on() {
		return r.serveElected(ctx, cfg, o, listener, pages)
	}
	return r.serveInTurn(ctx, cfg, o, listener, pages)
}

// serveInTurn serves a primary or a standby, and after each switchover the other one, until it is
// interrupted.
func (r *serveRun) serveInTurn(ctx context.Context, cfg *config.Config, o server.Options, listener, pages net.Listener) error {
	if isURL(cfg.DataDir) && r.standby.of == "" {
		return r.servePrimary(ctx, cfg, o, listener, pages, nil)
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	main, side := doorOf(listener), doorOf(pages)
	for follows := r.standby.of != "" || standby.Fenced(cfg.DataDir); ; follows = true {
		turn, end := context.WithCancel(ctx)
		leads := make(chan string, 1)
		switched := func(leader string) { leads <- leader; end() }
		var err error
		if follows {
			err = r.serveStandby(turn, cfg, o, main, side, switched)
		} else {
			err = r.servePrimary(turn, cfg, o, main.listener(), side.listener(), switched)
		}
		end()
		select {
		case leader := <-leads:
			if err != nil || ctx.Err() != nil {
				return err
			}
			next := *r
			next.standby.of = leader
			r = &next
		default:
			return err
		}
	}
}

// servePrimary serves a database that is no standby. switched is called after a switchover.
func (r *serveRun) servePrimary(ctx context.Context, cfg *config.Config, o server.Options, listener, pages net.Listener, switched func(leader string)) error {
	if isURL(cfg.DataDir) {
		if r.standby.remote != (remoteFlags{}) {
			return fail(exitUsage, fmt.Errorf("--standby-tls, --standby-ca, --standby-cert and --standby-key need a directory, and --db is %s", shown(cfg.DataDir)))
		}
		if r.standby.semiSync.Mode != standby.SemiSyncOff || r.standby.log != standby.DefaultLogBytes && r.standby.log != 0 {
			return fail(exitUsage, fmt.Errorf("--semi-sync and --standby-log are about standbys, which need a directory, and --db is %s; leave them out", shown(cfg.DataDir)))
		}
		return r.serveAs(ctx, nil, cfg, o, listener, pages, nil)
	}
	tls, err := r.standby.remote.config(ctx, "--standby")
	if err != nil {
		return fail(exitUsage, err)
	}
	primary := standby.NewPrimary(standby.PrimaryOptions{LogBytes: r.standby.logBytes(), SemiSync: r.semiSync(), Switched: switched, Token: r.getenv(envToken), TLS: tls, Logger: o.Logger})
	return r.serveAs(ctx, primary, cfg, o, listener, pages, nil)
}

// serveAs serves a database for writes. primary is nil for one that can have no standbys.
// closes is called with the result before the database is closed, unless it is nil.
func (r *serveRun) serveAs(ctx context.Context, primary *standby.Primary, cfg *config.Config, o server.Options, listener, pages net.Listener, closes func(error)) (err error) {
	options := r.options()
	if primary != nil {
		options.Standbys, o.Standbys = primary.Hook(), primary.Service()
	}
	if r.branches {
		if o.Branches, err = r.withBranches(cfg, o); err != nil {
			return err
		}
		own := *cfg
		own.Memory -= own.Memory / 2
		cfg = &own
	}
	db, err := r.openDeclared(standby.Async(ctx), cfg, options) // there is no standby yet
	if err != nil {
		return err
	}
	defer closing(db, &err)
	if closes != nil {
		defer func() { closes(err) }()
	}
	if isURL(cfg.DataDir) {
		if o.Tokens, err = readable(server.TokensIn(db)); err != nil {
			return err
		}
	}
	if o.Backups, err = r.schedule(db, backupPrimary, o); err != nil {
		return err
	}
	if o.Moments, err = r.sender(db, primary, o); err != nil {
		return err
	}
	s, err := server.New(db, o)
	if err != nil {
		return fail(exitUsage, err)
	}
	return r.serve(ctx, s, o, shown(cfg.DataDir), listener, pages)
}

// withBranches are the options for the branches: half of the memory is theirs.
func (r *serveRun) withBranches(cfg *config.Config, o server.Options) (*server.BranchOptions, error) {
	if isURL(cfg.DataDir) {
		return nil, fail(exitUsage, fmt.Errorf("--branches: %s has no files to link: only a database in a directory has branches", shown(cfg.DataDir)))
	}
	d, err := branch.Of(cfg.DataDir)
	if err != nil {
		return nil, fail(exitOpen, err)
	}
	db := r.options()
	db.Memory, db.BackgroundRate, db.Logger = cfg.Memory/2, cfg.BackgroundRate, o.Logger
	if cfg.Durability == "async" {
		db.Durability = query.DurabilityAsync
	}
	return &server.BranchOptions{Dir: d, Database: db}, nil
}

// The values of --backup-from.
const (
	backupPrimary = "primary"
	backupStandby = "standby"
	backupAny     = "any"
)

// schedule makes the schedule of a server with a role; nil if it makes no backups.
func (r *serveRun) schedule(db *query.DB, role string, o server.Options) (*archive.Schedule, error) {
	if from := cmp.Or(r.backupFrom, backupPrimary); r.backup == "" || from != role && from != backupAny {
		return nil, nil
	}
	to, err := osfile.Home(r.backup)
	if err != nil {
		return nil, fail(exitUsage, fmt.Errorf("--backup: %w", err))
	}
	s, err := archive.NewSchedule(db, to, archive.ScheduleOptions{Every: r.backupEvery, Keep: r.backupsKept(), Logger: o.Logger})
	if err != nil {
		return nil, fail(exitUsage, fmt.Errorf("--backup: %w", err))
	}
	return s, nil
}

// serve serves until it is interrupted. what is the database's name for people.
func (r *serveRun) serve(ctx context.Context, s *server.Server, o server.Options, what string, listener, pages net.Listener) error {
	r.warnIfOpen(o, listener)
	ctx, stop := interruptible(ctx)
	defer stop()
	r.collectEarly(r.limits.Bytes + r.ofGo)
	go releaseIdle(ctx)
	stopPages, err := r.servePages(s, o, what, listener.Addr().String(), pages)
	if err != nil {
		return fail(exitFailed, err)
	}
	defer stopPages()
	take(pages)    // first: once the listener is taken, a promotion has ended
	take(listener) // before the greeting: a client that reads it may connect, and no other server holds the door
	r.greet(what, listener.Addr().String(), pages)
	return fail(exitFailed, s.Serve(ctx, listener))
}

// readable returns the tokens, or an error if nobody could be let in by them.
func readable(tokens *server.Tokens) (*server.Tokens, error) {
	if _, _, err := tokens.List(); err != nil {
		return nil, fail(exitUsage, fmt.Errorf("the tokens cannot be read, so no client would be admitted: %w", err))
	}
	return tokens, nil
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
	r.ofGo = ofGo(cfg.Memory)
	return nil
}

func (r *serveRun) serveLogger(cfg *config.Config) *slog.Logger {
	o := slog.HandlerOptions{Level: cfg.LogLevel}
	if !r.logData {
		o.ReplaceAttr = server.WithoutData
	}
	if r.logFormat == "json" {
		without := o.ReplaceAttr
		o.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr {
			if without != nil {
				a = without(groups, a)
			}
			return inSeconds(groups, a)
		}
		return slog.New(slog.NewJSONHandler(r.stderr, &o))
	}
	return slog.New(slog.NewTextHandler(r.stderr, &o))
}

// inSeconds adds a unit to a duration, which slog's JSON lacks: duration becomes
// duration_seconds.
func inSeconds(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() != slog.KindDuration {
		return a
	}
	return slog.Float64(a.Key+"_seconds", a.Value.Duration().Seconds())
}
