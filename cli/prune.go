package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/archive/moments"
)

// A pruneRun removes old backups and moments.
type pruneRun struct {
	*command
	keep    int
	moments time.Duration
	dry     bool
}

func (c *command) pruneCommand() *cobra.Command {
	r := &pruneRun{command: c}
	cmd := &cobra.Command{
		Use:   "prune TARGET",
		Short: "Remove old backups and moments",
		Long: `prune removes what is old from TARGET: with --keep all but the newest N backups, and
with --keep-moments the moments that are older than D before the newest one there. The
newest backup and the newest moment always stay, and so does each backup that a moment
needs which stays. A server may send to TARGET meanwhile.

` + targets,
		Example: "  smolwc prune /backups/fleet --keep-moments 7d --keep 3 --dry-run\n  smolwc prune /backups/fleet --keep-moments 7d --keep 3",
		Args:    oneArg("TARGET"),
		RunE: func(cmd *cobra.Command, args []string) error {
			all := !cmd.Flags().Changed("keep") && !cmd.Flags().Changed("keep-moments")
			switch {
			case all:
				return fail(exitUsage, errors.New("say what stays: --keep N backups, --keep-moments D, or both"))
			case cmd.Flags().Changed("keep") && r.keep < 1:
				return fail(exitUsage, fmt.Errorf("--keep is %d; at least one backup has to stay", r.keep))
			case cmd.Flags().Changed("keep-moments") && r.moments <= 0:
				return fail(exitUsage, errors.New("--keep-moments is 0; say how long moments stay, as in 7d"))
			}
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			return fail(exitFailed, r.run(ctx, args[0]))
		},
	}
	cmd.Flags().IntVar(&r.keep, "keep", 0, "remove all but the newest `N` backups, and those that moments need")
	cmd.Flags().Var((*ageFlag)(&r.moments), "keep-moments", "remove moments that are older than `D`, counted from the newest one")
	cmd.Flags().BoolVar(&r.dry, "dry-run", false, "remove nothing, and say what would be removed")
	return cmd
}

func (r *pruneRun) run(ctx context.Context, target string) error {
	a, err := archive.Open(ctx, target)
	if err != nil {
		return err
	}
	var free []int
	if r.moments > 0 {
		if free, err = r.pruneMoments(ctx, a); err != nil {
			return err
		}
	}
	if r.keep > 0 {
		return r.pruneBackups(ctx, a, free)
	}
	return nil
}

// removes is "removed", or the words of a dry run.
func (r *pruneRun) removes() string {
	if r.dry {
		return "would remove"
	}
	return "removed"
}

// pruneMoments returns the backups that no moment needs any longer. The time is counted back from the newest moment,
// but not from the future: a wrong clock does not remove everything.
func (r *pruneRun) pruneMoments(ctx context.Context, a *archive.Archive) ([]int, error) {
	has, err := moments.Look(ctx, a)
	if err != nil {
		return nil, err
	}
	if has.Segments == 0 {
		return nil, fmt.Errorf("%s has no moments; smolwc serve --continuous sends them", a.Target())
	}
	from := has.Latest
	if now := time.Now(); now.Before(from) {
		from = now
	}
	prune := moments.Prune
	if r.dry {
		prune = moments.WouldPrune
	}
	p, err := prune(ctx, a, from.Add(-r.moments))
	if err != nil {
		return nil, err
	}
	r.say("%s %d segments of the log, %d bytes, and %d files of loads", r.removes(), p.Segments, p.Bytes, p.Loads)
	if n := len(p.Backups); n > 0 && r.keep == 0 {
		r.say("no moment needs %d of the backups any longer; --keep N removes all but the newest N", n)
	}
	if p.Earliest.IsZero() {
		r.say("no moment can be restored: no backup leads to the log")
		return p.Backups, nil
	}
	r.say("each moment from %s on stays%s", p.Earliest.Format("2006-01-02T15:04:05.000000Z"), gaps(has))
	return p.Backups, nil
}

func gaps(r moments.Report) string {
	if len(r.Gaps) == 0 {
		return ""
	}
	return ", but for gaps, which smolwc backups lists"
}

func (r *pruneRun) pruneBackups(ctx context.Context, a *archive.Archive, free []int) error {
	all, err := a.List(ctx)
	if err != nil || len(all) == 0 { // a lock would make the directory
		return cmp.Or(err, fmt.Errorf("%s has no backups; smolwc backup makes one", a.Target()))
	}
	var p archive.PruneResult
	if r.dry {
		p, err = a.WouldPrune(ctx, r.keep, free)
	} else {
		p, err = a.Prune(ctx, r.keep)
	}
	if err != nil {
		return err
	}
	r.say("%s %d backups, with %d bytes that no other one has", r.removes(), p.Generations, p.Bytes)
	return nil
}
