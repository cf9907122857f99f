package cli

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A shell keeps materialized views while it is open, the views of a database that .open opens too: a
// reader beside it gets the rows, which a reader cannot make itself.
func TestAnOpenShellKeepsMaterializedViews(t *testing.T) {
	first, second := filepath.Join(t.TempDir(), "db"), filepath.Join(t.TempDir(), "db")
	const create = "create table t family f\ncreate materialized view v as SELECT f['x'] AS x, COUNT(*) AS n FROM t GROUP BY x\n"
	script := func(dir, text string) {
		t.Helper()
		var stderr bytes.Buffer
		if code := run([]string{"--db", dir, "-f", "-"}, strings.NewReader(text), io.Discard, &stderr, noEnv); code != 0 {
			t.Fatalf("exit %d, stderr %q", code, &stderr)
		}
	}
	script(first, create)
	script(second, create)
	in, feed := io.Pipe()
	var stdout, stderr bytes.Buffer
	done := make(chan int)
	go func() { done <- run([]string{"--db", first, "-f", "-"}, in, &stdout, &stderr, noEnv) }()
	for _, c := range []struct{ dir, text string }{{first, "put t a f:x=1\n"}, {second, ".open " + second + "\nput t a f:x=1\n"}} {
		if _, err := io.WriteString(feed, c.text); err != nil {
			t.Fatal(err)
		}
		for {
			var stdout, stderr bytes.Buffer
			code := run([]string{"--db", c.dir, "--read-only", "--format", "csv", "-c", "select n from v"}, nil, &stdout, &stderr, noEnv)
			if code == 0 && stdout.String() == "n\n1\n" {
				break
			}
			if code != 0 && !strings.Contains(stderr.String(), "has not taken over") {
				t.Fatalf("exit %d, stderr %q", code, &stderr)
			}
			time.Sleep(time.Millisecond)
		}
	}
	if err := feed.Close(); err != nil {
		t.Fatal(err)
	}
	if code := <-done; code != 0 {
		t.Errorf("exit %d, stderr %q", code, &stderr)
	}
}
