package cli

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/archive/moments"
	"github.com/smolwc/smolwc/internal/osfile"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
	"github.com/smolwc/smolwc/standby"
)

// A momentsFlags is the flags of smolwc serve that are about the archive of every moment.
type momentsFlags struct {
	on    bool
	every time.Duration
	keep  time.Duration
	sync  standby.SemiSyncMode
}

func (f *momentsFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.on, "continuous", false, "with --backup: send the log to TARGET too, so that every moment can be restored. While TARGET is away, --standby-log of the log are kept for it. A standby begins and catches up from TARGET, and sends there once it is promoted")
	flags.DurationVar(&f.every, "continuous-every", 0, "with --continuous: gather changes for `D` before they are sent (default 1s)")
	flags.Var((*ageFlag)(&f.keep), "continuous-keep", "with --continuous: keep moments restorable for `D`, and the backups that they need (default 7d)")
	flags.Var((*semiSyncFlag)(&f.sync), "continuous-sync", "with --continuous: a write returns when it is at TARGET: off, degrade (after --semi-sync-timeout it returns all the same) or strict (it fails); `MODE`")
}

func (f *momentsFlags) check(r *serveRun) error {
	switch {
	case !f.on && (f.every != 0 || f.keep != 0 || f.sync != standby.SemiSyncOff):
		return errors.New("--continuous-every, --continuous-keep and --continuous-sync go with --continuous")
	case !f.on:
		return nil
	case r.backup == "":
		return errors.New("--continuous goes with --backup TARGET, where the log is sent to")
	case r.standby.log == 0:
		return errors.New("--continuous needs the log, and --standby-log 0 keeps nothing of it; leave one of them out")
	case f.every < 0 || f.every > 0 && f.every < time.Millisecond:
		return fmt.Errorf("--continuous-every is %v; want 1ms or more", f.every)
	case f.sync != standby.SemiSyncOff && r.standby.semiSync.Mode != standby.SemiSyncOff:
		return errors.New("--continuous-sync makes writes wait for the target, and --semi-sync for a standby; give one of them")
	case f.sync != standby.SemiSyncOff && r.etcd.on():
		return errors.New("--continuous-sync makes writes wait for the target, and with --etcd they wait for standbys; leave --continuous-sync out")
	}
	return nil
}

// A semiSyncFlag is the value of --semi-sync.
type semiSyncFlag standby.SemiSyncMode

func (f *semiSyncFlag) String() string { return standby.SemiSyncMode(*f).String() }
func (f *semiSyncFlag) Type() string   { return "mode" }
func (f *semiSyncFlag) Set(text string) error {
	m, err := standby.ParseSemiSyncMode(text)
	*f = semiSyncFlag(m)
	return err
}

// semiSync says whether writes wait for acknowledgements.
func (r *serveRun) semiSync() standby.SemiSync {
	if r.moments.sync == standby.SemiSyncOff {
		return r.standby.semiSync
	}
	return standby.SemiSync{Mode: r.moments.sync, Archive: true, Timeout: r.standby.semiSync.Timeout}
}

// backupsKept is how long backups of the schedule are kept. Those that moments need stay longer.
func (r *serveRun) backupsKept() time.Duration {
	if r.backupKeep == 0 && r.moments.on {
		return cmp.Or(r.moments.keep, moments.DefaultKeep)
	}
	return r.backupKeep
}

// archive is where a standby begins and catches up; nil without --continuous.
func (r *serveRun) archive(l *slog.Logger) (standby.Archive, error) {
	if !r.moments.on {
		return nil, nil
	}
	from, err := osfile.Home(r.backup)
	if err != nil {
		return nil, fail(exitUsage, fmt.Errorf("--backup: %w", err))
	}
	return moments.Source{Target: from, Logger: l}, nil
}

// sender makes the sender of the log; nil without --continuous. primary keeps the log;
// nil for a database without one.
func (r *serveRun) sender(db *query.DB, primary *standby.Primary, o server.Options) (*moments.Sender, error) {
	if !r.moments.on {
		return nil, nil
	}
	if primary == nil {
		return nil, fail(exitUsage, errors.New("--continuous needs a database in a directory"))
	}
	to, err := osfile.Home(r.backup)
	if err != nil {
		return nil, fail(exitUsage, fmt.Errorf("--backup: %w", err))
	}
	send := moments.Options{Every: r.moments.every, Keep: r.moments.keep, Schedule: o.Backups, Strict: r.moments.sync == standby.SemiSyncStrict, Logger: o.Logger}
	send.Sent, send.Lost, send.Waiting = primary.Acknowledger()
	s, err := moments.NewSender(db, primary, to, send)
	if err != nil {
		return nil, fail(exitUsage, fmt.Errorf("--continuous: %w", err))
	}
	return s, nil
}
