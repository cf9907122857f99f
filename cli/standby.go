package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/cli/internal/config"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
	"github.com/smolwc/smolwc/standby"
)

// A standbyFlags is the flags of smolwc serve that are about standbys.
type standbyFlags struct {
	of, name string
	observer bool
	delay    time.Duration
	disk     int64 // for the delay
	verify   time.Duration
	log      int64
	semiSync standby.SemiSync
	remote   remoteFlags // of the primary: TLS and token
}

func (f *standbyFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.of, "standby-of", "", "follow the database that smolwc serve serves on `HOST:PORT`, only for reads; --db holds the copy. $"+envToken+" is the token for it")
	flags.StringVar(&f.name, "standby-name", "", "with --standby-of: be shown at the primary as `NAME` (default the machine's name)")
	flags.BoolVar(&f.observer, "standby-observer", false, "with --standby-of: writes of the primary never wait for this standby")
	flags.Var((*ageFlag)(&f.delay), "standby-delay", "with --standby-of: stay `D` behind the primary. Changes that come meanwhile are on the disk, and smolwc promote --at goes to any moment of it")
	flags.Var((*sizeFlag)(&f.disk), "standby-delay-disk", "with --standby-delay: use at most `SIZE` of the disk, about, for waiting changes, 1MiB or more; beyond that the oldest changes are applied before their time (default 0, no bound)")
	flags.Var((*ageFlag)(&f.verify), "standby-verify-every", "with --standby-of: compare all cells with the primary's every `D`, as smolwc verify --against does, and after a copy (default 0, never)")
	flags.BoolVar(&f.remote.tls, "standby-tls", false, "with --standby-of, and after a promotion until the old primary is fenced: use TLS, with the authorities of this machine")
	flags.StringVar(&f.remote.ca, "standby-ca", "", "with --standby-of, and after a promotion until the old primary is fenced: use TLS, with the authorities in `FILE`")
	flags.StringVar(&f.remote.cert, "standby-cert", "", "with --standby-of, and after a promotion until the old primary is fenced: use TLS, and show the certificate in `FILE`")
	flags.StringVar(&f.remote.key, "standby-key", "", "the key of --standby-cert is in `FILE`")
	f.log = standby.DefaultLogBytes
	flags.Var((*sizeFlag)(&f.log), "standby-log", "keep `SIZE` of the log for standbys that are not connected; with 0 there can be no standbys")
	flags.Var((*semiSyncFlag)(&f.semiSync.Mode), "semi-sync", "a write returns when a standby has it on its disk: off, degrade (after --semi-sync-timeout it returns all the same) or strict (it fails); `MODE`")
	flags.IntVar(&f.semiSync.Acks, "semi-sync-acks", 1, "with --semi-sync: wait for `K` standbys, so that losing the primary and K-1 of them together loses no write that was acknowledged")
	flags.DurationVar(&f.semiSync.Timeout, "semi-sync-timeout", standby.DefaultSemiSyncTimeout, "with --semi-sync: wait this long for a standby")
}

func (f *standbyFlags) check(r *serveRun) error {
	switch semi := f.semiSync.Mode != standby.SemiSyncOff; {
	case semi && f.log == 0:
		return errors.New("--semi-sync waits for standbys, which --standby-log 0 refuses; leave one of them out")
	case semi && r.tests.on:
		return errors.New("--semi-sync waits for standbys, which --memory-only cannot have; leave one of them out")
	case f.semiSync.Acks < 1:
		return fmt.Errorf("--semi-sync-acks is %d; want the number of standbys that must have a write, 1 or more", f.semiSync.Acks)
	case !semi && f.semiSync.Acks > 1:
		return fmt.Errorf("--semi-sync-acks %d is about writes that wait, and --semi-sync is off; give it strict or degrade", f.semiSync.Acks)
	case f.semiSync.Timeout <= 0:
		return fmt.Errorf("--semi-sync-timeout is %v; want more than 0, as in 10s", f.semiSync.Timeout)
	}
	switch {
	case (f.remote.cert == "") != (f.remote.key == ""):
		return errors.New("--standby-cert and --standby-key go together; one of them is missing")
	case f.of == "" && r.tests.on && f.remote != (remoteFlags{}):
		return errors.New("--standby-tls, --standby-ca, --standby-cert and --standby-key are about another server, and --memory-only has none; leave them out")
	case f.disk != 0 && (f.delay == 0 || f.disk < standby.MinDelayBytes):
		return fmt.Errorf("--standby-delay-disk is %s; want %s or more, with --standby-delay", schema.FormatSize(f.disk), schema.FormatSize(standby.MinDelayBytes))
	case r.etcd.on() && f.delay != 0:
		return errors.New("a server with --etcd may have to lead at once, and --standby-delay makes it wait; leave one of them out")
	case f.delay != 0 && f.verify != 0:
		return errors.New("--standby-verify-every compares the standby with its primary of now, and --standby-delay keeps it behind; leave one of them out")
	case r.etcd.on():
		return nil
	case f.of == "" && (f.name != "" || f.observer || f.verify != 0 || f.delay != 0):
		return errors.New("--standby-name, --standby-observer, --standby-delay and --standby-verify-every are about a primary; name it with --standby-of")
	case f.of == "":
		return nil
	case !isAddr(f.of):
		return fmt.Errorf("--standby-of is %q; want HOST:PORT, as in db1:8086", f.of)
	case sameServer(f.of, r.addr):
		return fmt.Errorf("--standby-of is %s, which is this server itself, at --addr %s; name the server that is to be followed", f.of, r.addr)
	case r.tests.on:
		return errors.New("--memory-only keeps no files, and a standby needs some; leave out one of --memory-only and --standby-of")
	case r.backup != "" && r.backupFrom == "" && !r.moments.on:
		return errors.New("a standby makes no backups on a schedule unless --backup-from says so; give --backup to its primary, or give both servers --backup-from: primary, standby or any")
	}
	return nil
}

// lookupTime bounds the search for the addresses of a host.
const lookupTime = 2 * time.Second

// sameServer reports whether an address leads to a server that listens on another one of
// this machine. A host that cannot be looked up is another one.
func sameServer(addr, listens string) bool {
	if addr == listens {
		return true
	}
	host, port, err := net.SplitHostPort(addr)
	own, ownPort, ownErr := net.SplitHostPort(listens)
	if err != nil || ownErr != nil || port != ownPort || port == "0" {
		return false
	}
	listening := addressesOf(cmp.Or(own, "0.0.0.0"))
	if slices.ContainsFunc(listening, netip.Addr.IsUnspecified) {
		addrs, _ := net.InterfaceAddrs() // empty if it fails
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				listening = append(listening, p.Addr().Unmap())
			}
		}
	}
	return slices.ContainsFunc(addressesOf(cmp.Or(host, "0.0.0.0")), func(ip netip.Addr) bool {
		return ip.IsUnspecified() || slices.Contains(listening, ip)
	})
}

// addressesOf are the addresses of a host; empty if it cannot be looked up.
func addressesOf(host string) []netip.Addr {
	ctx, cancel := context.WithTimeout(context.Background(), lookupTime)
	defer cancel()
	all, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	for i := range all {
		all[i] = all[i].Unmap()
	}
	return all
}

// logBytes is the setting of package standby.
func (f *standbyFlags) logBytes() int64 {
	if f.log == 0 {
		return -1
	}
	return f.log
}

// serveStandby serves a standby, and the primary that it becomes, until it is interrupted or
// handed over; then it calls switched. A standby that must be rebuilt does so, and serves the
// copy.
func (r *serveRun) serveStandby(ctx context.Context, cfg *config.Config, o server.Options, main, pages *door, switched func(leader string)) error {
	if isURL(cfg.DataDir) {
		return fail(exitUsage, fmt.Errorf("--standby-of needs a directory, and --db is %s", shown(cfg.DataDir)))
	}
	if err := wantStandbys(cfg); err != nil {
		return err
	}
	config, err := r.standby.remote.config(ctx, "--standby")
	if err != nil {
		return fail(exitUsage, err)
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	if err := r.checkTokens(ctx, cfg, o, r.standby.of, config); err != nil {
		return err
	}
	from, err := r.archive(o.Logger)
	if err != nil {
		return err
	}
	r.reserve(cfg.Memory)
	h := newHandover(r, cfg, o, main, pages)
	refused := h.refuse(starting)
	s, err := standby.Open(ctx, cfg.DataDir, standby.Options{
		Primary: r.standby.of, Token: r.getenv(envToken), TLS: config, Name: r.standby.name, LogBytes: r.standby.logBytes(), SemiSync: r.semiSync(), Observer: r.standby.observer, VerifyEvery: r.standby.verify,
		Switched: switched, Delay: r.standby.delay, DelayBytes: r.standby.disk, Archive: from,
		Database: query.Options{Memory: cfg.Memory, Engine: query.Engine(cfg.Engine), BackgroundRate: cfg.BackgroundRate, Logger: o.Logger},
		Promote: func(call context.Context, s *standby.Standby, leader string, at time.Time) (*standby.Promotion, error) {
			return h.promote(ctx, call, leader, func(d query.Durability) (*standby.Promotion, error) { return s.PromoteAt(call, at, leader, d) })
		},
	})
	refused()
	if err != nil {
		return unlessStopped(ctx, fail(exitOpen, err))
	}
	if err := r.checkTokens(ctx, cfg, o, s.Primary(), config); err != nil { // the primary may have been away
		return errors.Join(err, s.Close())
	}
	return unlessStopped(ctx, h.run(ctx, s))
}

// checkTokens refuses to serve a standby without tokens whose primary requires them. A
// primary that does not answer is assumed to, if there is a token for it, and a copy to
// serve.
func (r *serveRun) checkTokens(ctx context.Context, cfg *config.Config, o server.Options, primary string, config *tls.Config) error {
	if primary == "" || o.Tokens.Admit("") != nil {
		return nil
	}
	required, err := standby.RequiresToken(ctx, primary, config)
	if err != nil && r.getenv(envToken) != "" {
		found, err := standby.Find(ctx, cfg.DataDir, query.Options{Memory: cfg.Memory, Logger: o.Logger})
		required = err == nil && found.Standby
	}
	if !required {
		return nil
	}
	return fail(exitOpen, fmt.Errorf(`%w: %s requires a token, and this server has none of its own, so everybody could read here, and write once it is promoted; give it tokens, and a token of its primary, with the right to administer all tables, in $%[3]s:
  smolwc --db %[4]s token create NAME --admin '*'
  %[3]s=TOKEN smolwc serve --db %[4]s --standby-of %[2]s`, standby.ErrTokens, primary, envToken, shown(cfg.DataDir)))
}

// unlessStopped is the error of a server, but nil if it was stopped while it opened its
// database, or copied another one.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func newHandover(r *serveRun, cfg *config.Config, o server.Options, main, pages *door) *handover {
	return &handover{serveRun: r, cfg: cfg, o: o, main: main, pages: pages, promoted: make(chan struct{}), left: make(chan struct{}), done: make(chan error, 1),
		steer: func(context.Context, *standby.Standby) func() { return func() {} }, redirect: func(*standby.Standby) {}}
}

// run serves a standby, its copies and the primary that it becomes.
func (h *handover) run(ctx context.Context, s *standby.Standby) error {
	for {
		steered := h.steer(ctx, s)
		lost, err := h.serveOnce(ctx, s)
		steered()
		if errors.Is(err, server.ErrCallsLeft) {
			return fail(exitFailed, err) // they use the database, which cannot be closed
		}
		select {
		case <-h.promoted:
			err = errors.Join(err, s.Close())
			close(h.left)
			return fail(exitFailed, errors.Join(err, <-h.done))
		default:
		}
		if !lost || !errors.Is(s.Err(), standby.ErrRebuild) {
			return fail(exitFailed, errors.Join(err, s.Err(), s.Close()))
		}
		h.o.Logger.Error("the standby serves nothing for now", "error", s.Err())
		refused := h.refuse(rebuilding)
		s, err = h.rebuild(ctx, s)
		refused()
		if err != nil {
			return fail(exitFailed, err)
		}
	}
}

// A handover serves a standby, and then the primary that it becomes: both for a moment, so
// that reads go on.
type handover struct {
	*serveRun
	cfg         *config.Config
	o           server.Options
	main, pages *door
	promoted    chan struct{}         // closed when the primary serves, or failed to
	left        chan struct{}         // closed when the standby is closed
	done        chan error            // the end of the primary
	failed      atomic.Pointer[error] // of the last try to copy

	steer    func(context.Context, *standby.Standby) (stop func()) // begins to choose the primary
	redirect func(*standby.Standby)                                // chooses it once
}

// The answer of a standby while it serves nothing.
const (
	starting   = "this standby is starting, and copies its primary first if it has no rows yet; it serves nothing until then"
	rebuilding = "this standby is being rebuilt; until then it serves nothing and cannot be promoted. If its primary is gone for good, start it again: it then serves the rows that it had, and can be promoted"
)

// refuse answers all calls with a reason, until done is called.
func (r *serveRun) refuse(main, pages net.Listener, l *slog.Logger, why func() string) (done func()) {
	ctx, stop := context.WithCancel(context.Background())
	take(main)
	take(pages)
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := (server.Refusal{Why: why, TLS: r.tls, Pages: pages}).Serve(ctx, main); err != nil {
			l.Warn("calls get no answer while nothing is served", "error", err)
		}
	})
	return func() { stop(); serving.Wait() }
}

// refuse is serveRun.refuse, and says why the last try to copy failed.
func (h *handover) refuse(why string) (done func()) {
	return h.serveRun.refuse(h.main.listener(), h.pages.listener(), h.o.Logger, func() string {
		if failed := h.failed.Load(); failed != nil {
			return fmt.Sprintf("%s. The last try has failed: %v", why, *failed)
		}
		return why
	})
}

// promote is the call of smolwc promote. The primary is served until ctx ends.
func (h *handover) promote(ctx, call context.Context, leader string, begin func(query.Durability) (*standby.Promotion, error)) (*standby.Promotion, error) {
	durability := query.DurabilitySync
	if h.cfg.Durability == "async" {
		durability = query.DurabilityAsync
	}
	p, err := begin(durability)
	if err != nil {
		return nil, err
	}
	defer close(h.promoted)
	main, failed := h.main.entrance(), make(chan error, 1)
	fails := func(err error) {
		select {
		case failed <- err:
		default: // it is known
		}
	}
	go func() {
		err := h.serveAs(ctx, p.Primary, h.cfg, h.o, main, h.pages.listener(), func(err error) { fails(err); <-h.left })
		fails(err)
		h.done <- err
	}()
	select {
	case <-main.taken:
		return p, nil
	case err = <-failed:
	}
	select {
	case <-main.taken: // it served, and ends
		return p, nil
	default:
		return nil, fmt.Errorf("the standby was promoted, and cannot be served: %w", cmp.Or(err, context.Cause(ctx)))
	}
}

// serveOnce serves a standby until it is interrupted, lost or promoted.
func (h *handover) serveOnce(ctx context.Context, s *standby.Standby) (lost bool, err error) {
	o := h.o
	o.Standbys = s.Service()
	if h.branches { // it was the primary
		if o.Branches, err = h.withBranches(h.cfg, o); err != nil {
			return false, err
		}
	}
	if s.Primary() != "" {
		if o.Backups, err = h.schedule(s.DB(), backupStandby, o); err != nil {
			return false, err
		}
	}
	srv, err := server.New(s.DB(), o)
	if err != nil {
		return s.Err() != nil, err // a standby that was lost already gives no rows
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-s.Lost():
		case <-h.promoted:
		case <-ctx.Done():
		}
		stop()
	}()
	what := shown(h.cfg.DataDir) + ", a standby of " + h.standby.of + ","
	if h.standby.of == "" {
		what = shown(h.cfg.DataDir) + ", only for reads,"
	}
	err = h.serve(ctx, srv, o, what, h.main.listener(), h.pages.listener())
	select {
	case <-s.Lost():
		return true, err
	default:
		return false, err
	}
}

// rebuildWait is the time between two tries to copy the primary.
const rebuildWait = 5 * time.Second

// rebuild copies the primary, again and again until it succeeds.
func (h *handover) rebuild(ctx context.Context, s *standby.Standby) (*standby.Standby, error) {
	for {
		h.redirect(s)
		next, err := s.Rebuild(ctx)
		if err == nil || ctx.Err() != nil {
			h.failed.Store(nil)
			return next, err
		}
		h.o.Logger.Error("the primary cannot be copied", "error", err, "again_in", rebuildWait)
		h.failed.Store(&err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(rebuildWait):
		}
	}
}
