package cli

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tell runs smolwc and returns what it prints, errors too.
func tell(t *testing.T, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), beSmolwc+"=1")
	out, _ := cmd.CombinedOutput() // the text says whether it failed
	return string(out)
}

// page gets a page for monitoring.
func page(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// await waits until a command prints a text.
func await(t *testing.T, want string, args ...string) {
	t.Helper()
	for at := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		got := tell(t, args...)
		if strings.Contains(got, want) {
			return
		}
		if time.Since(at) > time.Minute {
			t.Fatalf("after a minute %v prints %q; want %q", args, got, want)
		}
	}
}

// A standby serves the rows of its primary, refuses writes, and goes on when its primary
// was killed.
func TestServeAStandby(t *testing.T) {
	dir := t.TempDir()
	p := startServer(t, "--db", filepath.Join(dir, "p"))
	tell(t, "--addr", p.addr, "-c", "create table fleet family meta; put fleet a meta:x=hello")
	s := startServer(t, "--db", filepath.Join(dir, "s"), "--standby-of", p.addr, "--standby-name", "second", "--http", "127.0.0.1:0")
	await(t, "hello", "--addr", s.addr, "-c", "get fleet a")
	if got := tell(t, "--addr", s.addr, "-c", "put fleet b meta:x=no"); !strings.Contains(got, "standby") || !strings.Contains(got, p.addr) {
		t.Errorf("a write to the standby: %q", got)
	}
	await(t, "second", "replicas", "--addr", p.addr)
	await(t, "is a standby of "+p.addr+": connected", "replicas", "--addr", s.addr)
	if err := p.end(syscall.SIGKILL); err == nil {
		t.Error("the primary was not killed")
	}
	await(t, "not connected", "replicas", "--addr", s.addr)
	if text := page(t, strings.TrimSuffix(s.pages, "/metrics")+"/readyz?max-lag=0s"); !strings.Contains(text, "behind its primary") {
		t.Errorf("readyz: %q", text)
	}
	if text := page(t, s.pages); !strings.Contains(text, "smolwc_standby_connected 0") {
		t.Errorf("the metrics do not say that the standby is not connected")
	}
	p = startServer(t, "--db", filepath.Join(dir, "p"), "--addr", p.addr)
	tell(t, "--addr", p.addr, "-c", "put fleet b meta:x=again")
	await(t, "again", "--addr", s.addr, "-c", "get fleet b")
	if got := tell(t, "--db", filepath.Join(dir, "s"), "-c", "put fleet c meta:x=no"); !strings.Contains(got, "the directory has a standby") {
		t.Errorf("a write to the standby's directory: %q", got)
	}
	if err := s.end(syscall.SIGTERM); err != nil {
		t.Errorf("the standby ends with %v", err)
	}
	if err := p.end(syscall.SIGTERM); err != nil {
		t.Errorf("the primary ends with %v", err)
	}
}
