package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

// bomb is an expression that takes long on a value of bombed.
var bomb = ".*" + strings.Repeat(".{0,100}", 20) + "z"

// bombed is a server with a row "r" that has a large value.
func bombed(t *testing.T) *rig {
	t.Helper()
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	r := serve(t, db, server.Options{})
	tab := r.table("t", "f")
	m := bigtable.NewMutation()
	m.Set("f", "v", 1000, []byte(strings.Repeat("abcdefghij", 100_000)))
	r.must(tab.Apply(r.ctx(), "r", m))
	return r
}

// endOf is the error that ends a stream.
func endOf[M any](stream interface{ Recv() (M, error) }, err error) error {
	for err == nil {
		_, err = stream.Recv()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// Bombs end with an error that says what took too long. Meanwhile a client that writes, reads
// and changes the schema goes on.
func TestACanaryBesideBombs(t *testing.T) {
	r := bombed(t)
	data := bigtablepb.NewBigtableClient(r.conn)
	value := &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_ValueRegexFilter{ValueRegexFilter: []byte(bomb)}}
	set := []*bigtablepb.Mutation{{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{FamilyName: "f", ColumnQualifier: []byte("q"), TimestampMicros: -1, Value: []byte("x")}}}}
	for name, b := range map[string]struct {
		want string
		call func(ctx context.Context) error
	}{
		"check and mutate": {"value_regex", func(ctx context.Context) error {
			_, err := data.CheckAndMutateRow(ctx, &bigtablepb.CheckAndMutateRowRequest{TableName: tableT, RowKey: []byte("r"), PredicateFilter: value, TrueMutations: set, FalseMutations: set})
			return err
		}},
		"rows": {"value_regex", func(ctx context.Context) error {
			stream, err := data.ReadRows(ctx, &bigtablepb.ReadRowsRequest{TableName: tableT, Filter: value})
			return endOf[*bigtablepb.ReadRowsResponse](stream, err)
		}},
		"sql": {"takes too long on a value of 1000000 bytes", func(ctx context.Context) error {
			//lint:ignore SA1019 clients send it
			stream, err := data.ExecuteQuery(ctx, &bigtablepb.ExecuteQueryRequest{InstanceName: parent, Query: "SELECT COUNT(*) FROM t WHERE REGEXP_CONTAINS(f['v'], b'" + bomb + "')",
				//lint:ignore SA1019 clients send it
				DataFormat: &bigtablepb.ExecuteQueryRequest_ProtoFormat{ProtoFormat: &bigtablepb.ProtoFormat{}}})
			return endOf[*bigtablepb.ExecuteQueryResponse](stream, err)
		}},
		"client where": {"of f:v takes too long", func(ctx context.Context) error {
			c, err := client.Dial(r.addr, client.Options{Instance: parent})
			if err != nil {
				return err
			}
			defer func() { _ = c.Close() }()
			for _, err := range c.Table("t").ReadRows(ctx, read.WhereMatch("f", "v", bomb)) {
				return err
			}
			return nil
		}},
		"client delete where": {"of f:v takes too long", func(ctx context.Context) error {
			c, err := client.Dial(r.addr, client.Options{Instance: parent})
			if err != nil {
				return err
			}
			defer func() { _ = c.Close() }()
			m := write.NewMutation()
			m.DeleteRow()
			_, _, err = c.Table("t").ApplyWhere(ctx, m, read.WhereMatch("f", "v", bomb))
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(r.ctx())
			var bombs sync.WaitGroup
			ended := make(chan struct{})
			bombs.Go(func() {
				defer close(ended)
				if err := b.call(ctx); err == nil || !strings.Contains(err.Error(), b.want) {
					t.Errorf("%v", err)
				}
			})
			bombs.Go(func() {
				for ctx.Err() == nil { // the canary has not done yet
					_ = b.call(ctx)
				}
			})
			tab, admin := r.client().Open("t"), r.admin()
			for i := range 3 {
				for _, key := range []string{"r", fmt.Sprint("other ", i)} {
					m := bigtable.NewMutation()
					m.Set("f", "c", bigtable.ServerTime, []byte("x"))
					r.must(tab.Apply(r.ctx(), key, m))
					_, err := tab.ReadRow(r.ctx(), key, bigtable.RowFilter(bigtable.ColumnFilter("c")))
					r.must(err)
				}
				r.must(admin.CreateTable(r.ctx(), fmt.Sprint("new", i)))
				r.must(admin.DeleteTable(r.ctx(), fmt.Sprint("new", i)))
			}
			<-ended
			cancel()
			bombs.Wait()
		})
	}
}

// A deaf handler does not look at its context.
func deaf(in, release chan struct{}) grpc.ServerOption {
	return grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		close(in)
		<-release
		return handler(ctx, req)
	})
}

// A stop ends although a handler does not, also when its client is gone: gRPC's graceful stop
// then keeps its forced stop out.
func TestAStopEndsWhateverAHandlerDoes(t *testing.T) {
	for name, gone := range map[string]bool{"with a client": false, "without": true} {
		t.Run(name, func(t *testing.T) {
			db, err := query.OpenInMemory(query.Options{})
			if err != nil {
				t.Fatal(err)
			}
			in, release := make(chan struct{}), make(chan struct{})
			log := new(logBuffer)
			s, err := server.New(db, server.Options{Grace: time.Second, GRPC: []grpc.ServerOption{deaf(in, release)}, Logger: slog.New(slog.NewTextHandler(log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- s.Serve(ctx, l) }()
			conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error)
			go func() {
				_, err := bigtablepb.NewBigtableClient(conn).PingAndWarm(context.Background(), &bigtablepb.PingAndWarmRequest{Name: parent})
				ended <- err
			}()
			<-in
			if gone {
				_ = conn.Close()
				<-ended
			}
			stop()
			if err := <-done; !errors.Is(err, server.ErrCallsLeft) {
				t.Errorf("%v", err)
			}
			if text := log.String(); !strings.Contains(text, "a call has not ended although it was cancelled") || !strings.Contains(text, "PingAndWarm") {
				t.Errorf("the log: %s", text)
			}
			if !gone {
				if err := <-ended; status.Code(err) != codes.Unavailable {
					t.Errorf("the client: %v", err)
				}
			}
			close(release)
			_ = conn.Close()
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A context that stops a goroutine that looks at it in a function.
type stopped struct {
	context.Context
	at          string
	once        *sync.Once
	in, release chan struct{}
}

func (s stopped) Err() error {
	if strings.Contains(string(debug.Stack()), s.at) {
		s.once.Do(func() { close(s.in); <-s.release })
	}
	return s.Context.Err()
}

// Readiness and a metric tell when writes do not get through.
func TestReadinessTellsOfWritesThatDoNotGetThrough(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	r, s := serveToo(t, db, server.Options{})
	r.must(db.CreateTable(r.ctx(), schema.Table{Name: "plain", Families: []schema.Family{{Name: "f"}}}))
	page := func(path string) (int, string) {
		w := httptest.NewRecorder()
		s.HTTP().ServeHTTP(w, httptest.NewRequestWithContext(r.ctx(), http.MethodGet, path, nil))
		return w.Code, w.Body.String()
	}
	until := func(path string, code int, want string) {
		t.Helper()
		for {
			got, text := page(path)
			if got == code && strings.Contains(text, want) {
				return
			}
			if r.ctx().Err() != nil {
				t.Fatalf("%s is %d %s", path, got, text)
			}
			time.Sleep(time.Millisecond)
		}
	}
	until("/readyz", http.StatusOK, "ok")
	stuck := stopped{r.ctx(), "state.(*DB).WriteCatalog", new(sync.Once), make(chan struct{}), make(chan struct{})}
	var all sync.WaitGroup
	all.Go(func() { // it holds the schema
		if err := db.CreateTable(stuck, schema.Table{Name: "new", Families: []schema.Family{{Name: "f"}}}); err != nil {
			t.Error(err)
		}
	})
	<-stuck.in
	all.Go(func() {
		m := write.NewMutation()
		m.SetAt("f", "q", 1, cells.I64(1))
		if err := db.Table("plain").Apply(r.ctx(), "r", m); err != nil {
			t.Error(err)
		}
	})
	until("/readyz", http.StatusServiceUnavailable, "writes do not get through")
	until("/metrics", http.StatusOK, "smolwc_store_writes_under_way 1")
	if _, text := page("/metrics"); strings.Contains(text, "smolwc_store_writes_stuck_seconds 0\n") {
		t.Error("the metric does not tell")
	}
	close(stuck.release)
	all.Wait()
	until("/readyz", http.StatusOK, "ok")
}
