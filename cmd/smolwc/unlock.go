package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"

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
		if err := c.mayUnlock(h); err != nil {
			return err
		}
	}
	if err := a.Unlock(ctx, *h); err != nil {
		return err
	}
	c.say("took the lock away from %s", h)
	return nil
}

// mayUnlock asks whether to take a lock from a process that may be alive. Without a
// terminal it refuses.
func (c *command) mayUnlock(h *archive.Holder) error {
	if !isTerminal(c.stdin) || !isTerminal(c.stderr) {
		return fmt.Errorf("the lock is held by %s; stop it, or take the lock away with --force", h)
	}
	_, _ = fmt.Fprintf(c.stderr, "The lock is held by %s. If it is making a backup, that fails without the lock.\nTake it away? yes or no: ", h)
	answer, err := bufio.NewReader(c.stdin).ReadString('\n')
	if err != nil || !strings.EqualFold(strings.TrimSpace(answer), "yes") {
		return fmt.Errorf("the lock was left")
	}
	return nil
}
