package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

// A feed is what a test says of standbys.
type feed struct {
	smolwcpb.UnimplementedStandbysServer
	replicas []*smolwcpb.Replica
	is       *smolwcpb.ListReplicasResponse // instead of a primary with replicas
	fenced   chan struct{}
	leader   string // when fenced is closed
	confirms atomic.Int64
}

func (f *feed) ListReplicas(context.Context, *smolwcpb.ListReplicasRequest) (*smolwcpb.ListReplicasResponse, error) {
	if f.is != nil {
		return f.is, nil
	}
	return &smolwcpb.ListReplicasResponse{Epoch: 1, Replicas: f.replicas}, nil
}

func (f *feed) Fenced() <-chan struct{} { return f.fenced }

func (f *feed) Leader() string {
	select {
	case <-f.fenced:
		return f.leader
	default:
		return ""
	}
}

func (f *feed) Leads() bool { return f.Leader() == "" }

func (f *feed) Stop() {}

func (f *feed) AwaitsStandby() bool { return false }

func (f *feed) Drain(context.Context) {}

func (f *feed) Confirm(ctx context.Context) context.Context {
	f.confirms.Add(1)
	return ctx
}

func (f *feed) Record(ctx context.Context) context.Context { return ctx }

func (f *feed) Position(context.Context) string { return "" }

func (f *feed) Await(context.Context, string) error { return nil }

func (f *feed) SemiSync(ctx context.Context, _ string) (context.Context, error) { return ctx, nil }

// Two standbys may have one name: two on a machine, or one that connects again before its
// last connection ends. The figures are those of the one that is further behind.
func TestMetricsOfStandbysWithOneName(t *testing.T) {
	r := newRig(t)
	_, s := serveToo(t, r.db, server.Options{Standbys: &feed{replicas: []*smolwcpb.Replica{
		{Name: "db2", Address: "10.0.0.2:4001", BehindRecords: 7, BehindBytes: 70, LagMicros: 1_000_000},
		{Name: "db2", Address: "10.0.0.2:4002", BehindRecords: 9, BehindBytes: 50, LagMicros: 3_000_000},
		{Name: "db2", Address: "10.0.0.2:4002"},
		{Name: "db3", Address: "10.0.0.3:4001", BehindRecords: 1},
	}}})
	text := page(t, s, "/metrics", http.StatusOK)
	for _, want := range []string{
		"smolwc_replicas 4",
		`smolwc_replica_behind_records{address="10.0.0.2",standby="db2"} 9`,
		`smolwc_replica_behind_bytes{address="10.0.0.2",standby="db2"} 70`,
		`smolwc_replica_lag_seconds{address="10.0.0.2",standby="db2"} 3`,
		`smolwc_replica_behind_records{address="10.0.0.3",standby="db3"} 1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in:\n%s", want, text)
		}
	}
}

// A standby with a delay says how long it is, what waits, and the earliest moment to which it can be promoted, if it knows one.
func TestMetricsOfADelay(t *testing.T) {
	r := newRig(t)
	f := &feed{is: &smolwcpb.ListReplicasResponse{Epoch: 1, Standby: true, DelayMicros: 3_600_000_000, DelayedBytes: 4096}}
	_, s := serveToo(t, r.db, server.Options{Standbys: f})
	text := page(t, s, "/metrics", http.StatusOK)
	for _, want := range []string{"\nsmolwc_standby_delay_seconds 3600\n", "\nsmolwc_standby_delayed_bytes 4096\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in:\n%s", want, text)
		}
	}
	const earliest = "smolwc_standby_delayed_earliest_timestamp_seconds"
	if strings.Contains(text, earliest) {
		t.Errorf("an earliest moment that is not known:\n%s", text)
	}
	f.is.DelayedSinceMicros = 1_706_178_659_500_000
	if text := page(t, s, "/metrics", http.StatusOK); !strings.Contains(text, "\n"+earliest+" 1.7061786595e+09\n") {
		t.Errorf("the earliest moment is not there:\n%s", text)
	}
	f.is.DelayMicros = 0
	if text := page(t, s, "/metrics", http.StatusOK); strings.Contains(text, "smolwc_standby_delay") {
		t.Errorf("a standby without a delay:\n%s", text)
	}
}

// Where writes wait strictly, every way to read rows waits too.
func TestReadsOfClientsAreConfirmed(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	f := new(feed)
	r, s := serveToo(t, db, server.Options{Standbys: f})
	r.must(db.CreateTable(r.ctx(), schema.Table{Name: "fleet", Families: []schema.Family{{Name: "meta"}}}))
	planes := r.table("planes", "meta")
	site := httptest.NewServer(s.HTTP())
	t.Cleanup(site.Close)
	post := func(path, body string) error {
		resp, err := http.Post(site.URL+"/v1/table/fleet/"+path, "application/json", strings.NewReader(body))
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", resp.Status, text)
		}
		return nil
	}
	for name, read := range map[string]func() error{
		"ReadRow": func() error { _, err := planes.ReadRow(r.ctx(), "plane#1"); return err },
		"a statement": func() error {
			_, err := smolwcpb.NewStatementsClient(r.conn).RunStatement(r.ctx(), &smolwcpb.RunStatementRequest{InstanceName: parent, Text: "explain scan planes"})
			return err
		},
		"JSON: rows":  func() error { return post("rows", `{"items":[{"row":{"key":"plane#1"}}]}`) },
		"JSON: scan":  func() error { return post("scan", `{"row":{"prefix":"plane#"}}`) },
		"JSON: count": func() error { return post("count", `{"row":{"prefix":"plane#"}}`) },
	} {
		before := f.confirms.Load()
		if err := read(); err != nil || f.confirms.Load() != before+1 {
			t.Errorf("%s: confirmed %d times; %v", name, f.confirms.Load()-before, err)
		}
	}
}

// A server without standbys says so, to a standby and to smolwc replicas.
func TestAServerWithoutStandbys(t *testing.T) {
	r := newRig(t)
	_, err := smolwcpb.NewStandbysClient(r.conn).ListReplicas(r.ctx(), new(smolwcpb.ListReplicasRequest))
	if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "this server takes no standbys") {
		t.Errorf("%v", err)
	}
}

// A primary in whose place another server was promoted makes no more backups: they would
// come between those of the new one.
func TestAFencedPrimaryMakesNoBackups(t *testing.T) {
	db, err := query.Open(filepath.Join(t.TempDir(), "db"), query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	schedule, err := archive.NewSchedule(db, filepath.Join(t.TempDir(), "backups"), archive.ScheduleOptions{Every: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	f := &feed{fenced: make(chan struct{})}
	r := serve(t, db, server.Options{Standbys: f, Backups: schedule})
	r.until("a backup is made", func() bool { return schedule.Status().Made > 0 })
	close(f.fenced)
	made, since := schedule.Status().Made, time.Now()
	r.until("no backup is made for three seconds", func() bool {
		if now := schedule.Status().Made; now != made {
			made, since = now, time.Now()
		}
		return time.Since(since) > 3*time.Second
	})
}
