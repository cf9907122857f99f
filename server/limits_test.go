package server_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
)

// limited serves a database in memory with limits; its log is in the buffer.
func limited(t *testing.T, l server.Limits) (*rig, *server.Server, *logBuffer) {
	t.Helper()
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	log := new(logBuffer)
	r, s := serveToo(t, db, server.Options{Limits: l, Grace: 100 * time.Millisecond, Logger: slog.New(slog.NewJSONHandler(log, nil))})
	return r, s, log
}

// A logBuffer may be written and read at the same time.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// until waits for a condition.
func (r *rig) until(what string, holds func() bool) {
	r.t.Helper()
	for range 30_000 {
		if holds() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.t.Fatalf("five minutes went by without %s", what)
}

// big fills a table with more bytes than gRPC's windows hold.
func (r *rig) big() *bigtable.Table {
	r.t.Helper()
	tab := r.table("t", "f")
	value := bytes.Repeat([]byte("v"), 64<<10)
	for i := range 20 {
		var keys []string
		var ms []*bigtable.Mutation
		for j := range 20 {
			m := bigtable.NewMutation()
			m.Set("f", "q", 1000, value)
			keys, ms = append(keys, fmt.Sprintf("%02d#%02d", i, j)), append(ms, m)
		}
		_, err := tab.ApplyBulk(r.ctx(), keys, ms)
		r.must(err)
	}
	return tab
}

// snapshots is the number of snapshots that the server's reads hold.
func (r *rig) snapshots() int64 {
	stats, err := r.db.Stats(r.ctx())
	r.must(err)
	return stats.Open.Snapshots + stats.Open.Cursors
}

// scan begins a read of all rows and takes its first message.
func (r *rig) scan(ctx context.Context, conn *grpc.ClientConn) bigtablepb.Bigtable_ReadRowsClient {
	r.t.Helper()
	stream, err := bigtablepb.NewBigtableClient(conn).ReadRows(ctx, &bigtablepb.ReadRowsRequest{TableName: parent + "/tables/t"})
	r.must(err)
	_, err = stream.Recv()
	r.must(err)
	return stream
}

// narrow is a connection whose client reads little at a time.
func (r *rig) narrow() *grpc.ClientConn {
	r.t.Helper()
	conn, err := grpc.NewClient(r.addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithInitialWindowSize(64<<10), grpc.WithInitialConnWindowSize(64<<10))
	r.must(err)
	r.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// A client that stops reading holds no snapshot for longer than the timeout. When it
// reads again, the error says that it may try again.
func TestSlowReader(t *testing.T) {
	r, _, _ := limited(t, server.Limits{SendTimeout: 2 * time.Second})
	r.big()
	stream := r.scan(r.ctx(), r.narrow())
	if r.snapshots() == 0 {
		t.Error("a read that goes on holds nothing, so that this test proves nothing")
	}
	r.until("the snapshot being released", func() bool { return r.snapshots() == 0 })
	var err error
	for err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "has not read for 2s") {
		t.Errorf("the stream ends with %v", err)
	}
}

// The official client pauses, and gets every row once.
func TestOfficialClientResumesAfterPause(t *testing.T) {
	r, _, log := limited(t, server.Limits{SendTimeout: 100 * time.Millisecond})
	r.big()
	conn := r.narrow()
	client, err := bigtable.NewClientWithConfig(r.ctx(), project, instance, bigtable.ClientConfig{MetricsProvider: bigtable.NoopMetricsProvider{}}, withConn(conn))
	r.must(err)
	defer client.Close()
	n, last := 0, ""
	r.must(client.Open("t").ReadRows(r.ctx(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		if row.Key() <= last {
			t.Errorf("row %s after %s", row.Key(), last)
		}
		last = row.Key()
		if n++; n == 2 {
			r.until("the call having ended", func() bool { return strings.Contains(log.String(), "has not read for") })
		}
		return true
	}))
	if n != 400 {
		t.Errorf("%d rows, want 400", n)
	}
}

// A connection on which streams stall again and again is closed, so that the bytes in
// its queue do not add up.
func TestStallingConnectionIsClosed(t *testing.T) {
	r, _, log := limited(t, server.Limits{SendTimeout: 20 * time.Millisecond})
	r.big()
	conn := r.narrow()
	for range 30 {
		stream, err := bigtablepb.NewBigtableClient(conn).ReadRows(r.ctx(), &bigtablepb.ReadRowsRequest{TableName: parent + "/tables/t"})
		r.must(err)
		_ = stream
	}
	r.until("the connection being closed", func() bool { return strings.Contains(log.String(), "does not read what it asks for") })
	r.until("everything being released", func() bool { return r.snapshots() == 0 })
	_, err := r.client().Open("t").ReadRow(r.ctx(), "00#00") // other calls succeed
	r.must(err)
}

func TestTooManyCalls(t *testing.T) {
	r, _, _ := limited(t, server.Limits{Calls: 2, Streams: 10})
	r.big()
	ctx, cancel := context.WithCancel(r.ctx())
	conn := r.narrow()
	r.scan(ctx, conn)
	r.scan(ctx, r.narrow())
	ping := func() error {
		_, err := bigtablepb.NewBigtableClient(conn).PingAndWarm(r.ctx(), &bigtablepb.PingAndWarmRequest{Name: parent})
		return err
	}
	if err := ping(); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "2 calls under way") {
		t.Errorf("a third call: %v", err)
	}
	r.must(r.ping(r.ctx())) // the first call of another connection
	cancel()
	r.until("room for a call", func() bool { return ping() == nil })
}

// Calls beyond the limit of a connection wait at the client.
func TestStreamsOfAConnection(t *testing.T) {
	r, _, _ := limited(t, server.Limits{Streams: 1})
	r.big()
	conn := r.narrow()
	ctx, cancel := context.WithCancel(r.ctx())
	r.scan(ctx, conn)
	short, stop := context.WithTimeout(r.ctx(), 50*time.Millisecond)
	defer stop()
	ping := &bigtablepb.PingAndWarmRequest{Name: parent}
	if _, err := bigtablepb.NewBigtableClient(conn).PingAndWarm(short, ping); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a second call of one connection: %v", err)
	}
	r.must(r.ping(r.ctx())) // of another connection
	cancel()
	_, err := bigtablepb.NewBigtableClient(conn).PingAndWarm(r.ctx(), ping)
	r.must(err)
}

// Connections beyond the limit wait, and are accepted when others are closed.
func TestManyConnections(t *testing.T) {
	r, s, _ := limited(t, server.Limits{Connections: 3, HostConnections: 10})
	ping := &bigtablepb.PingAndWarmRequest{Name: parent}
	var opened []*grpc.ClientConn
	for range 3 {
		c := r.dial()
		_, err := bigtablepb.NewBigtableClient(c).PingAndWarm(r.ctx(), ping)
		r.must(err)
		opened = append(opened, c)
	}
	r.until("three connections", func() bool { return metric(t, s, "smolwc_connections") == "3" })
	late := r.dial()
	short, stop := context.WithTimeout(r.ctx(), 50*time.Millisecond)
	defer stop()
	if _, err := bigtablepb.NewBigtableClient(late).PingAndWarm(short, ping, grpc.WaitForReady(true)); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a connection too many: %v", err)
	}
	for _, c := range opened {
		r.must(c.Close())
	}
	_, err := bigtablepb.NewBigtableClient(late).PingAndWarm(r.ctx(), ping, grpc.WaitForReady(true))
	r.must(err)
}

// Connections without a call do not keep other clients out, and no connection that has
// made a call is closed for them.
func TestSilentConnectionsMakeRoom(t *testing.T) {
	for _, l := range []server.Limits{{Connections: 5, HostConnections: 100}, {Connections: 100, HostConnections: 5}} {
		r, s, log := limited(t, l)
		r.must(r.ping(r.ctx())) // on a connection that stays
		for range 30 {
			c, err := net.Dial("tcp", r.addr)
			r.must(err)
			defer c.Close()
		}
		ping := &bigtablepb.PingAndWarmRequest{Name: parent}
		_, err := bigtablepb.NewBigtableClient(r.dial()).PingAndWarm(r.ctx(), ping, grpc.WaitForReady(true))
		r.must(err)
		r.must(r.ping(r.ctx()))
		r.until("five connections", func() bool { return metric(t, s, "smolwc_connections") == "5" })
		if !strings.Contains(log.String(), "it has made no call") {
			t.Error("the log does not say why connections were closed")
		}
	}
}

// One host cannot have all connections.
func TestAHostHasItsShareOfConnections(t *testing.T) {
	r, s, log := limited(t, server.Limits{Connections: 4})
	ping := &bigtablepb.PingAndWarmRequest{Name: parent}
	for range 3 {
		_, err := bigtablepb.NewBigtableClient(r.dial()).PingAndWarm(r.ctx(), ping)
		r.must(err)
	}
	_, err := bigtablepb.NewBigtableClient(r.dial()).PingAndWarm(r.ctx(), ping)
	if status.Code(err) != codes.Unavailable || !strings.Contains(log.String(), "its host has too many") {
		t.Errorf("a fourth connection of one host: %v; log %s", err, log)
	}
	if n := metric(t, s, "smolwc_connections"); n != "3" {
		t.Errorf("%s connections", n)
	}
}

func TestDeadlineOfTheServer(t *testing.T) {
	first, _, _ := limited(t, server.Limits{})
	first.big()
	r := serve(t, first.db, server.Options{Limits: server.Limits{Deadline: 100 * time.Millisecond, SendTimeout: time.Minute}})
	stream := r.scan(r.ctx(), r.narrow())
	r.until("the read having ended", func() bool { return r.snapshots() == 0 })
	var err error
	for err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("the stream ends with %v", err)
	}
}

// Metadata is bounded: gRPC's limit of 16 MiB for each call would let clients fill the
// server's memory.
func TestHugeHeadersAreRefused(t *testing.T) {
	r := newRig(t)
	huge := metadata.AppendToOutgoingContext(r.ctx(), "x-huge", strings.Repeat("v", 100<<10))
	refused(t, "100 KiB of metadata", r.ping(huge), codes.Internal, "maximum size (65536 bytes) set by server")
	r.must(r.ping(metadata.AppendToOutgoingContext(r.ctx(), "x-large", strings.Repeat("v", 32<<10))))
}

// A client that sends more at once than its share loses its connection, and the
// others do not notice. A request that is too large by itself is refused for good.
func TestGiantRequests(t *testing.T) {
	r, s, log := limited(t, server.Limits{ConnectionBytes: 24 << 20, Bytes: 64 << 20})
	tab := r.table("t", "f")
	giant := func(size int) *bigtable.Mutation {
		m := bigtable.NewMutation()
		m.Set("f", "q", 1000, make([]byte, size))
		return m
	}
	r.must(tab.Apply(r.ctx(), "fits", giant(16<<20)))

	conn := r.dial()
	send := func(size int) error {
		_, err := bigtablepb.NewBigtableClient(conn).MutateRow(r.ctx(), &bigtablepb.MutateRowRequest{
			TableName: parent + "/tables/t", RowKey: []byte("giant"), Mutations: []*bigtablepb.Mutation{{Mutation: &bigtablepb.Mutation_SetCell_{
				SetCell: &bigtablepb.Mutation_SetCell{FamilyName: "f", TimestampMicros: 1000, Value: make([]byte, size)}}}},
		})
		return err
	}
	refused(t, "a request larger than the limit", send(90<<20), codes.ResourceExhausted, "larger than max")
	r.must(r.ping(r.ctx()))
	if strings.Contains(log.String(), "too many bytes in hand") {
		t.Error("a request that was refused has closed the connection")
	}
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() { errs[i] = send(20 << 20) })
	}
	wg.Wait()
	lost := 0
	for _, err := range errs {
		switch status.Code(err) {
		case codes.OK:
		case codes.Unavailable:
			lost++
		default:
			t.Errorf("%v", err)
		}
	}
	if lost == 0 {
		t.Error("eight requests at once came through")
	}
	if !strings.Contains(log.String(), "too many bytes in hand") {
		t.Errorf("the log does not tell: %s", log)
	}
	row, err := r.db.Table(project+"/"+instance+"/t").ReadRow(r.ctx(), "fits")
	r.must(err)
	if v, _ := row.Bytes("f", "q"); len(v) != 16<<20 {
		t.Error("the value is not whole")
	}
	r.until("no bytes in hand", func() bool { return metric(t, s, "smolwc_bytes_in_hand") == "0" })
}

// If all connections together hold too much, the one with the most is closed.
func TestGreediestConnectionGoes(t *testing.T) {
	r, s, log := limited(t, server.Limits{ConnectionBytes: 200 << 20, Bytes: 48 << 20})
	r.table("t", "f")
	modest, greedy := r.stuckRequest(8<<20), r.stuckRequest(30<<20)
	r.until("both having sent", func() bool {
		return metric(t, s, "smolwc_bytes_in_hand") >= "3.7" && strings.HasSuffix(metric(t, s, "smolwc_bytes_in_hand"), "e+07")
	})
	r.stuckRequest(20 << 20)
	r.until("a connection being closed", func() bool { return strings.Contains(log.String(), "too many bytes in hand") })
	if err := <-greedy; status.Code(err) != codes.Unavailable {
		t.Errorf("the greediest: %v", err)
	}
	select {
	case err := <-modest:
		t.Errorf("the modest one ended too: %v", err)
	default:
	}
}

// stuckRequest sends a part of a request on its own connection, and never the rest.
func (r *rig) stuckRequest(size int) <-chan error {
	r.t.Helper()
	ended := make(chan error, 1)
	d := new(stoppingDialer)
	d.left = size
	conn, err := grpc.NewClient(r.addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(d.dial))
	r.must(err)
	r.t.Cleanup(func() { _ = conn.Close() })
	go func() {
		_, err := bigtablepb.NewBigtableClient(conn).MutateRow(r.ctx(), &bigtablepb.MutateRowRequest{
			TableName: parent + "/tables/t", RowKey: []byte("stuck"), Mutations: []*bigtablepb.Mutation{{Mutation: &bigtablepb.Mutation_SetCell_{
				SetCell: &bigtablepb.Mutation_SetCell{FamilyName: "f", TimestampMicros: 1000, Value: make([]byte, 40<<20)}}}},
		})
		ended <- err
	}()
	return ended
}

// A stoppingDialer makes connections that stop sending after a number of bytes.
type stoppingDialer struct{ left int }

type stoppingConn struct {
	net.Conn
	d    *stoppingDialer
	gone chan struct{}
	once sync.Once
}

func (d *stoppingDialer) dial(ctx context.Context, addr string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	return &stoppingConn{Conn: c, d: d, gone: make(chan struct{})}, err
}

func (c *stoppingConn) Write(b []byte) (int, error) {
	if c.d.left -= len(b); c.d.left < 0 {
		<-c.gone
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

func (c *stoppingConn) Close() error {
	c.once.Do(func() { close(c.gone) })
	return c.Conn.Close()
}

func (c *stoppingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		c.once.Do(func() { close(c.gone) })
	}
	return n, err
}

// metric is the value of a metric, "" when no metric has the name.
func metric(t *testing.T, s *server.Server, name string) string {
	t.Helper()
	for line := range strings.Lines(page(t, s, "/metrics", http.StatusOK)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func page(t *testing.T, s *server.Server, path string, want int) string {
	t.Helper()
	w := httptest.NewRecorder()
	s.HTTP().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	body, err := io.ReadAll(w.Body)
	if err != nil || w.Code != want {
		t.Errorf("%s: %d, want %d: %v", path, w.Code, want, err)
	}
	return string(body)
}
