package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/ql/lex"
)

const targets = `A target is a directory, or s3://BUCKET/PREFIX with ?endpoint=URL for a server other
than Amazon's, and ?region=NAME. Access keys come from AWS_ACCESS_KEY_ID and
AWS_SECRET_ACCESS_KEY, from AWS's files, or with ?credentials=instance from the
machine's role.`

func (c *command) backupCommand() *cobra.Command {
	r := &statementRun{command: c, copies: true, needs: func([]string) need { return needsWriter }}
	r.words = func(args []string) []string { return []string{"backup", quoted("to ", first(args))} }
	cmd := r.makeServed(&cobra.Command{
		Use:   "backup [TARGET]",
		Short: "Back the database up",
		Long: `backup sends the files of the database, as of one moment, to TARGET, or to where
the last backup went. Files that an earlier backup, even an interrupted one, has
sent are not sent again.

` + targets + `

A database that a process has open is backed up by that process: by a shell with
the statement backup, by smolwc serve with --addr. The server then resolves TARGET
on its own machine and uses its own access keys; its --backup-to has to allow TARGET.`,
		Example: "  smolwc backup /backups/fleet --keep 7\n  smolwc --addr localhost:8086 backup /backups/fleet\n  smolwc backup 's3://backups/fleet?endpoint=http://127.0.0.1:7070'",
	}, 0, 1)
	cmd.AddCommand(c.unlockCommand())
	r.value(cmd, "keep", "keep=", "prune all but the newest `N` backups")
	r.travelling(cmd)
	return cmd
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// needsTarget returns the need of a command with an optional target: without it, the
// command reads the last target from the database.
func needsTarget(args []string) need {
	if len(args) > 0 {
		return needsNothing
	}
	return needsReader
}

func (c *command) backupsCommand() *cobra.Command {
	r := &statementRun{command: c, needs: needsTarget}
	r.words = func(args []string) []string { return []string{"backups", quoted("in ", first(args))} }
	cmd := r.makeServed(&cobra.Command{
		Use:     "backups [TARGET]",
		Short:   "List the backups",
		Long:    "backups lists the backups in TARGET, or where the database was backed up to last, and says\nwhich moments can be restored with --at.\n\n" + targets,
		Example: "  smolwc backups /backups/fleet",
	}, 0, 1)
	cmd.Flags().StringVar(&r.format, "format", "", "print the list as `FORMAT` (default table on a terminal, else jsonl)")
	return cmd
}

func (c *command) verifyCommand() *cobra.Command {
	r := &statementRun{command: c, needs: needsTarget}
	r.words = func(args []string) []string { return []string{"verify", quoted("in ", first(args))} }
	cmd := r.makeServed(&cobra.Command{
		Use:   "verify [TARGET | --against HOST:PORT]",
		Short: "Compare all backups with their checksums, or a standby with its primary",
		Long: `verify reads every byte in TARGET, or where the database was backed up to last, and
names what is damaged. It exits with 1 when anything is. The segments of the log that
smolwc serve --continuous has sent must follow each other; with --sample, random moments
are restored too.

` + targets + `

With --against, the standby on --addr compares its cells with those of its primary, as
of one position, while both go on. verify prints the number of rows and cells of each
table, and a checksum. If they differ, it names the first row that does, and exits with
1; the standby serves nothing until it is rebuilt from its primary, and keeps its files
aside. Two directories that nothing writes are compared by smolwc copy --verify.`,
		Example: "  smolwc verify /backups/fleet\n  smolwc verify --addr db2:8088 --against db1:8086",
	}, 0, 1)
	r.number(cmd, "sample", "restore `N` random moments in a temporary directory, and check them")
	r.travelling(cmd)
	v := &verifyRun{command: c, remote: &r.remote}
	cmd.Flags().StringVar(&v.against, "against", "", "compare the standby on --addr with its primary, which it knows as `HOST:PORT`")
	cmd.Flags().StringVar(&v.format, "format", "table", "with --against: print the result as `FORMAT`: table or json")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if v.against == "" && !cmd.Flags().Changed("format") {
			return r.run(cmd, args)
		}
		return v.run(cmd, args)
	}
	return cmd
}

func (c *command) restoreCommand() *cobra.Command {
	r := &statementRun{command: c}
	r.words = func(args []string) []string { return []string{"restore", args[0], quoted("to ", args[1])} }
	cmd := r.make(&cobra.Command{
		Use:   "restore BACKUP DIR",
		Short: "Make a database of a backup",
		Long: `restore makes a database in DIR of BACKUP, a number that backups lists, or latest.
Every byte is compared with its checksum before DIR gets its name.

With --at it is as it was at a moment, where smolwc serve --continuous has sent the log. It
says what it reads before it begins, and which moment it has reached.

` + targets,
		Example: "  smolwc restore latest ./restored --from /backups/fleet\n  smolwc restore latest ./restored --from /backups/fleet --at 2024-01-25T10:30:59Z",
	}, 2, 2)
	from := r.text(cmd, "from", "from ", "restore from `TARGET` (default where the database was backed up to last)")
	r.needs = func([]string) need { return needsTarget(strings.Fields(*from)) }
	r.value(cmd, "at", "at ", "restore the moment after the last commit up to `TIME`, such as 2024-01-25T10:30 or now-10m; a number below 10^15 is a position of the log")
	r.on(cmd, "overwrite", "replace a database that is in DIR")
	r.travelling(cmd)
	return cmd
}

func (c *command) checkpointCommand() *cobra.Command {
	r := &statementRun{command: c, copies: true, needs: func([]string) need { return needsWriter }}
	r.words = func(args []string) []string { return []string{"checkpoint", lex.QuoteText(args[0])} }
	return r.makeServed(&cobra.Command{
		Use:     "checkpoint DIR",
		Short:   "Copy the database to a directory",
		Long:    "checkpoint makes a database in DIR, as of one moment. On the same disk the files are\nlinked, which takes hardly any time or space.",
		Example: "  smolwc checkpoint ./copy",
	}, 1, 1)
}

func (c *command) exportCommand() *cobra.Command {
	r := &statementRun{command: c, needs: func([]string) need { return needsReader }, here: true}
	r.words = func(args []string) []string {
		return []string{"export", lex.QuoteName(args[0]), "to", lex.QuoteText(args[1])}
	}
	cmd := r.makeServed(&cobra.Command{
		Use:   "export TABLE FILE",
		Short: "Write a table to a CSV, JSON lines or Parquet file",
		Long: `export writes a snapshot of TABLE to FILE (.csv, .jsonl, .ndjson, also
with .gz or .zst, .parquet or .avro), or to the output if FILE is -. It is the export statement
of the shell; "help export" there says more. A process may be writing the database
meanwhile. With --addr it reads the table of a running smolwc serve.`,
		Example: "  smolwc export fleet fleet.parquet\n  smolwc export fleet - --as csv --prefix 'plane#' --wide meta:model,miles",
	}, 2, 2)
	r.value(cmd, "as", "as ", "write `FORMAT`: csv, jsonl or parquet (default as the file's name says)")
	r.value(cmd, "wide", "wide=", "a line for each row, with a field for each column in `LIST`, FAM:QUAL[=FIELD[:TYPE]] with commas between")
	r.value(cmd, "bytes", "bytes=", "with --wide, write bytes in csv and jsonl as `FORM`: hex or base64 (default hex in csv, base64 in jsonl)")
	r.text(cmd, "prefix", "prefix=", "only rows whose keys start with `KEY`")
	r.text(cmd, "start", "start=", "only rows from `KEY` on")
	r.text(cmd, "end", "end=", "only rows before `KEY`")
	r.value(cmd, "columns", "columns=", "only columns in `LIST`")
	r.value(cmd, "where", "where ", "only rows for which `CONDITION` holds, such as 'meta:miles >= 5'")
	r.value(cmd, "versions", "versions=", "the newest `N` versions of each column (default all)")
	r.value(cmd, "limit", "limit=", "the first `N` rows")
	r.value(cmd, "since", "since=", "only cells from `TIME` on")
	r.value(cmd, "until", "until=", "only cells before `TIME`")
	r.on(cmd, "overwrite", "replace FILE if it exists")
	cmd.Flags().BoolVar(&c.readOnly, "read-only", false, "open read-only, even while another process writes; export always does")
	return cmd
}

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
