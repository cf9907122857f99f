package route_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/smolwc/smolwc/api/standbys"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
	"github.com/smolwc/smolwc/server/route"
	"github.com/smolwc/smolwc/shardmap"
	"github.com/smolwc/smolwc/standby"
)

// A node is a server of a database: a primary, or a standby.
type node struct {
	t    testing.TB
	dir  string
	addr string
	db   *query.DB
	copy *standby.Standby // of a standby
	stop func()           // ends the server, and leaves the database open
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// serve serves a database on the node's address.
func (n *node) serve(db *query.DB, standbys standbys.Service) {
	n.t.Helper()
	n.db = db
	s, err := server.New(db, server.Options{Standbys: standbys, Grace: 50 * time.Millisecond})
	must(n.t, err)
	l, err := net.Listen("tcp", n.addr)
	must(n.t, err)
	n.addr = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, l) }()
	var once sync.Once
	n.stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				n.t.Error(err)
			}
		})
	}
}

// primary serves a new database.
func primary(t testing.TB, semi standby.SemiSyncMode) *node {
	t.Helper()
	n := &node{t: t, dir: filepath.Join(t.TempDir(), "db"), addr: "127.0.0.1:0"}
	p := standby.NewPrimary(standby.PrimaryOptions{SemiSync: standby.SemiSync{Mode: semi}})
	db, err := query.Open(n.dir, query.Options{Memory: 16 << 20, Standbys: p.Hook()})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	n.serve(db, p.Service())
	t.Cleanup(func() { n.stop() })
	return n
}

// follow serves a standby of n.
func (n *node) follow() *node {
	n.t.Helper()
	s := &node{t: n.t, dir: filepath.Join(n.t.TempDir(), "copy"), addr: "127.0.0.1:0"}
	var err error
	s.copy, err = standby.Open(n.t.Context(), s.dir, standby.Options{
		Primary: n.addr, Retry: time.Millisecond, Database: query.Options{Memory: 16 << 20},
		Promote: func(context.Context, *standby.Standby, string, time.Time) (*standby.Promotion, error) {
			return nil, nil
		},
	})
	must(n.t, err)
	n.t.Cleanup(func() {
		if s.copy != nil {
			must(n.t, s.copy.Close())
		}
	})
	s.serve(s.copy.DB(), s.copy.Service())
	n.t.Cleanup(func() { s.stop() })
	return s
}

// promote makes a standby a primary, at the same address.
func (n *node) promote() {
	n.t.Helper()
	p, err := n.copy.Promote(n.t.Context(), n.addr, query.DurabilitySync)
	must(n.t, err)
	db, err := query.Open(n.dir, query.Options{Memory: 16 << 20, Standbys: p.Primary.Hook()})
	must(n.t, err)
	n.stop()
	must(n.t, n.copy.Close())
	n.copy = nil
	n.t.Cleanup(func() { must(n.t, db.Close()) })
	n.serve(db, p.Primary.Service())
	n.t.Cleanup(n.stop)
}

// A rig is a router with its map.
type rig struct {
	t      testing.TB
	file   string
	watch  *shardmap.Watcher
	router *route.Router
	conn   *grpc.ClientConn
	addr   string
	stop   func()
	log    lockedBuffer
}

// A lockedBuffer is a log.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// mapOf is a map of the instances a and b.
func mapOf(a, b, standbyOfA string) string {
	follows := ""
	if standbyOfA != "" {
		follows = fmt.Sprintf(`, "%s:az_1": ["00000:S"]`, standbyOfA)
	}
	return fmt.Sprintf(`{
  "projects/p/instances/a": {"num_shards": 1, "%s:az_0": ["00000:M"]%s},
  "b": {"num_shards": 1, "%s": ["00000:M"]}
}`, a, follows, b)
}

func (r *rig) write(text string) {
	r.t.Helper()
	must(r.t, os.WriteFile(r.file+".new", []byte(text), 0o600))
	must(r.t, os.Rename(r.file+".new", r.file))
}

// change replaces the map, and waits until the router has it.
func (r *rig) change(text string) {
	r.t.Helper()
	_, changed := r.watch.Map()
	r.write(text)
	<-changed
}

func newRig(t testing.TB, text string, o route.Options) *rig {
	t.Helper()
	r := &rig{t: t, file: filepath.Join(t.TempDir(), "map.json")}
	r.write(text)
	o.Logger = slog.New(slog.NewTextHandler(&r.log, nil))
	ctx, cancel := context.WithCancel(context.Background())
	var err error
	r.watch, err = shardmap.Watch(ctx, r.file, shardmap.WatchOptions{Every: time.Millisecond, Logger: o.Logger})
	must(t, err)
	o.Map, o.Grace = r.watch, cmp.Or(o.Grace, 50*time.Millisecond)
	r.router, err = route.New(o)
	must(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	done := make(chan error)
	go func() { done <- r.router.Serve(ctx, l) }()
	r.stop = sync.OnceFunc(func() { cancel(); must(t, <-done) })
	t.Cleanup(r.stop)
	r.addr = l.Addr().String()
	r.conn = dial(t, r.addr)
	return r
}

func dial(t testing.TB, addr string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<28)))
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// The official clients of an instance.

func clientOf(t testing.TB, conn *grpc.ClientConn, instance string) *bigtable.Client {
	t.Helper()
	c, err := bigtable.NewClientWithConfig(t.Context(), "p", instance, bigtable.ClientConfig{MetricsProvider: bigtable.NoopMetricsProvider{}}, option.WithGRPCConn(conn))
	must(t, err)
	return c
}

func adminOf(t testing.TB, conn *grpc.ClientConn, instance string) *bigtable.AdminClient {
	t.Helper()
	c, err := bigtable.NewAdminClient(t.Context(), "p", instance, option.WithGRPCConn(conn))
	must(t, err)
	return c
}

// metric is the sum of the figures whose lines match.
func (r *rig) metric(line string) (sum float64) {
	r.t.Helper()
	pages := httptest.NewServer(r.router.HTTP())
	defer pages.Close()
	resp, err := http.Get(pages.URL + "/metrics")
	must(r.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must(r.t, err)
	for _, m := range regexp.MustCompile(`(?m)^`+line+` (\S+)$`).FindAllSubmatch(text, -1) {
		v, err := strconv.ParseFloat(string(m[1]), 64)
		must(r.t, err)
		sum += v
	}
	return sum
}

// ready is the answer of /readyz.
func (r *rig) ready() (code int, text string) {
	r.t.Helper()
	rec := httptest.NewRecorder()
	r.router.HTTP().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	return rec.Code, rec.Body.String()
}

// await waits for a condition.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for at := time.Now(); !is(); time.Sleep(time.Millisecond) {
		if time.Since(at) > 5*time.Minute {
			t.Fatalf("after five minutes still not: %s", what)
		}
	}
}

func cell(value string) *bigtable.Mutation {
	m := bigtable.NewMutation()
	m.Set("f", "q", 1000, []byte(value))
	return m
}

// tableIn makes a table in an instance.
func (r *rig) tableIn(instance, name string) *bigtable.Table {
	r.t.Helper()
	must(r.t, adminOf(r.t, r.conn, instance).CreateTableFromConf(r.t.Context(), &bigtable.TableConf{
		TableID: name, ChangeStreamRetention: 24 * time.Hour, Families: map[string]bigtable.GCPolicy{"f": bigtable.NoGcPolicy()},
	}))
	return clientOf(r.t, r.conn, instance).Open(name)
}
