package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/cli/internal/config"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
	"github.com/smolwc/smolwc/standby"
	"github.com/smolwc/smolwc/standby/lease"
)

// An etcdFlags is the flags of smolwc serve that are about failover by etcd.
type etcdFlags struct {
	endpoints []string
	prefix    string
	ttl       time.Duration
	advertise string
}

func (f *etcdFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.endpoints, "etcd", nil, "lead or follow as etcd at `HOST:PORT,...` says: when the server that leads is gone, another one takes its place")
	flags.StringVar(&f.prefix, "etcd-prefix", "/smolwc", "with --etcd: the servers of one database have their keys under `PREFIX`")
	flags.DurationVar(&f.ttl, "etcd-ttl", lease.DefaultTTL, "with --etcd: a server that was not heard of for `D` loses the lead; whole seconds")
	flags.StringVar(&f.advertise, "advertise", "", "with --etcd: others reach this server at `HOST:PORT` (default --addr)")
}

// isEndpoint reports whether etcd's client takes an address: HOST:PORT, or a URL of it.
func isEndpoint(e string) bool {
	e = strings.TrimPrefix(strings.TrimPrefix(e, "http://"), "https://")
	return isAddr(e)
}

func (f *etcdFlags) on() bool { return len(f.endpoints) > 0 }

func (f *etcdFlags) check(r *serveRun) error {
	switch {
	case !f.on() && (f.prefix != "/smolwc" || f.ttl != lease.DefaultTTL || f.advertise != ""):
		return errors.New("--etcd-prefix, --etcd-ttl and --advertise are about etcd; name it with --etcd")
	case !f.on():
		return nil
	case r.standby.of != "":
		return errors.New("with --etcd a server follows the one that leads; leave out --standby-of")
	case r.standby.name != "":
		return errors.New("with --etcd the name of a server is its address, --advertise; leave out --standby-name")
	case r.standby.log == 0:
		return errors.New("--etcd needs standbys, which --standby-log 0 refuses; leave one of them out")
	case r.tests.on:
		return errors.New("--memory-only keeps no files, and --etcd needs some; leave one of them out")
	case slices.ContainsFunc(f.endpoints, func(e string) bool { return !isEndpoint(e) }):
		return fmt.Errorf("--etcd is %q; want HOST:PORT, or several with commas, as in etcd1:2379", strings.Join(f.endpoints, ","))
	case f.ttl < time.Second || f.ttl%time.Second != 0:
		return fmt.Errorf("--etcd-ttl is %v; want whole seconds, as in 10s", f.ttl)
	case f.advertise != "" && !isAddr(f.advertise):
		return fmt.Errorf("--advertise is %q; want HOST:PORT, as in db1:8086", f.advertise)
	case !strings.HasPrefix(f.prefix, "/") || strings.Trim(f.prefix, "/") == "":
		return fmt.Errorf("--etcd-prefix is %q; want a path, as in /smolwc", f.prefix)
	}
	return nil
}

// name is the address by which others reach the server.
func (f *etcdFlags) name(addr string, listener net.Addr) (string, error) {
	if f.advertise != "" {
		return f.advertise, nil
	}
	host, _, err := net.SplitHostPort(addr)
	_, port, portErr := net.SplitHostPort(listener.String())
	if ip := net.ParseIP(host); err != nil || portErr != nil || host == "" || ip != nil && ip.IsUnspecified() {
		return "", fmt.Errorf("--addr is %s, which is no address for others; give theirs with --advertise, as in db1:8086", addr)
	}
	return net.JoinHostPort(host, port), nil
}

// connect opens the elector. The environment is as for etcdctl.
func (f *etcdFlags) connect(r *serveRun, name string, o server.Options) (*lease.Elector, error) {
	config, err := etcdTLS(r.getenv("ETCDCTL_CACERT"), r.getenv("ETCDCTL_CERT"), r.getenv("ETCDCTL_KEY"))
	if err != nil {
		return nil, err
	}
	user, password, _ := strings.Cut(r.getenv("ETCDCTL_USER"), ":")
	return lease.Open(lease.Options{
		Endpoints: f.endpoints, TLS: config, User: user, Password: cmp.Or(r.getenv("ETCDCTL_PASSWORD"), password),
		Prefix: f.prefix, Name: name, Observer: r.standby.observer, TTL: f.ttl, Logger: o.Logger,
	})
}

// etcdTLS is nil without files.
func etcdTLS(ca, cert, key string) (*tls.Config, error) {
	if ca == "" && cert == "" && key == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		text, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("$ETCDCTL_CACERT: %w", err)
		}
		if config.RootCAs = x509.NewCertPool(); !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("$ETCDCTL_CACERT: %s has no certificate in PEM", ca)
		}
	}
	if cert != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("$ETCDCTL_CERT and $ETCDCTL_KEY: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// An election serves the database in the role that etcd gives it.
type election struct {
	*serveRun
	cfg         *config.Config
	o           server.Options
	main, pages *door
	name        string
	elector     *lease.Elector
	tls         *tls.Config
	failed      *error // of the last try to follow
}

// serveElected serves the database until it is interrupted, as the primary or as a standby.
func (r *serveRun) serveElected(ctx context.Context, cfg *config.Config, o server.Options, listener, pages net.Listener) (err error) {
	if isURL(cfg.DataDir) {
		return fail(exitUsage, fmt.Errorf("--etcd needs a directory, and --db is %s", shown(cfg.DataDir)))
	}
	e := &election{serveRun: r, cfg: cfg, o: o, main: doorOf(listener), pages: doorOf(pages)}
	if e.tls, err = r.standby.remote.config(ctx, "--standby"); err != nil {
		return fail(exitUsage, err)
	}
	if e.name, err = r.etcd.name(r.addr, listener.Addr()); err != nil {
		return fail(exitUsage, err)
	}
	if err := wantStandbys(cfg); err != nil {
		return err
	}
	if e.elector, err = r.etcd.connect(r, e.name, o); err != nil {
		return fail(exitUsage, err)
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	r.reserve(cfg.Memory)
	for err == nil && ctx.Err() == nil {
		err = e.serveRole(ctx)
	}
	return fail(exitFailed, errors.Join(unlessStopped(ctx, err), e.elector.Close())) // the database is closed: another server may take over
}

// serveRole serves the database in one role. Until it gets one, calls are answered with
// the reason.
func (e *election) serveRole(ctx context.Context) error {
	var leads atomic.Bool
	waited := e.refuse(e.main.listener(), e.pages.listener(), e.o.Logger, func() string {
		if leads.Load() {
			return "this server leads, and opens its database; it serves nothing until then"
		}
		return "this server waits for etcd to say which server leads, and serves nothing until then: " + e.elector.Waiting()
	})
	defer waited()
	found, err := standby.Find(ctx, e.cfg.DataDir, e.database())
	if err != nil {
		return fail(exitOpen, err)
	}
	if found.Standby {
		return e.follow(ctx, found, waited)
	}
	e.o.Logger.Info("waiting for etcd to say which server leads", "name", e.name)
	term, err := e.elector.Campaign(ctx, e.candidate(found, func() uint64 { return found.Position }))
	switch {
	case ctx.Err() != nil:
		return nil
	case errors.Is(err, lease.ErrHeld):
		return e.follow(ctx, found, waited)
	case err != nil:
		return fail(exitOpen, err)
	}
	leads.Store(true)
	return e.lead(ctx, term, waited)
}

// lead serves the primary. waited is called when it serves.
func (e *election) lead(ctx context.Context, term *lease.Term, waited func()) error {
	ctx, stop := during(ctx, term)
	defer stop()
	main := e.main.entrance()
	p := standby.NewPrimary(standby.PrimaryOptions{LogBytes: e.standby.logBytes(), SemiSync: e.standby.semiSync, Lease: e.elector, Token: e.getenv(envToken), TLS: e.tls, Logger: e.o.Logger})
	go func() {
		select {
		case <-main.taken:
			waited()
			e.identify(ctx, p)
		case <-ctx.Done():
			waited()
		}
	}()
	err := e.serveAs(ctx, p, e.cfg, e.o, main, e.pages.listener(), nil)
	select {
	case <-main.taken:
	default:
		e.resignEmpty(context.WithoutCancel(ctx), term)
	}
	return err
}

// identify tells the elector the identity of the server's database, which may be new.
func (e *election) identify(ctx context.Context, p *standby.Primary) {
	database, err := p.Database(ctx)
	if err == nil {
		err = e.elector.Identify(ctx, database)
	}
	if err != nil && ctx.Err() == nil {
		e.o.Logger.Warn("etcd does not know the identity of the database; a server with another one is not found out", "error", err)
	}
}

// resignEmpty gives the lease back if there is no database yet: another server may lead that
// can. Where there is one, this server is the one to lead it.
func (e *election) resignEmpty(ctx context.Context, term *lease.Term) {
	if found, err := standby.Find(ctx, e.cfg.DataDir, e.database()); err != nil || found.Primary || found.Standby {
		return
	}
	if err := e.elector.Resign(ctx, term); err != nil {
		e.o.Logger.Error("the lease cannot be given back; it ends by itself", "error", err)
	}
}

func (e *election) database() query.Options {
	return query.Options{Memory: e.cfg.Memory, Engine: query.Engine(e.cfg.Engine), BackgroundRate: e.cfg.BackgroundRate, Logger: e.o.Logger}
}

func (e *election) candidate(found standby.Finding, position func() uint64) lease.Candidate {
	return lease.Candidate{
		Standby: found.Standby, Primary: found.Primary, Database: found.Database, Epoch: found.Epoch,
		Strict: e.standby.semiSync.Mode == standby.SemiSyncStrict, Position: position,
	}
}

// during returns a context that ends when another server took over.
func during(ctx context.Context, term *lease.Term) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		select {
		case <-term.Done:
			stop()
		case <-ctx.Done():
		}
	}()
	return ctx, stop
}

// leader is the server to follow, as etcd says, or else as the directory does.
func (e *election) leader(found standby.Finding) string {
	v, _ := e.elector.View()
	switch {
	case v.Leader != "" && v.Leader != e.name:
		return v.Leader
	case found.Follows == "" && v.State != nil:
		return v.State.Leader
	}
	return found.Follows
}

// follow serves a standby, and the primary that it may become. waited is called when calls
// get other answers than before.
func (e *election) follow(ctx context.Context, found standby.Finding, waited func()) error {
	run := *e.serveRun
	run.standby.of = e.leader(found)
	if err := run.checkTokens(ctx, e.cfg, e.o, run.standby.of, e.tls); err != nil {
		return err
	}
	archive, err := run.archive(e.o.Logger)
	if err != nil {
		return err
	}
	h := newHandover(&run, e.cfg, e.o, e.main, e.pages)
	h.steer = func(ctx context.Context, s *standby.Standby) func() { return e.steer(ctx, h, s) }
	h.redirect = e.redirect
	h.failed.Store(e.failed)
	refused := h.refuse(starting)
	defer refused()
	waited()
	s, err := standby.Open(ctx, e.cfg.DataDir, standby.Options{
		Primary: run.standby.of, Token: e.getenv(envToken), TLS: e.tls, Name: e.name, LogBytes: e.standby.logBytes(), SemiSync: e.standby.semiSync,
		Observer: e.standby.observer, VerifyEvery: e.standby.verify, Lease: e.elector, Archive: archive, Database: e.database(),
		Promote: func(context.Context, *standby.Standby, string, time.Time) (*standby.Promotion, error) {
			return nil, errors.New("etcd says which server leads; stop the one that does, and another one takes its place")
		},
	})
	e.failed = nil
	if errors.Is(err, standby.ErrNotYet) {
		e.o.Logger.Warn("this server cannot follow yet", "leader", run.standby.of, "error", err)
		e.failed = &err
		h.failed.Store(e.failed)
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
		return nil
	}
	if err != nil {
		return fail(exitOpen, err)
	}
	h.failed.Store(nil)
	refused()
	return h.run(ctx, s)
}

// redirect makes a standby follow the server that leads.
func (e *election) redirect(s *standby.Standby) {
	v, _ := e.elector.View()
	if v.Leader == "" || v.Leader == e.name || v.Leader == s.Primary() {
		return
	}
	if err := s.Redirect(v.Leader); err != nil {
		e.o.Logger.Error("the standby cannot follow another server", "leader", v.Leader, "error", err)
		return
	}
	e.o.Logger.Info("the standby follows another server", "leader", v.Leader)
}

// steer makes a standby follow the server that leads, and take its place when it is
// gone, until stop is called.
func (e *election) steer(ctx context.Context, h *handover, s *standby.Standby) (stop func()) {
	life := ctx
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil && s.Err() == nil {
			_, changed := e.elector.View()
			e.redirect(s)
			term, err := e.campaign(ctx, s)
			if err == nil && e.promote(life, h, s, term) {
				return
			}
			if err != nil && !errors.Is(err, lease.ErrHeld) && ctx.Err() == nil && s.Err() == nil {
				e.o.Logger.Error("this server cannot lead", "error", err)
			}
			select {
			case <-ctx.Done():
			case <-changed:
			}
		}
	})
	return func() { cancel(); running.Wait() }
}

// campaign waits until the server of a standby may lead.
func (e *election) campaign(ctx context.Context, s *standby.Standby) (*lease.Term, error) {
	found, err := s.Finding(ctx)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-s.Lost():
			stop()
		case <-ctx.Done():
		}
	}()
	return e.elector.Campaign(ctx, e.candidate(found, s.Position))
}

// promote makes a standby the primary for a term, and reports whether it was promoted.
// Otherwise it goes on, or is lost.
func (e *election) promote(life context.Context, h *handover, s *standby.Standby, term *lease.Term) bool {
	life, stop := during(life, term)
	p, err := h.promote(life, context.WithoutCancel(life), e.name, func(d query.Durability) (*standby.Promotion, error) {
		return s.PromoteTo(context.WithoutCancel(life), term.Epoch, e.name, d)
	})
	if err == nil {
		e.o.Logger.Info("this server leads", "epoch", p.Epoch, "after", p.After)
		return true
	}
	stop()
	e.o.Logger.Error("this server cannot take over", "error", err)
	select {
	case <-h.promoted: // its epoch began, so the lease is not given back for the one before
		return true
	default:
	}
	if s.Err() == nil || errors.Is(s.Err(), standby.ErrRebuild) { // it goes on following, or is copied from another one
		if err := e.elector.Resign(context.WithoutCancel(life), term); err != nil {
			e.o.Logger.Error("the lease cannot be given back; it ends by itself", "error", err)
		}
	}
	return false
}
