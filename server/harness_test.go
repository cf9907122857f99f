package server_test

import (
	"context"
	"net"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
)

// A rig is a server of a database in memory, with connections to it.
type rig struct {
	t    *testing.T
	db   *query.DB
	addr string
	conn *grpc.ClientConn
	stop func()
}

const (
	project  = "proj"
	instance = "inst"
	parent   = "projects/proj/instances/inst"
)

func newRig(t *testing.T) *rig {
	t.Helper()
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return serve(t, db, server.Options{})
}

// serve serves a database until the test ends.
func serve(t *testing.T, db *query.DB, o server.Options) *rig {
	t.Helper()
	r, _ := serveToo(t, db, o)
	return r
}

// serveToo also gives the server.
func serveToo(t *testing.T, db *query.DB, o server.Options) (*rig, *server.Server) {
	t.Helper()
	s, err := server.New(db, o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, l) }()
	r := &rig{t: t, db: db, addr: l.Addr().String()}
	stopped := false
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(r.stop)
	r.conn = r.dial()
	return r, s
}

func withConn(conn *grpc.ClientConn) option.ClientOption { return option.WithGRPCConn(conn) }

func (r *rig) dial(opts ...grpc.DialOption) *grpc.ClientConn {
	r.t.Helper()
	conn, err := grpc.NewClient(r.addr, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (r *rig) options() []option.ClientOption {
	return []option.ClientOption{option.WithGRPCConn(r.conn)}
}

// The official clients of an instance.

func (r *rig) client() *bigtable.Client {
	r.t.Helper()
	c, err := bigtable.NewClientWithConfig(r.ctx(), project, instance,
		bigtable.ClientConfig{MetricsProvider: bigtable.NoopMetricsProvider{}}, r.options()...)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (r *rig) admin() *bigtable.AdminClient {
	r.t.Helper()
	c, err := bigtable.NewAdminClient(r.ctx(), project, instance, r.options()...)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func (r *rig) instanceAdmin() *bigtable.InstanceAdminClient {
	r.t.Helper()
	c, err := bigtable.NewInstanceAdminClient(r.ctx(), project, r.options()...)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// ctx ends before the test times out.
func (r *rig) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	r.t.Cleanup(cancel)
	return ctx
}

// table makes a table with families that have no type and no rule.
func (r *rig) table(name string, families ...string) *bigtable.Table {
	r.t.Helper()
	admin := r.admin()
	if err := admin.CreateTable(r.ctx(), name); err != nil {
		r.t.Fatal(err)
	}
	for _, f := range families {
		if err := admin.CreateColumnFamily(r.ctx(), name, f); err != nil {
			r.t.Fatal(err)
		}
	}
	return r.client().Open(name)
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}
