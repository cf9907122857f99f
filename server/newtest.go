package server

import (
	"context"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// A TB is the part of *testing.T that [NewTest] uses. It is declared here so that servers do
// not contain package testing.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// A Test is a server for one test, with its controls. Its tables are in memory.
type Test struct {
	*TestMode
	// DB is the database, for steps that are easier without a client.
	DB *query.DB
	// Addr is HOST:PORT, the value for $BIGTABLE_EMULATOR_HOST.
	Addr string
	// Conn is a connection to the server, for option.WithGRPCConn.
	Conn *grpc.ClientConn
	// Project and Instance are the names under which clients find the tables: as in
	// [DefaultInstance].
	Project, Instance string
}

// NewTest starts a server in this process, with these tables, on a free port of this
// machine. It ends with the test. Failures to start fail the test.
func NewTest(t TB, tables ...schema.Table) *Test {
	if t == nil {
		return nil
	}
	t.Helper()
	mode := NewTestMode(TestModeOptions{Prepare: func(ctx context.Context, db *query.DB) error {
		for _, table := range tables {
			if err := db.CreateTable(ctx, table); err != nil {
				return err
			}
		}
		return nil
	}})
	own, err := wire.ParseInstance(DefaultInstance)
	if err != nil {
		t.Fatalf("no instance for the test: %v", err)
		return nil
	}
	test := &Test{TestMode: mode, Project: own.Project, Instance: own.ID}
	if test.DB, err = query.OpenInMemory(query.Options{Clock: mode.Clock, ClockGoesBack: true}); err != nil {
		t.Fatalf("no database for the test: %v", err)
		return nil
	}
	t.Cleanup(func() { _ = test.DB.Close() }) // it is gone anyway
	if err := test.serve(t); err != nil {
		t.Fatalf("no server for the test: %v", err)
		return nil
	}
	return test
}

func (test *Test) serve(t TB) error {
	s, err := New(test.DB, Options{Test: test.TestMode, Grace: 100 * time.Millisecond})
	if err != nil {
		return err
	}
	if err := test.Reset(context.Background()); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	test.Addr = listener.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(ctx, listener) // an error shows in the calls
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	if test.Conn, err = grpc.NewClient(test.Addr, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		return err
	}
	t.Cleanup(func() { _ = test.Conn.Close() }) // the server ends too
	return nil
}
