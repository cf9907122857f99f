package cli

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"cloud.google.com/go/bigtable"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A server sends the spans of its calls to a collector, the last ones when it stops. Without
// the collector it serves and stops as ever, and says that traces are lost.
func TestTracesAreSent(t *testing.T) {
	var mu sync.Mutex
	var got []string
	to := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		var m collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(text, &m)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Error(r.URL, err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, of := range m.GetResourceSpans() {
			for _, a := range of.GetResource().GetAttributes() {
				if a.GetKey() == "service.name" {
					got = append(got, a.GetValue().GetStringValue())
				}
			}
			for _, in := range of.GetScopeSpans() {
				for _, s := range in.GetSpans() {
					got = append(got, s.GetName())
				}
			}
		}
	}))
	defer to.Close()
	away, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = away.Close()
	for _, url := range []string{to.URL, "http://" + away.Addr().String()} {
		dir := filepath.Join(t.TempDir(), "db")
		output(t, "--db", dir, "-c", "create table t family f")
		s := startServer(t, "--db", dir, "--traces", url, "--traces-share", "1")
		m := bigtable.NewMutation()
		m.Set("f", "q", bigtable.ServerTime, []byte("v"))
		if err := s.table("t").Apply(context.Background(), "row", m); err != nil {
			t.Fatal(err)
		}
		if err := s.end(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if lost := strings.Count(s.log.String(), "traces are lost"); (lost > 0) != (url != to.URL) {
			t.Errorf("%s: %d lines about lost traces", url, lost)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{"smolwc", "google.bigtable.v2.Bigtable/MutateRow", "write"} {
		if !slices.Contains(got, want) {
			t.Errorf("the collector has no %q among %q", want, got)
		}
	}
}
