package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Two instances on two servers, one with a standby, behind a router: the shell writes to
// each, the check finds no difference, and after a promotion that changes the map, writes
// go to the new leader. A check finds what the map then does not say.
func TestRoute(t *testing.T) {
	dir := t.TempDir()
	a, b := startServer(t, "--db", filepath.Join(dir, "a")), startServer(t, "--memory-only")
	s := startServer(t, "--db", filepath.Join(dir, "s"), "--standby-of", a.addr)
	file := filepath.Join(dir, "map.json")
	text := fmt.Sprintf(`{
  "projects/p/instances/one": {"num_shards": 1, %q: ["00000:M"], %q: ["00000:S"]},
  "two": {"num_shards": 1, %q: ["00000:M"]}
}`, a.addr+":az_0", s.addr+":az_1", b.addr)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, "route", "routing by ", "--map", file, "--http", "127.0.0.1:0")
	say := func(addr, instance, statements string) string {
		t.Helper()
		return tell(t, "--addr", addr, "--instance", "projects/p/instances/"+instance, "-c", statements)
	}
	for _, instance := range []string{"one", "two"} {
		if got := say(r.addr, instance, "create table t family f; put t row f:q="+instance+"; get t row; calls"); !strings.Contains(got, instance) || strings.Contains(got, "smolwc:") {
			t.Errorf("the shell through the router: %q", got)
		}
	}
	if got := say(b.addr, "one", "get t row"); !strings.Contains(got, "unknown table") {
		t.Errorf("the server of instance two has instance one: %q", got)
	}
	if got := tell(t, "ping", "--addr", r.addr); got != "" {
		t.Errorf("ping: %q", got)
	}
	await(t, "standby of "+a.addr, "route", "check", "--map", file)
	if got := tell(t, "route", "check", "--map", file); strings.Contains(got, "smolwc:") || !strings.Contains(got, "primary") {
		t.Errorf("the check of a map that is right: %q", got)
	}
	if got := tell(t, "promote", "--addr", s.addr, "--map", file); !strings.Contains(got, file+": "+s.addr+" leads projects/p/instances/one") {
		t.Errorf("promote: %q", got)
	}
	await(t, "after", "--addr", r.addr, "--instance", "projects/p/instances/one", "-c", "put t row f:q=after; get t row")
	if got := say(s.addr, "one", "get t row"); !strings.Contains(got, "after") {
		t.Errorf("the new leader has %q", got)
	}
	await(t, "the map says that "+a.addr+" is a standby, and the server says: takes no writes", "route", "check", "--map", file)
	for at := time.Now(); !strings.Contains(page(t, r.pages), "smolwc_route_map_changes_total 1"); time.Sleep(20 * time.Millisecond) {
		if time.Since(at) > 5*time.Minute {
			t.Fatal("after five minutes the metrics do not count the change of the map")
		}
	}
	if text := page(t, strings.TrimSuffix(r.pages, "/metrics")+"/readyz"); text != "ok\n" {
		t.Errorf("readyz: %q", text)
	}
	for _, server := range []*served{r, a, b, s} {
		if err := server.end(syscall.SIGTERM); err != nil {
			t.Errorf("a process ends with %v", err)
		}
	}
}

// The server that leads is killed, and its standby is promoted, while the map stays as it
// is. A write that came meanwhile has waited, later ones go to the new leader, and so do those
// of a shell that knows both addresses.
func TestClientsFindTheNewLeaderAfterAKill(t *testing.T) {
	dir := t.TempDir()
	a := startServer(t, "--db", filepath.Join(dir, "a"))
	s := startServer(t, "--db", filepath.Join(dir, "s"), "--standby-of", a.addr)
	file := filepath.Join(dir, "map.json")
	if err := os.WriteFile(file, []byte(`{"local": {"num_shards": 1, "`+a.addr+`": ["00000:M"], "`+s.addr+`": ["00000:S"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, "route", "routing by ", "--map", file, "--http", "127.0.0.1:0", "--wait", "10m")
	both := s.addr + "," + a.addr
	if got := tell(t, "--addr", r.addr, "-c", "create table t family f; put t row f:q=before"); strings.Contains(got, "smolwc:") {
		t.Fatal(got)
	}
	if got := tell(t, "--addr", both, "-c", "put t row f:q=both"); strings.Contains(got, "smolwc:") {
		t.Errorf("two addresses: %q", got)
	}
	await(t, "both", "--addr", s.addr, "-c", "get t row")
	_ = a.end(syscall.SIGKILL)
	metric := func(line string) {
		t.Helper()
		for at := time.Now(); !strings.Contains(page(t, r.pages), line); time.Sleep(20 * time.Millisecond) {
			if time.Since(at) > 5*time.Minute {
				t.Fatalf("the metrics do not come to %q", line)
			}
		}
	}
	metric("smolwc_route_leaderless_instances 1")
	if text := page(t, strings.TrimSuffix(r.pages, "/metrics")+"/readyz"); !strings.Contains(text, "no server leads") {
		t.Errorf("readyz without a leader: %q", text)
	}
	waited := make(chan string)
	go func() {
		cmd := exec.Command("/proc/self/exe", "--addr", r.addr, "-c", "put t row f:q=waited; get t row")
		cmd.Env = append(os.Environ(), beSmolwc+"=1")
		out, _ := cmd.CombinedOutput() // what it says is judged
		waited <- string(out)
	}()
	metric("smolwc_route_calls_waiting 1")
	if got := tell(t, "promote", "--addr", s.addr); !strings.Contains(got, "is the primary") {
		t.Fatalf("promote: %q", got)
	}
	if got := <-waited; !strings.Contains(got, "waited") || strings.Contains(got, "smolwc:") {
		t.Errorf("the shell that waited: %q", got)
	}
	for _, addr := range []string{r.addr, both} {
		await(t, addr, "--addr", addr, "-c", `put t row f:q="`+addr+`"; get t row`)
	}
	metric("smolwc_route_leader_changes_total 1")
	if got := tell(t, "promote", "--addr", both); !strings.Contains(got, "want the address of one server") {
		t.Errorf("promote with two addresses: %q", got)
	}
	for _, server := range []*served{r, s} {
		if err := server.end(syscall.SIGTERM); err != nil {
			t.Errorf("a process ends with %v", err)
		}
	}
}

// With TLS on both sides and tokens at the server: a router passes tokens on, and what the
// server says of them back.
func TestRouteOverTLSWithAToken(t *testing.T) {
	dir := t.TempDir()
	data, file := filepath.Join(dir, "p"), filepath.Join(dir, "map.json")
	cert, key := selfSigned(t)
	tell(t, "--db", data, "-c", "create table fleet family meta; put fleet a meta:x=hello")
	admin := strings.TrimSpace(tell(t, "--db", data, "token", "create", "admin", "--admin", "*"))
	reader := strings.TrimSpace(tell(t, "--db", data, "token", "create", "reader", "--read", "*"))
	p := startServer(t, "--db", data, "--tls-cert", cert, "--tls-key", key)
	if err := os.WriteFile(file, []byte(`{"local": {"num_shards": 1, "`+p.addr+`": ["00000:M"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, "route", "routing by ", "--map", file, "--server-ca", cert, "--tls-cert", cert, "--tls-key", key)
	for _, c := range []struct{ token, statement, want string }{
		{admin, "put fleet b meta:x=there; get fleet b", "there"},
		{reader, "get fleet a", "hello"},
		{reader, "put fleet c meta:x=no", "no right"},
		{"", "get fleet a", "requires a token"},
	} {
		t.Setenv(envToken, c.token)
		if got := tell(t, "--addr", r.addr, "--tls-ca", cert, "-c", c.statement); !strings.Contains(got, c.want) {
			t.Errorf("%q: %q; want %q", c.statement, got, c.want)
		}
	}
	t.Setenv(envToken, admin)
	if got := tell(t, "route", "check", "--map", file, "--server-ca", cert); !strings.Contains(got, "primary") || strings.Contains(got, "smolwc:") {
		t.Errorf("the check with a token: %q", got)
	}
	if got := tell(t, "route", "check", "--map", file, "--server-ca", cert, "--token", reader); !strings.Contains(got, "does not answer") {
		t.Errorf("the check without the right: %q", got)
	}
	for _, served := range []*served{r, p} {
		if err := served.end(syscall.SIGTERM); err != nil {
			t.Errorf("a process ends with %v", err)
		}
	}
}
