package cli

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// At a terminal apply asks before it hides anything, and only yes is yes.
func TestSchemaApplyAsksAtATerminal(t *testing.T) {
	dir := t.TempDir()
	declare := func(versions int) {
		text := fmt.Sprintf("data_dir: %s/db\ntables: [{name: t, families: [{name: f, max_versions: %d}]}]\n", dir, versions)
		if err := os.WriteFile(filepath.Join(dir, "c.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	smolwc := func(args ...string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], append([]string{"--config", filepath.Join(dir, "c.yaml")}, args...)...)
		cmd.Env = append(os.Environ(), beSmolwc+"=1", "TERM=dumb")
		return cmd
	}
	declare(3)
	if out, err := smolwc("-c", "put t r f:q=1", "-c", "put t r f:q=2", "-c", "put t r f:q=3").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	declare(1)
	for _, c := range []struct {
		answer, says string
		left         int
	}{{"no", "nothing was done", 3}, {"y", "nothing was done", 3}, {"\x04", "nothing was done", 3}, {"yes", "~ family t/f", 1}} {
		cmd := smolwc("schema", "apply")
		tty, err := pty.Start(cmd)
		if err != nil {
			t.Skipf("no terminal to be had: %v", err)
		}
		if _, err := io.WriteString(tty, c.answer+"\n"); err != nil {
			t.Fatal(err)
		}
		out, _ := io.ReadAll(tty) // ends with an error when the process has ended
		failed := cmd.Wait() != nil
		tty.Close()
		for _, want := range []string{"2 cells would become invisible", "yes or no", c.says} {
			if !strings.Contains(string(out), want) {
				t.Errorf("%q: it does not say %q: %s", c.answer, want, out)
			}
		}
		got, err := smolwc("-q", "-c", "get t r versions=all", "--format", "csv").Output()
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(got), "f:q"); n != c.left || failed != (c.left == 3) {
			t.Errorf("%q: %d versions are left, failed is %v", c.answer, n, failed)
		}
	}
}
