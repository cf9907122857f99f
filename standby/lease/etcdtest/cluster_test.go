package etcdtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/smolwc/smolwc/cli"
	"github.com/smolwc/smolwc/internal/testaddr"
)

// beSmolwc makes a process of the test the command itself.
const beSmolwc = "SMOLWC_BE_SMOLWC"

func TestMain(m *testing.M) {
	if os.Getenv(beSmolwc) != "" {
		os.Exit(cli.Main(nil))
	}
	os.Exit(m.Run())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits until a condition holds, while the test has not failed and for nearly as
// long as it may run: a test that waits in vain says for what, and what the servers have said.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	ctx := t.Context()
	if until, ok := deadline(t); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until.Add(-20*time.Second))
		defer cancel()
	}
	for !holds() {
		if t.Failed() {
			t.Fatalf("no longer: %s", what)
		}
		select {
		case <-ctx.Done():
			t.Fatalf("never: %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func deadline(t testing.TB) (time.Time, bool) {
	d, ok := t.(interface{ Deadline() (time.Time, bool) })
	if !ok {
		return time.Time{}, false
	}
	return d.Deadline()
}

// An etcd is one of one member, which can be stopped and started again.
type etcd struct {
	t              testing.TB
	dir            string
	clients, peers url.URL
	running        *embed.Etcd // nil while it is stopped
}

// startEtcd runs an etcd, and returns its address.
func startEtcd(t testing.TB) string {
	t.Helper()
	return newEtcd(t).clients.Host
}

func newEtcd(t testing.TB) *etcd {
	t.Helper()
	e := &etcd{t: t, dir: filepath.Join(t.TempDir(), "etcd"), clients: url.URL{Scheme: "http", Host: testaddr.New(t)}, peers: url.URL{Scheme: "http", Host: testaddr.New(t)}}
	e.start()
	t.Cleanup(e.stop)
	return e
}

func (e *etcd) start() {
	e.t.Helper()
	c := embed.NewConfig()
	c.Dir, c.LogLevel, c.LogOutputs = e.dir, "fatal", []string{"/dev/null"}
	c.TickMs, c.ElectionMs, c.UnsafeNoFsync = 50, 500, true
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{e.clients}, []url.URL{e.clients}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{e.peers}, []url.URL{e.peers}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	var err error
	e.running, err = embed.StartEtcd(c)
	must(e.t, err)
	<-e.running.Server.ReadyNotify()
}

func (e *etcd) stop() {
	if e.running != nil {
		e.running.Close()
		e.running = nil
	}
}

func dial(t testing.TB, etcd string) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd}, Logger: zap.NewNop()})
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// A gate is a proxy that can be shut: then nothing comes through, and no connection ends.
type gate struct {
	to   string
	addr string
	mu   sync.Mutex
	open chan struct{} // closed while the gate is open
}

func newGate(t testing.TB, to string) *gate {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	g := &gate{to: to, addr: l.Addr().String(), open: make(chan struct{})}
	close(g.open)
	var running sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); g.set(true) })
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go g.pass(c)
		}
	})
	return g
}

// set opens or shuts the gate.
func (g *gate) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
		if !open {
			g.open = make(chan struct{})
		}
	default:
		if open {
			close(g.open)
		}
	}
}

func (g *gate) wait() {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	<-open
}

func (g *gate) pass(c net.Conn) {
	defer c.Close()
	g.wait()
	up, err := net.Dial("tcp", g.to)
	if err != nil {
		return
	}
	defer up.Close()
	both := make(chan struct{}, 2)
	half := func(to, from net.Conn) {
		defer func() { both <- struct{}{} }()
		for buf := make([]byte, 4096); ; {
			n, err := from.Read(buf)
			g.wait()
			if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
				return
			}
		}
	}
	go half(up, c)
	go half(c, up)
	<-both
}

// A node is a server that is started and killed.
type node struct {
	dir, addr string
	etcd      *gate
	pages     string    // the address of its pages
	cmd       *exec.Cmd // nil while it does not run
	said      sync.WaitGroup
	ends      atomic.Bool // it was killed, or is to end
	client    bigtablepb.BigtableClient
}

// A cluster is some servers with one database.
type cluster struct {
	t     testing.TB
	nodes []*node
	mode  string   // of semi-sync
	flags []string // of all servers
	acks  history
}

// newCluster starts servers with a table.
func newCluster(t testing.TB, n int, mode string, flags ...string) *cluster {
	t.Helper()
	etcd := startEtcd(t)
	c := &cluster{t: t, mode: mode, flags: flags}
	for i := range n {
		s := &node{dir: filepath.Join(t.TempDir(), fmt.Sprint("db", i)), addr: testaddr.New(t), pages: testaddr.New(t), etcd: newGate(t, etcd)}
		conn, err := grpc.NewClient(s.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		must(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		s.client = bigtablepb.NewBigtableClient(conn)
		c.nodes = append(c.nodes, s)
		c.start(s)
	}
	t.Cleanup(func() {
		for _, s := range c.nodes {
			c.kill(s)
		}
	})
	eventually(t, "a table takes writes", func() bool {
		return slices.ContainsFunc(c.nodes, func(s *node) bool {
			c.tell("--addr", s.addr, "-c", "create table a family f") // it may be there already
			_, err := c.put(t.Context(), s, "first")
			return err == nil
		})
	})
	return c
}

// command is smolwc in a process of its own.
func (c *cluster) command(ctx context.Context, args ...string) *exec.Cmd {
	self, err := os.Executable()
	must(c.t, err)
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env, cmd.Dir = append(os.Environ(), beSmolwc+"=1"), c.t.TempDir()
	return cmd
}

// tell runs smolwc and returns what it prints, errors too.
func (c *cluster) tell(args ...string) string {
	ctx, cancel := context.WithTimeout(c.t.Context(), 5*time.Second) // a server that was stopped for a moment does not answer
	defer cancel()
	cmd := c.command(ctx, args...)
	out, _ := cmd.CombinedOutput() // the text says whether it failed
	return string(out)
}

func (c *cluster) start(s *node, more ...string) {
	c.t.Helper()
	s.cmd = c.command(context.Background(), "serve", "--db", s.dir, "--addr", s.addr, "--http", s.pages, "--history", "off", "--memory", "16MiB", "--log-level", "warn",
		"--semi-sync", c.mode, "--semi-sync-timeout", "2s", "--grace", "2s", "--etcd", s.etcd.addr, "--etcd-prefix", "/smolwc/test", "--etcd-ttl", "1s")
	s.cmd.Args = slices.Concat(s.cmd.Args, c.flags, more)
	out, err := s.cmd.StderrPipe()
	must(c.t, err)
	s.ends.Store(false)
	must(c.t, s.cmd.Start())
	s.said.Go(func() { c.log(s, out) })
}

// log shows what a server says, if the test fails.
func (c *cluster) log(s *node, out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		c.t.Logf("%s: %s", s.addr, lines.Text())
	}
	if !s.ends.Load() {
		c.t.Errorf("%s has ended by itself", s.addr)
	}
}

func (c *cluster) kill(s *node) {
	if s.cmd == nil {
		return
	}
	s.ends.Store(true)
	_ = s.cmd.Process.Signal(syscall.SIGCONT)
	_ = s.cmd.Process.Kill() // it may have ended
	s.said.Wait()
	_ = s.cmd.Wait() // it was killed
	s.cmd = nil
}

// stop asks a server to end.
func (c *cluster) stop(s *node) {
	c.t.Helper()
	s.ends.Store(true)
	must(c.t, s.cmd.Process.Signal(syscall.SIGTERM))
	s.said.Wait()
	if err := s.cmd.Wait(); err != nil {
		c.t.Errorf("%s ends with %v", s.addr, err)
	}
	s.cmd = nil
}

// tidy removes the directories kept aside, as an operator does.
func (c *cluster) tidy() {
	for _, s := range c.nodes {
		kept, err := filepath.Glob(s.dir + ".diverged*")
		must(c.t, err)
		for _, dir := range kept {
			must(c.t, os.RemoveAll(dir))
		}
	}
}

// put writes a row, and returns the epoch in which the write was acknowledged.
func (c *cluster) put(ctx context.Context, s *node, row string) (epoch int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Second)
	defer cancel()
	var trailer metadata.MD
	_, err = s.client.MutateRow(ctx, &bigtablepb.MutateRowRequest{
		TableName: "projects/local/instances/local/tables/a", RowKey: []byte(row),
		Mutations: []*bigtablepb.Mutation{{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{
			FamilyName: "f", ColumnQualifier: []byte("q"), TimestampMicros: -1, Value: []byte(row)}}}},
	}, grpc.Trailer(&trailer))
	if err != nil {
		return 0, err
	}
	at := trailer.Get("smolwc-position")
	if len(at) == 0 {
		return 0, nil // the database has had no standby yet
	}
	number, _, _ := strings.Cut(at[0], "-")
	return strconv.ParseInt(number, 10, 64)
}

// An ack is a write that was acknowledged.
type ack struct {
	server, row string
	epoch       int64
	began, done time.Time
}

// A history is all writes that were acknowledged.
type history struct {
	mu   sync.Mutex
	acks []ack
}

func (h *history) add(a ack) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.acks = append(h.acks, a)
}

func (h *history) all() []ack {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.acks)
}

// write writes rows to all servers until stop is called: those that do not lead refuse them.
func (c *cluster) write() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, s := range c.nodes {
		for w := range 2 {
			running.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					a := ack{server: s.addr, row: fmt.Sprintf("%s/%d/%d/%d", s.addr, w, n, time.Now().UnixNano()), began: time.Now()}
					var err error
					if a.epoch, err = c.put(ctx, s, a.row); err == nil {
						a.done = time.Now()
						c.acks.add(a)
						continue
					}
					select {
					case <-ctx.Done():
					case <-time.After(5 * time.Millisecond):
					}
				}
			})
		}
	}
	return func() { cancel(); running.Wait() }
}

// leader waits until a server acknowledges writes from now on, and returns it. On a machine
// that stands still for a second another one may lead soon after.
func (c *cluster) leader() *node {
	c.t.Helper()
	before := len(c.acks.all())
	eventually(c.t, "a server acknowledges writes", func() bool { return len(c.acks.all()) > before+20 })
	return c.node(c.last().server)
}

// last is the write that was acknowledged last.
func (c *cluster) last() ack {
	all := c.acks.all()
	return all[len(all)-1]
}

func (c *cluster) node(addr string) *node {
	return c.nodes[slices.IndexFunc(c.nodes, func(s *node) bool { return s.addr == addr })]
}

// check compares the history with what must hold, and with the rows of the server that leads.
func (c *cluster) check() {
	c.t.Helper()
	all := c.acks.all()
	leads := map[int64]string{}
	for _, a := range all {
		if by, ok := leads[a.epoch]; ok && by != a.server && a.epoch != 0 {
			c.t.Errorf("%s and %s have both acknowledged writes in epoch %d", by, a.server, a.epoch)
		}
		leads[a.epoch] = a.server
	}
	slices.SortFunc(all, func(a, b ack) int { return a.done.Compare(b.done) })
	latest := make([]int64, len(all)+1) // latest[i] is the highest epoch of the first i
	for i, a := range all {
		latest[i+1] = max(latest[i], a.epoch)
	}
	for _, a := range all {
		before, _ := slices.BinarySearchFunc(all, a.began, func(b ack, began time.Time) int { return b.done.Compare(began) })
		if a.epoch < latest[before] {
			c.t.Fatalf("%s has acknowledged %s in epoch %d, and the write began after one of epoch %d was acknowledged", a.server, a.row, a.epoch, latest[before])
		}
	}
	if c.mode == "strict" {
		eventually(c.t, "the server that leads gives its rows", c.complete)
	}
}

// complete compares the rows of the server that leads with the history. It reports whether
// the server led all the time.
func (c *cluster) complete() bool {
	from, before := c.leader(), c.last()
	all := c.acks.all()
	rows, err := c.rows(from)
	if err != nil {
		return false
	}
	if c.leader(); c.last().server != before.server || c.last().epoch != before.epoch {
		return false // the rows may be those of a server that leads no longer
	}
	for _, a := range all {
		if !rows[a.row] {
			c.t.Fatalf("%s has acknowledged %s in epoch %d, and %s does not have it (it has %d rows of %d)", a.server, a.row, a.epoch, from.addr, len(rows), len(all))
		}
	}
	return true
}

// rows are the keys of all rows that a server has.
func (c *cluster) rows(s *node) (map[string]bool, error) {
	rows := map[string]bool{}
	stream, err := s.client.ReadRows(c.t.Context(), &bigtablepb.ReadRowsRequest{TableName: "projects/local/instances/local/tables/a"})
	if err != nil {
		return nil, err
	}
	for {
		m, err := stream.Recv()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		for _, chunk := range m.GetChunks() {
			if len(chunk.GetRowKey()) > 0 {
				rows[string(chunk.GetRowKey())] = true
			}
		}
	}
}
