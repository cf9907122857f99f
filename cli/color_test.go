package cli

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// Colours are for terminals that have them, and for users that want them.
func TestColorsAreForTerminals(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	onTerminal := func(env []string, args ...string) string {
		t.Helper()
		cmd := exec.Command(os.Args[0], append([]string{"--db", db, "--keep-going"}, args...)...)
		cmd.Env = append(append(os.Environ(), beSmolwc+"=1", "TERM=xterm", "NO_COLOR="), env...)
		tty, err := pty.Start(cmd)
		if err != nil {
			t.Skipf("no terminal to be had: %v", err)
		}
		defer tty.Close()
		out, _ := io.ReadAll(tty) // ends with an error when the process has ended
		_ = cmd.Wait()
		return string(out)
	}
	onTerminal(nil, "-c", "create table t family f", "-c", "put t key f:x=1")
	read := []string{"-c", "scan t", "-c", "scan u"}
	const bold, red = "\x1b[1mkey\x1b[0m", "\x1b[31m"
	if out := onTerminal(nil, read...); !strings.Contains(out, bold) || !strings.Contains(out, red) {
		t.Errorf("no colours: %q", out)
	}
	for _, out := range []string{
		onTerminal(nil, append(read, "--no-color")...),
		onTerminal([]string{"NO_COLOR=1"}, read...),
		onTerminal([]string{"TERM=dumb"}, read...),
		onTerminal(nil, append([]string{"-c", ".color off"}, read...)...),
	} {
		if strings.Contains(out, "\x1b") || !strings.Contains(out, "key") || !strings.Contains(out, "unknown table") {
			t.Errorf("coloured, or not there: %q", out)
		}
	}
	if out := onTerminal([]string{"TERM=dumb"}, append([]string{"-c", ".color on"}, read...)...); !strings.Contains(out, bold) {
		t.Errorf("no colours although asked for: %q", out)
	}
}
