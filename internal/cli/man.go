package cli

import (
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/smolwc/smolwc/query/ql"
	"github.com/smolwc/smolwc/shell"
)

// manCommand writes the manual pages. It is for packagers of smolwc and hidden from
// users.
func (c *command) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write manual pages into a directory",
		Hidden: true,
		Args:   oneArg("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return fail(exitFailed, writeManual(cmd.Root(), args[0]))
		},
	}
}

// writeManual writes a page for each command. The page of smolwc also has the
// statements of the shell.
func writeManual(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	statements, err := ql.HelpPage("")
	if err != nil {
		return err
	}
	root.DisableAutoGenTag = true
	root.Long += "\n\nThe statements of the shell, which help explains one by one:\n\n" + indented(statements)
	return doc.GenManTree(root, &doc.GenManHeader{Title: "SMOLWC", Section: "1", Source: "smolwc " + version(), Manual: "smolwc"}, dir)
}

// indented indents text so that its lines are kept.
func indented(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ") + "\n"
}

// completions defines how bash, zsh and fish complete the values of flags.
func completions(root *cobra.Command) error {
	if err := root.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(shell.Formats, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		return err
	}
	if err := root.MarkPersistentFlagDirname("db"); err != nil {
		return err
	}
	return root.MarkPersistentFlagFilename("config", "yaml", "yml")
}
