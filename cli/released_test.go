package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var releaseOf = flag.String("release", "", "write the commands and flags of today to testdata/released/`VERSION`/flags.txt")

// Commands and flags of released versions are there: docs/stability.md promises it. One
// that goes away leaves the file when its error names the successor.
func TestReleasedFlagsAreThere(t *testing.T) {
	if *releaseOf != "" {
		lines := strings.Join(flagsOf((&command{}).root()), "\n") + "\n"
		if err := os.WriteFile(filepath.Join("testdata/released", *releaseOf, "flags.txt"), []byte(lines), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob("testdata/released/*/flags.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		checked := 0
		for line := range strings.Lines(string(text)) {
			checked++
			words := strings.Fields(line) // smolwc, the command and its flag
			at := len(words) - 1
			root := (&command{}).root()
			cmd, rest, err := root.Find(words[1:at])
			if err != nil || len(rest) > 0 {
				t.Errorf("%s: %s: %v, and %q is not a command", file, line, err, rest)
				continue
			}
			name := strings.TrimPrefix(words[at], "--")
			if cmd.Flag(name) == nil && cmd.InheritedFlags().Lookup(name) == nil {
				t.Errorf("%s: %s has no %s", file, cmd.CommandPath(), words[at])
			}
		}
		if checked < 100 {
			t.Errorf("%s: only %d flags", file, checked)
		}
	}
}

// flagsOf are the flags that a command and those below it declare, each behind its command.
func flagsOf(c *cobra.Command) (lines []string) {
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { lines = append(lines, fmt.Sprintf("%s --%s", c.CommandPath(), f.Name)) })
	c.PersistentFlags().VisitAll(func(f *pflag.Flag) { lines = append(lines, fmt.Sprintf("%s --%s", c.CommandPath(), f.Name)) })
	for _, below := range c.Commands() {
		lines = append(lines, flagsOf(below)...)
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}
