package server_test

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
)

func TestMetrics(t *testing.T) {
	r, s, _ := limited(t, server.Limits{})
	tab := r.big()
	for range 3 {
		_, err := tab.ReadRow(r.ctx(), "00#00")
		r.must(err)
	}
	if err := r.conn.Invoke(r.ctx(), "/made.Up/Name", &grpc_health_v1.HealthCheckRequest{}, &grpc_health_v1.HealthCheckResponse{}); status.Code(err) != codes.Unimplemented {
		t.Error(err)
	}
	wants := []string{
		`smolwc_call_seconds_bucket{method="google.bigtable.v2.Bigtable/ReadRows",le="+Inf"} 3`,
		`smolwc_call_seconds_count{method="google.bigtable.v2.Bigtable/MutateRows"} 20`,
		`smolwc_calls_total{code="OK",method="google.bigtable.v2.Bigtable/ReadRows"} 3`,
		`smolwc_calls_in_flight{method="google.bigtable.v2.Bigtable/ReadRows"} 0`,
		`smolwc_table_bytes{table="proj/inst/t"}`,
		`smolwc_table_cells{table="proj/inst/t"} 400`,
		"smolwc_store_cache_hits_total", "smolwc_store_stall_state 0", "smolwc_store_log_syncs_total", "go_goroutines",
		"# TYPE smolwc_store_flushes_total counter", "# TYPE smolwc_table_bytes gauge",
	}
	text := ""
	for _, want := range wants {
		r.until(want, func() bool { // the client may see the end of a call first
			text = page(t, s, "/metrics", http.StatusOK)
			return strings.Contains(text, want)
		})
	}
	if strings.Contains(text, "made.Up") {
		t.Error("a name that a client made up is a label")
	}
	page(t, s, "/healthz", http.StatusOK)
	page(t, s, "/readyz", http.StatusOK)
	page(t, s, "/else", http.StatusNotFound)
	for path := range strings.Lines(page(t, s, "/", http.StatusOK)) { // the root page lists all pages
		page(t, s, strings.TrimSpace(path), http.StatusOK)
	}
}

// The server reports that it is not ready before it ends calls, and waits for calls that
// end in time.
func TestShutdown(t *testing.T) {
	log := new(logBuffer)
	r, s := stoppable(t, time.Hour, log)
	watch, err := grpc_health_v1.NewHealthClient(r.conn).Watch(r.ctx(), &grpc_health_v1.HealthCheckRequest{})
	r.must(err)
	_, err = watch.Recv()
	r.must(err)
	finishes := r.scan(r.ctx(), r.narrow())
	done := make(chan struct{})
	go func() { defer close(done); r.stop() }()
	r.until("the server not being ready", func() bool { return !isReady(s) })
	if m, err := watch.Recv(); err != nil || m.GetStatus() != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("health: %v, %v", m, err)
	}
	page(t, s, "/healthz", http.StatusOK)
	if text := page(t, s, "/readyz", http.StatusServiceUnavailable); text != "stopping\n" {
		t.Errorf("readyz: %q", text)
	}
	r.until("the log saying what the stop waits for", func() bool { return strings.Contains(log.String(), "stopping: waiting for calls to end") })
	n := 0
	for err = nil; err == nil; n++ {
		_, err = finishes.Recv()
	}
	if err.Error() != "EOF" {
		t.Errorf("a read that could end got %d messages and %v", n, err)
	}
	<-done
	if strings.Contains(log.String(), "canceling calls") {
		t.Error("calls that could end were canceled")
	}
}

// At the end of the grace period the server cancels the calls that have not ended.
func TestShutdownCancelsCalls(t *testing.T) {
	log := new(logBuffer)
	r, _ := stoppable(t, 100*time.Millisecond, log)
	stuck := r.scan(r.ctx(), r.narrow())
	r.stop()
	var err error
	for err == nil {
		_, err = stuck.Recv()
	}
	if code := status.Code(err); code != codes.Unavailable {
		t.Errorf("a read whose client does not read: %v", err)
	}
	if text := log.String(); !strings.Contains(text, "canceling calls that have not ended") {
		t.Errorf("the log does not tell that calls are canceled: %s", text)
	}
	if n := r.snapshots(); n != 0 {
		t.Errorf("%d snapshots and cursors are held by a server that has stopped", n)
	}
}

// stoppable is a server with a large table and a log.
func stoppable(t *testing.T, grace time.Duration, log *logBuffer) (*rig, *server.Server) {
	t.Helper()
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	r, s := serveToo(t, db, server.Options{Grace: grace, Logger: slog.New(slog.NewTextHandler(log, nil))})
	r.big()
	return r, s
}

// A client that watches the health of a server does not delay its stop.
func TestWatchersDoNotHoldUpAStop(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	log := new(logBuffer)
	r := serve(t, db, server.Options{Grace: time.Hour, Logger: slog.New(slog.NewTextHandler(log, nil))})
	watch, err := grpc_health_v1.NewHealthClient(r.conn).Watch(r.ctx(), &grpc_health_v1.HealthCheckRequest{})
	r.must(err)
	_, err = watch.Recv()
	r.must(err)
	r.stop()
	if m, err := watch.Recv(); err != nil || m.GetStatus() != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("health: %v, %v", m, err)
	}
	if _, err := watch.Recv(); err == nil {
		t.Error("the stream goes on")
	}
	if strings.Contains(log.String(), "canceling") {
		t.Errorf("the log: %s", log)
	}
}

func isReady(s *server.Server) bool {
	w := new(statusWriter)
	req, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, "/readyz", nil)
	s.HTTP().ServeHTTP(w, req)
	return w.code != http.StatusServiceUnavailable
}

type statusWriter struct{ code int }

func (*statusWriter) Header() http.Header          { return http.Header{} }
func (*statusWriter) Write(b []byte) (int, error)  { return len(b), nil }
func (w *statusWriter) WriteHeader(statusCode int) { w.code = statusCode }

func TestLogOfCalls(t *testing.T) {
	r, _, log := limited(t, server.Limits{})
	tab := r.table("t", "f")
	_, err := tab.ReadRow(r.ctx(), "k")
	r.must(err)
	_, err = r.client().Open("none").ReadRow(r.ctx(), "k")
	if status.Code(err) != codes.NotFound {
		t.Error(err)
	}
	type line struct {
		Level, Msg, Method, Code, Peer, Table, Error string
		Duration, Received, Sent                     int64
	}
	var lines []line
	r.until("two lines", func() bool {
		lines = nil
		for text := range strings.Lines(log.String()) {
			var l line
			r.must(json.Unmarshal([]byte(text), &l))
			if strings.HasSuffix(l.Method, "/ReadRows") {
				lines = append(lines, l)
			}
		}
		return len(lines) == 2
	})
	slices.SortFunc(lines, func(a, b line) int { return cmp.Compare(a.Table, b.Table) }) // calls may end in another order than they began
	l := lines[1]
	if l.Level != slog.LevelInfo.String() || l.Msg != "call" || l.Code != "OK" || l.Table != "proj/inst/t" || l.Duration <= 0 || l.Received <= 0 || !strings.HasPrefix(l.Peer, "127.0.0.1:") {
		t.Errorf("%+v", l)
	}
	if l := lines[0]; l.Code != "NotFound" || !strings.Contains(l.Error, "not found") {
		t.Errorf("%+v", l)
	}
}
