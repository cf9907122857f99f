package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// At a terminal, the output of each -c goes through the pager if it is longer than the
// screen. Quitting the pager is not a failure. Scripts have no pager.
func TestLongResultsOfStatementsAreShownInPages(t *testing.T) {
	dir := t.TempDir()
	fill, read := filepath.Join(dir, "fill"), filepath.Join(dir, "read")
	text := "create table t family f\n"
	for i := range 50 {
		text += fmt.Sprintf("put t row%02d f:x=1\n", i)
	}
	for name, text := range map[string]string{fill: text, read: "scan t\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	onTerminal := func(pager string, args ...string) (out string, code int) {
		t.Helper()
		cmd := exec.Command(os.Args[0], append([]string{"--db", filepath.Join(dir, "db")}, args...)...)
		cmd.Env = append(os.Environ(), beSmolwc+"=1", "TERM=xterm", "NO_COLOR=1", "SMOLWC_PAGER="+pager)
		tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 10, Cols: 80})
		if err != nil {
			t.Skipf("no terminal to be had: %v", err)
		}
		defer tty.Close()
		stuck := time.AfterFunc(5*time.Minute, func() { _ = cmd.Process.Kill() })
		defer stuck.Stop()
		all, _ := io.ReadAll(tty) // ends with an error when the process has ended
		_ = cmd.Wait()
		return string(all), cmd.ProcessState.ExitCode()
	}
	if out, code := onTerminal("cat", "-q", "-f", fill); code != 0 {
		t.Fatalf("%d %s", code, out)
	}
	const pager = "echo paged; cat"
	for _, c := range []struct {
		pager string
		args  []string
		pages int
	}{
		{pager, []string{"-c", "scan t"}, 1},
		{pager, []string{"-c", "scan t", "-c", "scan t"}, 2},
		{pager, []string{"-c", "scan t limit=2"}, 0},
		{pager, []string{"-f", read}, 0},
		{"echo paged; true", []string{"-c", "scan t limit=0"}, 1},
		{"no-such-command", []string{"-c", "scan t"}, 0},
	} {
		out, code := onTerminal(c.pager, c.args...)
		if n := strings.Count(out, "paged"); n != c.pages || code != 0 {
			t.Errorf("%q with the pager %q: %d pages, exit code %d\n%s", c.args, c.pager, n, code, out)
		}
	}
}

// SIGTERM ends a statement of the command line even while a whole page is shown.
func TestSIGTERMWhileTheWholePageIsShown(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "--db", filepath.Join(dir, "db"), "-c", "create table t family f; help")
	cmd.Env = append(os.Environ(), beSmolwc+"=1", "TERM=xterm", "NO_COLOR=1", "SMOLWC_PAGER=cat >/dev/null; echo paged; exec sleep 600")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 10, Cols: 80})
	if err != nil {
		t.Skipf("no terminal to be had: %v", err)
	}
	defer tty.Close()
	stuck := time.AfterFunc(5*time.Minute, func() { _ = cmd.Process.Kill() })
	defer stuck.Stop()
	for lines := bufio.NewScanner(tty); lines.Scan() && !strings.Contains(lines.Text(), "paged"); {
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadAll(tty)
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() < 0 {
		t.Error(err)
	}
}
