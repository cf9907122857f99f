package cli

import (
	"os"
	"strings"
	"testing"
)

// Commands and flags of released versions are there: docs/stability.md promises it. One
// that goes away leaves the file when its error names the successor.
func TestReleasedFlagsAreThere(t *testing.T) {
	text, err := os.ReadFile("testdata/released/0.1.0/flags.txt")
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
			t.Errorf("%s: %v, and %q is not a command", line, err, rest)
			continue
		}
		name := strings.TrimPrefix(words[at], "--")
		if cmd.Flag(name) == nil && cmd.InheritedFlags().Lookup(name) == nil {
			t.Errorf("%s has no %s", cmd.CommandPath(), words[at])
		}
	}
	if checked < 100 {
		t.Errorf("only %d flags", checked)
	}
}
