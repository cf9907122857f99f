package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/internal/config"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
	"github.com/smolwc/smolwc/standby"
)

// A standbyFlags is the flags of smolwc serve that are about standbys.
type standbyFlags struct {
	of, name string
	log      int64
	remote   remoteFlags // of the primary: TLS and token
}

func (f *standbyFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.of, "standby-of", "", "follow the database that smolwc serve serves on `HOST:PORT`, for reads alone; --db holds the copy. $"+envToken+" is the token for it")
	flags.StringVar(&f.name, "standby-name", "", "with --standby-of: be shown at the primary as `NAME` (default the machine's name)")
	flags.BoolVar(&f.remote.tls, "standby-tls", false, "with --standby-of: use TLS, with the authorities of this machine")
	flags.StringVar(&f.remote.ca, "standby-ca", "", "with --standby-of: use TLS, with the authorities in `FILE`")
	flags.StringVar(&f.remote.cert, "standby-cert", "", "with --standby-of: use TLS, and show the certificate in `FILE`")
	flags.StringVar(&f.remote.key, "standby-key", "", "the key of --standby-cert is in `FILE`")
	f.log = standby.DefaultLogBytes
	flags.Var((*sizeFlag)(&f.log), "standby-log", "keep `SIZE` of the log for standbys that are not connected; with 0 there can be no standbys")
}

func (f *standbyFlags) check(r *serveRun) error {
	if f.of == "" {
		if f.remote != (remoteFlags{}) || f.name != "" {
			return errors.New("--standby-name, --standby-tls, --standby-ca, --standby-cert and --standby-key are about a primary; name it with --standby-of")
		}
		return nil
	}
	switch {
	case !isAddr(f.of):
		return fmt.Errorf("--standby-of is %q; want HOST:PORT, as in db1:8086", f.of)
	case r.tests.on:
		return errors.New("--memory-only keeps no files, and a standby needs some; leave out one of --memory-only and --standby-of")
	case r.backup != "":
		return errors.New("a standby makes no backups on a schedule; give --backup to its primary")
	case (f.remote.cert == "") != (f.remote.key == ""):
		return errors.New("--standby-cert and --standby-key go together; one of them is missing")
	}
	return nil
}

// logBytes is the setting of package standby.
func (f *standbyFlags) logBytes() int64 {
	if f.log == 0 {
		return -1
	}
	return f.log
}

// serveStandby serves a standby until it is interrupted. When the standby has to be copied
// anew, it does so, and serves the copy.
func (r *serveRun) serveStandby(ctx context.Context, cfg *config.Config, o server.Options, listener, pages net.Listener) error {
	if isURL(cfg.DataDir) {
		return fail(exitUsage, fmt.Errorf("--standby-of needs a directory, and --db is %s", shown(cfg.DataDir)))
	}
	if err := wantEngine(); err != nil {
		return err
	}
	config, err := r.standby.remote.config()
	if err != nil {
		return fail(exitUsage, err)
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	r.reserve(cfg.Memory)
	s, err := standby.Open(ctx, cfg.DataDir, standby.Options{
		Primary: r.standby.of, Token: r.getenv(envToken), TLS: config, Name: r.standby.name, LogBytes: r.standby.logBytes(),
		Database: query.Options{Memory: cfg.Memory, BackgroundRate: cfg.BackgroundRate, Logger: o.Logger},
	})
	if err != nil {
		return fail(exitOpen, err)
	}
	for {
		lost, err := r.serveOnce(ctx, s, o, shown(cfg.DataDir), listener, pages)
		if !lost || !errors.Is(s.Err(), standby.ErrRebuild) {
			return fail(exitFailed, errors.Join(err, s.Err(), s.Close()))
		}
		o.Logger.Error("the standby has to be copied anew; it serves nothing until then", "error", s.Err())
		if s, err = r.rebuild(ctx, s, o); err != nil {
			return fail(exitFailed, err)
		}
		if listener, err = net.Listen("tcp", listener.Addr().String()); err != nil {
			return fail(exitFailed, errors.Join(err, s.Close()))
		}
		if pages != nil {
			if pages, err = net.Listen("tcp", pages.Addr().String()); err != nil {
				return fail(exitFailed, errors.Join(err, s.Close()))
			}
		}
	}
}

// serveOnce serves a standby until it is interrupted or lost.
func (r *serveRun) serveOnce(ctx context.Context, s *standby.Standby, o server.Options, what string, listener, pages net.Listener) (lost bool, err error) {
	o.Standbys = s.Service()
	srv, err := server.New(s.DB(), o)
	if err != nil {
		return false, err
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
	err = r.serve(ctx, srv, s.DB(), o, what+", a standby of "+r.standby.of+",", listener, pages)
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
func (r *serveRun) rebuild(ctx context.Context, s *standby.Standby, o server.Options) (*standby.Standby, error) {
	for {
		next, err := s.Rebuild(ctx)
		if err == nil || ctx.Err() != nil {
			return next, err
		}
		o.Logger.Error("the primary cannot be copied", "error", err, "again_in", rebuildWait)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(rebuildWait):
		}
	}
}

func (c *command) replicasCommand() *cobra.Command {
	var remote remoteFlags
	cmd := &cobra.Command{
		Use:   "replicas",
		Short: "Show a server's standbys, and how far they are behind",
		Long: `replicas shows what the server on --addr is, a primary or a standby, and the
standbys that are connected to it.

LAG is how long ago a standby had everything. RECORDS are changes that it does not
have yet, and BYTES is the part of the log that was not sent to it.`,
		Example: "  smolwc replicas --addr localhost:8086",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if remote.addr == "" {
				return fail(exitUsage, errors.New("--addr is missing; name the server, as in --addr localhost:8086"))
			}
			if err := remote.check(c); err != nil {
				return fail(exitUsage, err)
			}
			return c.replicas(cmd.Context(), &remote)
		},
	}
	remote.add(cmd)
	return cmd
}

func (c *command) replicas(ctx context.Context, remote *remoteFlags) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	db, err := remote.connect(ctx, c)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // no call is running
	all, err := db.Replicas(ctx)
	if err != nil {
		return fail(exitFailed, err)
	}
	return fail(exitFailed, c.printReplicas(remote.addr, all))
}

func (c *command) printReplicas(addr string, all client.Replicas) error {
	switch {
	case all.Standby:
		connected := "connected"
		if !all.Connected {
			connected = "not connected"
		}
		c.say("%s is a standby of %s: %s, epoch %d, position %d, lag %v", addr, all.Primary, connected, all.Epoch, all.Position, all.Lag.Round(time.Millisecond))
	case all.Epoch == 0:
		c.say("%s has never had a standby", addr)
		return nil
	default:
		c.say("%s is a primary: epoch %d, position %d", addr, all.Epoch, all.Position)
	}
	if len(all.Replicas) == 0 {
		c.say("no standby is connected")
		return nil
	}
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "STANDBY\tFROM\tPOSITION\tON DISK\tLAG\tRECORDS\tBYTES")
	for _, r := range all.Replicas {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%v\t%d\t%s\n", r.Name, r.Address, r.Applied, r.Synced, r.Lag.Round(time.Millisecond), r.BehindRecords, schema.FormatSize(r.BehindBytes))
	}
	return w.Flush()
}
