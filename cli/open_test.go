package cli

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// At a terminal smolwc says once that it created a database.
func TestANewDatabaseIsAnnouncedAtATerminal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(os.Args[0], append([]string{"--db", dir}, args...)...)
		cmd.Env = append(os.Environ(), beSmolwc+"=1", "TERM=xterm", "NO_COLOR=1")
		tty, err := pty.Start(cmd)
		if err != nil {
			t.Skipf("no terminal to be had: %v", err)
		}
		defer tty.Close()
		stuck := time.AfterFunc(5*time.Minute, func() { _ = cmd.Process.Kill() })
		defer stuck.Stop()
		all, _ := io.ReadAll(tty) // ends with an error when the process has ended
		if err := cmd.Wait(); err != nil {
			t.Errorf("%q: %v\n%s", args, err, all)
		}
		return string(all)
	}
	announced := "created a database in " + dir
	if out := run("-c", "create table t family f"); !strings.Contains(out, announced) {
		t.Errorf("nothing is said:\n%s", out)
	}
	if out := run("-c", "count t"); strings.Contains(out, announced) {
		t.Errorf("it is said again:\n%s", out)
	}
	dir += "2"
	if out := run("-q", "-c", "create table t family f"); strings.Contains(out, "created a database") {
		t.Errorf("it is said in spite of -q:\n%s", out)
	}
}
