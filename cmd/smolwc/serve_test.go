package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// A served is smolwc serve as a process of its own.
type served struct {
	t        *testing.T
	cmd      *exec.Cmd
	addr     string
	pages    string // of metrics; "" without --http
	greeting string // what it has printed
}

func startServer(t *testing.T, args ...string) *served {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &served{t: t, cmd: exec.Command(self, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)}
	s.cmd.Env = append(os.Environ(), beSmolwc+"=1")
	s.cmd.Dir = t.TempDir()
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.cmd.ProcessState == nil {
			s.end(syscall.SIGKILL)
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		s.greeting += lines.Text() + "\n"
		if _, addr, ok := strings.Cut(lines.Text(), " on 127."); ok && strings.HasPrefix(lines.Text(), "serving ") {
			s.addr = "127." + addr
		}
		if url, ok := strings.CutPrefix(lines.Text(), "metrics on "); ok {
			s.pages = url
		}
		if s.addr != "" && (strings.HasPrefix(lines.Text(), "export ") || slices.Contains(args, "--tls-cert")) && (s.pages != "" || !slices.Contains(args, "--http")) {
			return s
		}
	}
	t.Fatalf("the server did not say where it is: %v", s.cmd.Wait())
	return nil
}

// end sends a signal and waits for the end of the process.
func (s *served) end(sig syscall.Signal) error {
	_ = s.cmd.Process.Signal(sig)
	return s.cmd.Wait()
}

func (s *served) options() []option.ClientOption {
	conn, err := grpc.NewClient(s.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	return []option.ClientOption{option.WithGRPCConn(conn)}
}

func (s *served) table(name string) *bigtable.Table {
	c, err := bigtable.NewClientWithConfig(s.t.Context(), "local", "local", bigtable.ClientConfig{MetricsProvider: bigtable.NoopMetricsProvider{}}, s.options()...)
	if err != nil {
		s.t.Fatal(err)
	}
	return c.Open(name)
}

// What was acknowledged is there after the server was killed under load.
func TestServeLosesNothingWhenKilled(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "db")
	s := startServer(t, "--db", dir)
	admin, err := bigtable.NewAdminClient(t.Context(), "local", "local", s.options()...)
	if err != nil {
		t.Fatal(err)
	}
	if err := admin.CreateTable(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	if err := admin.CreateColumnFamily(t.Context(), "t", "f"); err != nil {
		t.Fatal(err)
	}
	const writers = 8
	var acknowledged [writers]atomic.Int64
	var wg sync.WaitGroup
	for w := range writers {
		tab := s.table("t")
		wg.Go(func() {
			for i := int64(1); ; i++ {
				m := bigtable.NewMutation()
				m.Set("f", "n", 1000, fmt.Append(nil, i))
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				err := tab.Apply(ctx, fmt.Sprintf("w%d#%06d", w, i), m)
				cancel()
				if err != nil {
					return // the server is gone
				}
				acknowledged[w].Store(i)
			}
		})
	}
	for acknowledged[0].Load() < 20 {
		time.Sleep(time.Millisecond)
	}
	_ = s.end(syscall.SIGKILL)

	s = startServer(t, "--db", dir)
	tab := s.table("t")
	wg.Wait()
	var found [writers]int64
	err = tab.ReadRows(t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		var w int
		var i int64
		if _, err := fmt.Sscanf(row.Key(), "w%d#%d", &w, &i); err != nil || string(row["f"][0].Value) != fmt.Sprint(i) {
			t.Errorf("row %q has %v: %v", row.Key(), row["f"], err)
			return false
		}
		found[w]++
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	for w := range writers {
		if n := acknowledged[w].Load(); found[w] < n {
			t.Errorf("writer %d: %d writes were acknowledged, %d are there", w, n, found[w])
		}
	}
	if err := s.end(syscall.SIGTERM); err != nil {
		t.Errorf("a server that is told to stop: %v", err)
	}
}

// cbt is Bigtable's own command, a client that knows nothing of smolwc.
func TestCbt(t *testing.T) {
	t.Parallel()
	cbt := installCbt(t)
	dir := filepath.Join(t.TempDir(), "db")
	s := startServer(t, "--db", dir, "--durability", "async")
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(cbt, append([]string{"-project", "local", "-instance", "local"}, args...)...)
		cmd.Env = append(os.Environ(), "BIGTABLE_EMULATOR_HOST="+s.addr)
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("cbt %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run("createtable", "fleet", "families=meta:maxversions=1,loc", "splits=m")
	run("createfamily", "fleet", "delay")
	run("setgcpolicy", "fleet", "delay", "maxage=10d", "and", "maxversions=2")
	run("set", "fleet", "plane#TF-FIR", "meta:model=757", "loc:dest=OSL")
	run("set", "fleet", "plane#TF-FIA", "meta:model=767")

	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"ls"}, "fleet"},
		{[]string{"ls", "fleet"}, `delay\s.*versions\(\) > 2`},
		{[]string{"count", "fleet"}, `(?m)^2$`},
		{[]string{"lookup", "fleet", "plane#TF-FIR"}, `(?s)loc:dest.*"OSL".*meta:model.*"757"`},
		{[]string{"read", "fleet", "prefix=plane#", "columns=meta:.*", "count=1"}, `(?s)plane#TF-FIA.*"767"`},
	} {
		if got := run(c.args...); !regexp.MustCompile(c.want).MatchString(got) {
			t.Errorf("cbt %s: got\n%s\nwant %s", strings.Join(c.args, " "), got, c.want)
		}
	}
	run("deleterow", "fleet", "plane#TF-FIA")
	run("deletefamily", "fleet", "loc")
	if err := s.end(syscall.SIGINT); err != nil {
		t.Errorf("a server that is interrupted: %v", err)
	}
	// The shell reads what cbt wrote.
	out, _ := output(t, "--db", dir, "--format", "csv", "-c", "get fleet plane#TF-FIR")
	if !strings.Contains(out, "NzU3") { // 757 in base 64
		t.Errorf("the shell reads\n%s", out)
	}
}

// output is what a run prints.
func output(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	if code := run(args, strings.NewReader(""), &out, &errs, func(string) string { return "" }); code != 0 {
		t.Fatalf("smolwc %s: exit %d\n%s", strings.Join(args, " "), code, errs.String())
	}
	return out.String(), errs.String()
}

// installCbt builds cbt once, in the user's cache.
func installCbt(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("cbt is built from the network")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	dir := filepath.Join(cache, "smolwc-test", "cbt@v1.13.0")
	path := filepath.Join(dir, "cbt")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	install := exec.CommandContext(ctx, "go", "install", "cloud.google.com/go/bigtable/cmd/cbt@v1.13.0")
	install.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=")
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("cbt cannot be installed: %v\n%s", err, out)
	}
	return path
}
