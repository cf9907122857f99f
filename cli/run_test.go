package cli

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/query"
)

// A database that is in use is exit code 3, and the message says so.
func TestDatabaseInUse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	db, err := query.Open(dir, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var stdout, stderr bytes.Buffer
	code := run([]string{"--db", dir, "-c", "tables"}, strings.NewReader(""), &stdout, &stderr, noEnv)
	if code != 3 || !strings.Contains(stderr.String(), "is open in this process already") || !strings.Contains(stderr.String(), dir) {
		t.Errorf("exit %d, stderr %q", code, &stderr)
	}
	stderr.Reset()
	code = run([]string{"--db", dir, "--read-only", "-c", "tables"}, strings.NewReader(""), &stdout, &stderr, noEnv)
	if code != 0 {
		t.Errorf("reading beside a writer: exit %d, stderr %q", code, &stderr)
	}
}

// run runs smolwc and returns its exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	return (&command{stdin: stdin, stdout: stdout, stderr: stderr, getenv: getenv}).run(args)
}

func noEnv(string) string { return "" }

// A script whose input never ends is stopped after --timeout.
func TestTimeout(t *testing.T) {
	in, feed := io.Pipe()
	defer feed.Close()
	var stdout, stderr bytes.Buffer
	dir := filepath.Join(t.TempDir(), "db")
	code := run([]string{"--db", dir, "--timeout", "20ms"}, in, &stdout, &stderr, noEnv)
	if code != 1 || !strings.Contains(stderr.String(), "gave up after 20ms") {
		t.Errorf("exit %d, stderr %q", code, &stderr)
	}
}

// Ctrl-C ends a script with 130, also while it waits for input, and the effects of
// earlier statements stay.
func TestInterrupt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	cmd := exec.Command(os.Args[0], "--db", dir)
	cmd.Env = append(os.Environ(), beSmolwc+"=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, "create table t family f\nput t a f:x=1\ncount t\nput t b f:x=1 \\\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 100)); err != nil { // count has run
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(5 * time.Minute):
		t.Error("still running five minutes after the interrupt")
		_ = cmd.Process.Kill()
		<-done
	}
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit %d, stderr %q", code, &stderr)
	}
	var stdout bytes.Buffer
	if code := run([]string{"--db", dir, "--format", "csv", "-c", "count t"}, nil, &stdout, &stderr, noEnv); code != 0 || stdout.String() != "1\n" {
		t.Errorf("exit %d, %q rows, stderr %q", code, &stdout, &stderr)
	}
}
