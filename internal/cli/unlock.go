package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/archive"
)

func (c *command) unlockCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "unlock TARGET",
		Short: "Take away the lock of a target that a backup has left",
		Long: `unlock says whose lock keeps backups from TARGET, and takes it away. A lock whose
owner has ended is taken away at once, as the next backup would. Otherwise
unlock asks, or needs --force: a backup that is still running then fails.

The lock of a directory is the operating system's and ends with its process.

` + targets,
		Example: "  smolwc backup unlock s3://backups/fleet",
		Args:    oneArg("TARGET"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			return fail(exitFailed, c.unlock(ctx, args[0], force))
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "take it away also from a process that may be alive")
	return cmd
}

func (c *command) unlock(ctx context.Context, target string, force bool) error {
	a, err := archive.Open(ctx, target)
	if err != nil {
		return err
	}
	h, err := a.Holder(ctx)
	switch {
	case err != nil:
		return err
	case h == nil:
		c.say("nobody holds the lock of %s", target)
		return nil
	case h.Liveness != archive.Dead && !h.System && !force:
		err := c.ask(fmt.Sprintf("The lock is held by %s. If it is making a backup, that fails without the lock.\nTake it away?", h),
			fmt.Sprintf("the lock is held by %s; stop it, or take the lock away with --force", h), "the lock was left")
		if err != nil {
			return err
		}
	}
	if err := a.Unlock(ctx, *h); err != nil {
		return err
	}
	c.say("took the lock away from %s", h)
	return nil
}
