package server_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// A besidePeer is a server that is measured, in its own process, with a table that has
// the family f.
type besidePeer struct {
	t     *testing.T
	name  string
	pid   int
	table *bigtable.Table
	stop  func()
}

func startSmolwc(t *testing.T, durability string) *besidePeer {
	t.Helper()
	binary := built(t, *besideSmolwc, "smolwc", "../cmd/smolwc")
	args := []string{"serve", "--addr", "127.0.0.1:0"}
	if durability == "memory" {
		args = append(args, "--memory-only")
	} else {
		args = append(args, "--db", filepath.Join(t.TempDir(), "db"), "--durability", durability)
	}
	return startPeer(t, "smolwc", exec.Command(binary, args...), "")
}

func startNothing(t *testing.T) *besidePeer {
	t.Helper()
	return startPeer(t, "nothing", exec.Command(built(t, "", "nothing", "./testdata/nothing")), "")
}

func startEmulator(t *testing.T) *besidePeer {
	t.Helper()
	binary := built(t, *besideEmu, "emulator", "cloud.google.com/go/bigtable/cmd/emulator")
	return startPeer(t, "emulator", exec.Command(binary, "-address", "127.0.0.1:0"), "")
}

func startLittle(t *testing.T) *besidePeer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().(*net.TCPAddr)
	_ = l.Close() // little_bigtable does not accept port 0
	return startPeer(t, "little_bigtable", exec.Command(*besideSQLite, "-db-file", filepath.Join(t.TempDir(), "db"), "-host", "127.0.0.1", "-port", strconv.Itoa(addr.Port)), addr.String())
}

// built is a given binary, or a binary that is built from a package.
func built(t *testing.T, given, name, pkg string) string {
	t.Helper()
	if given != "" {
		return given
	}
	to := filepath.Join(t.TempDir(), name)
	if out, err := exec.Command("go", "build", "-o", to, pkg).CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", pkg, err, out)
	}
	return to
}

var listensOn = regexp.MustCompile(`on (127\.0\.0\.1:\d+)`)

// startPeer starts a server until the test ends. Its first line says where it
// listens, unless that is known.
func startPeer(t *testing.T, name string, cmd *exec.Cmd, addr string) *besidePeer {
	t.Helper()
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := false
	p := &besidePeer{t: t, name: name, pid: cmd.Process.Pid, stop: func() {
		if !stopped {
			stopped = true
			_ = cmd.Process.Signal(syscall.SIGTERM)
			_ = cmd.Wait()
		}
	}}
	t.Cleanup(p.stop)
	for lines := bufio.NewScanner(out); addr == "" && lines.Scan(); {
		if m := listensOn.FindStringSubmatch(lines.Text()); m != nil {
			addr = m[1]
		}
	}
	if addr == "" {
		t.Fatalf("%s does not say where it listens", name)
	}
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	p.open(conn)
	return p
}

// open creates the table.
func (p *besidePeer) open(conn *grpc.ClientConn) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	admin, err := bigtable.NewAdminClient(ctx, project, instance, option.WithGRPCConn(conn))
	if err != nil {
		p.t.Fatal(err)
	}
	if err := admin.CreateTable(ctx, "t"); err != nil {
		p.t.Fatal(err)
	}
	if err := admin.CreateColumnFamily(ctx, "t", "f"); err != nil {
		p.t.Fatal(err)
	}
	client, err := bigtable.NewClientWithConfig(ctx, project, instance, bigtable.ClientConfig{MetricsProvider: bigtable.NoopMetricsProvider{}}, option.WithGRPCConn(conn))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = client.Close() })
	p.table = client.Open("t")
}

var vmRSS = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)

// cpu is the processor time that the process has taken.
func (p *besidePeer) cpu() time.Duration {
	p.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
	if err != nil {
		p.t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(b), ") ") // the name is in brackets
	fields := strings.Fields(after)
	var ticks time.Duration
	for _, f := range fields[11:13] { // utime, stime
		n, err := strconv.Atoi(f)
		if err != nil {
			p.t.Fatal(err)
		}
		ticks += time.Duration(n)
	}
	return ticks * 10 * time.Millisecond // on every Linux
}

// resident is the memory that the process has resident, in bytes.
func (p *besidePeer) resident() int64 {
	p.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		p.t.Fatal(err)
	}
	m := vmRSS.FindSubmatch(b)
	if m == nil {
		p.t.Fatalf("%s: no VmRSS in\n%s", p.name, b)
	}
	kib, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return kib << 10
}
