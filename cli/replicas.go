package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/schema"
)

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
			if err := remote.checkOne(c); err != nil {
				return fail(exitUsage, err)
			}
			return c.replicas(cmd.Context(), &remote)
		},
	}
	remote.add(cmd)
	return cmd
}

func (c *command) promoteCommand() *cobra.Command {
	var remote remoteFlags
	var leader, mapFile, at string
	cmd := &cobra.Command{
		Use:   "promote",
		Short: "Make a standby the primary",
		Long: `promote makes the standby on --addr the primary. The server takes writes when
promote returns, at the same addresses; its reads go on meanwhile.

The old primary is fenced as soon as it can be reached: it takes no more writes.
Servers with --etcd are not promoted by hand: stop the one that leads.
Changes that the standby does not have are not lost: they stay in the directory of
the old primary, and are kept aside when that becomes a standby.

A standby with --standby-delay first applies all that it has received. With --at it stops
at a moment: all that was written up to then is there, and nothing later.

With --map the server then leads its instances in the shard map of smolwc route, and
the old primary is a standby there. On a server that leads already, --map only
changes the map.`,
		Example: "  smolwc promote --addr db2:8086\n  smolwc promote --addr db2:8086 --map map.json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if remote.addr == "" {
				return fail(exitUsage, errors.New("--addr is missing; name the standby, as in --addr localhost:8088"))
			}
			if err := remote.checkOne(c); err != nil {
				return fail(exitUsage, err)
			}
			if leader = cmp.Or(leader, remote.addr); !isAddr(leader) {
				return fail(exitUsage, fmt.Errorf("--leader is %q; want HOST:PORT, as in db2:8086", leader))
			}
			change := mapChange{mapFile, leader}
			if err := change.check(); err != nil {
				return fail(exitUsage, fmt.Errorf("--map: %w; nothing was promoted", err))
			}
			moment, err := momentFlag(at)
			if err != nil {
				return fail(exitUsage, fmt.Errorf("--at: %w", err))
			}
			return c.promote(cmd.Context(), &remote, change, moment)
		},
	}
	remote.add(cmd)
	cmd.Flags().StringVar(&leader, "leader", "", "tell others that the server is at `HOST:PORT` (default the value of --addr)")
	cmd.Flags().StringVar(&mapFile, "map", "", "then change the shard map in `FILE`, where the server is a standby")
	cmd.Flags().StringVar(&at, "at", "", "of a standby with --standby-delay: leave out what was written after `TIME`, such as 2024-01-25T10:30:59Z or now-10m")
	return cmd
}

// momentFlag is the time of a flag, zero without one.
func momentFlag(text string) (at time.Time, err error) {
	if text == "" {
		return at, nil
	}
	ts, err := lex.ParseTime(lex.Pos{}, text)
	if err != nil {
		return at, err
	}
	micros, err := ts.Resolve(cells.TimestampOf(time.Now()))
	return micros.Time(), err
}

func (c *command) switchoverCommand() *cobra.Command {
	var remote remoteFlags
	var to, mapFile string
	cmd := &cobra.Command{
		Use:   "switchover",
		Short: "Make a standby the primary, and the primary its standby",
		Long: `switchover makes the standby on --to the primary, and the primary its standby.
Nothing is lost, and nothing is copied: the primary stops taking writes, waits until
the standby has all of them, and has it promoted. Writes wait meanwhile, for less
than a second if the standby is up to date; if it does not catch up, the primary
goes on.

With --etcd, --to is the standby's --advertise, and the lease goes there. With --map
the standby then leads its instances in the shard map of smolwc route.`,
		Example: "  smolwc switchover --to db2:8086\n  smolwc switchover --to db2:8086 --map map.json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case to == "":
				return fail(exitUsage, errors.New("--to is missing; name the standby, as in --to db2:8086"))
			case !isAddr(to):
				return fail(exitUsage, fmt.Errorf("--to is %q; want HOST:PORT, as in db2:8086", to))
			}
			change := mapChange{mapFile, to}
			if err := change.check(); err != nil {
				return fail(exitUsage, fmt.Errorf("--map: %w; nothing was changed", err))
			}
			first := remote
			first.addr = cmp.Or(remote.addr, to)
			if err := first.check(c); err != nil {
				return fail(exitUsage, err)
			}
			return c.switchover(cmd.Context(), &remote, change)
		},
	}
	remote.add(cmd)
	cmd.Flags().Lookup("addr").Usage = "the primary is on `HOST:PORT` (default the one that the standby follows)"
	cmd.Flags().StringVar(&to, "to", "", "make the standby on `HOST:PORT` the primary; the primary reaches it there too")
	cmd.Flags().StringVar(&mapFile, "map", "", "then change the shard map in `FILE`, where the server is a standby")
	return cmd
}

// switchedTime bounds how long switchover waits until both servers have their new roles.
const switchedTime = time.Minute

func (c *command) switchover(ctx context.Context, remote *remoteFlags, change mapChange) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	standby := *remote
	standby.addr = change.leader
	next, err := standby.connect(ctx, c)
	if err != nil {
		return err
	}
	defer func() { _ = next.Close() }() // no call is running
	before, err := next.Replicas(ctx)
	if err != nil {
		return fail(exitFailed, fmt.Errorf("%s: %w; nothing was changed", change.leader, err))
	}
	if !before.Standby {
		return fail(exitFailed, fmt.Errorf("%s is no standby; nothing was changed", change.leader))
	}
	primary := *remote
	primary.addr = cmp.Or(primary.addr, before.Primary)
	lead, err := primary.connect(ctx, c)
	if err != nil {
		return err
	}
	defer func() { _ = lead.Close() }() // no call is running
	if _, err := lead.Switchover(ctx, change.leader); err != nil {
		return fail(exitFailed, fmt.Errorf("%s: %w", primary.addr, err))
	}
	after, err := switched(ctx, next, func(r client.Replicas) bool {
		return !r.Standby && r.Epoch > before.Epoch && (r.Lease == nil || r.Lease.Held)
	})
	if err != nil {
		return fail(exitFailed, fmt.Errorf("%s has handed over, and %s does not lead yet: %w", primary.addr, change.leader, err))
	}
	c.say("%s is the primary: epoch %d", change.leader, after.Epoch)
	if err := c.changeMap(change); err != nil {
		return err
	}
	if _, err = switched(ctx, lead, func(r client.Replicas) bool { return r.Standby && r.Connected }); err != nil {
		return fail(exitFailed, fmt.Errorf("%s leads, and %s does not follow it yet: %w; start it with --standby-of %s", change.leader, primary.addr, err, change.leader))
	}
	c.say("%s is its standby", primary.addr)
	return nil
}

// switched waits until a server has taken its new role.
func switched(ctx context.Context, db *client.Client, holds func(client.Replicas) bool) (all client.Replicas, err error) {
	ctx, cancel := context.WithTimeout(ctx, switchedTime)
	defer cancel()
	for {
		if all, err = db.Replicas(ctx); err == nil && holds(all) {
			return all, nil
		}
		select {
		case <-ctx.Done():
			return all, cmp.Or(err, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (c *command) promote(ctx context.Context, remote *remoteFlags, change mapChange, at time.Time) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	db, err := remote.connect(ctx, c)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // no call is running
	if is, err := db.Replicas(ctx); err == nil && change.file != "" && !is.Standby && is.FencedBy == "" && (is.Lease == nil || is.Lease.Held) {
		c.say("%s is the primary already: epoch %d", remote.addr, is.Epoch)
		return c.changeMap(change)
	}
	p, err := db.PromoteAt(ctx, change.leader, at)
	if err != nil {
		return fail(exitFailed, err)
	}
	c.say("%s is the primary: epoch %d, after position %d", remote.addr, p.Epoch, p.After)
	if !p.Moment.IsZero() {
		c.say("its last change was written at %s", p.Moment.Format("2006-01-02T15:04:05.000000Z"))
	}
	if p.Unfenced != "" {
		_, err = fmt.Fprintf(c.stderr, "could not fence the old primary yet (%s); make sure it accepts no writes\n", p.Unfenced)
	}
	return cmp.Or(c.changeMap(change), fail(exitFailed, err))
}

// changeMap records in the shard map that a server leads.
func (c *command) changeMap(change mapChange) error {
	if change.file == "" {
		return nil
	}
	moved, err := change.make()
	if err != nil {
		return fail(exitFailed, fmt.Errorf("%s leads, but the shard map was not changed: %w; smolwc promote --addr %s --map %s tries again", change.leader, err, change.leader, change.file))
	}
	c.say("%s: %s leads %s", change.file, change.leader, strings.Join(moved, ", "))
	return nil
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

// printLease says which server may take writes.
func (c *command) printLease(l *client.Lease) {
	if l == nil {
		return
	}
	switch {
	case l.Held:
		c.say("it holds the lease in etcd, for %v unless it is renewed", l.Left.Round(time.Millisecond))
	case l.Leader == "":
		c.say("no server holds the lease in etcd, so none takes writes")
	default:
		c.say("%s holds the lease in etcd", l.Leader)
	}
	if l.Heir != "" {
		if heirs := strings.Split(l.Heir, ", "); len(heirs) > 1 {
			c.say("synchronous standbys: %s; each has every acknowledged write, and may take over", l.Heir)
		} else {
			c.say("synchronous standby: %s; it has each acknowledged write, and may take over", l.Heir)
		}
	}
	if l.Err != "" {
		c.say("etcd does not answer: %s", l.Err)
	}
}

func (c *command) printReplicas(addr string, all client.Replicas) error {
	switch {
	case all.Standby:
		connected := "connected"
		if !all.Connected {
			connected = "not connected"
		}
		c.say("%s is a standby of %s: %s, epoch %d, position %d, lag %v", addr, all.Primary, connected, all.Epoch, all.Position, all.Lag.Round(time.Millisecond))
		if all.Delay > 0 {
			since := "no moment but the present one"
			if !all.DelayedSince.IsZero() {
				since = "each moment since " + all.DelayedSince.UTC().Format(time.RFC3339)
			}
			c.say("it stays %s behind, with %s on its disk, and can be promoted to %s", schema.FormatAge(all.Delay), schema.FormatSize(all.DelayedBytes), since)
		}
		if v := all.Verified; v != nil {
			c.say("verified at %s: %s", v.Began.UTC().Format(time.RFC3339), verified(v))
		}
	case all.Epoch == 0:
		c.say("%s has never had a standby", addr)
		c.printLease(all.Lease)
		return nil
	case all.FencedBy != "":
		c.say("%s takes no writes, since %s was promoted: epoch %d, position %d", addr, all.FencedBy, all.Epoch, all.Position)
	default:
		c.say("%s is a primary: epoch %d, position %d", addr, all.Epoch, all.Position)
	}
	for _, addr := range all.Untold {
		c.say("could not fence the old primary %s yet; make sure it accepts no writes", addr)
	}
	if n := len(all.Diverged); n > 0 {
		c.say("kept aside, with rows that the primary may not have (%d of at most 4): %s; the oldest is %s", n, strings.Join(all.Diverged, ", "), all.Diverged[0])
	}
	c.printLease(all.Lease)
	switch {
	case all.SemiSync == "" || all.SemiSync == "off":
	case all.Acks > 1 && all.Degraded:
		c.say("semi-sync %s is degraded: writes return without the acknowledgements of %d standbys (%d are connected); %d did so", all.SemiSync, all.Acks, all.Acknowledging, all.Alone)
	case all.Acks > 1 && all.SemiSync == "strict" && all.Acknowledging < all.Acks:
		c.say("semi-sync strict: each write waits for %d standbys, and only %d can acknowledge it, so writes fail", all.Acks, all.Acknowledging)
	case all.Acks > 1:
		c.say("semi-sync %s: each write waits for %d standbys; %d returned without them", all.SemiSync, all.Acks, all.Alone)
	case all.Degraded:
		c.say("semi-sync %s is degraded: writes return without a standby; %d did so", all.SemiSync, all.Alone)
	default:
		c.say("semi-sync %s: each write waits for a standby; %d returned without one", all.SemiSync, all.Alone)
	}
	if len(all.Replicas) == 0 {
		c.say("no standby is connected")
		return nil
	}
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "STANDBY\tFROM\tPOSITION\tON DISK\tLAG\tRECORDS\tBYTES\tVERIFIED")
	for _, r := range all.Replicas {
		if r.Delay > 0 {
			r.Name += fmt.Sprintf(" (%s behind)", schema.FormatAge(r.Delay))
		} else if r.Observer {
			r.Name += " (observer)"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%v\t%d\t%s\t%s\n", r.Name, r.Address, r.Applied, r.Synced, r.Lag.Round(time.Millisecond), r.BehindRecords, schema.FormatSize(r.BehindBytes), verifiedAt(r.Verified))
	}
	return w.Flush()
}

// verified is the result of a verification.
func verified(v *client.Verification) string {
	if v.Difference != "" {
		return "different: " + v.Difference
	}
	return fmt.Sprintf("equal at position %d", v.Position)
}

// verifiedAt is the result of a verification, in a list.
func verifiedAt(v *client.Verification) string {
	switch {
	case v == nil:
		return "-"
	case v.Difference != "":
		return "DIFFERENT " + v.Began.UTC().Format(time.RFC3339)
	}
	return "equal " + v.Began.UTC().Format(time.RFC3339)
}
