package server_test

import (
	"runtime"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
)

func TestServerChoosesProcessors(t *testing.T) {
	all := runtime.GOMAXPROCS(0)
	if all == 1 {
		t.Skip("there is one processor")
	}
	t.Setenv("GOMAXPROCS", "") // nobody has chosen
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r := serve(t, db, server.Options{FewProcessors: true})
	table := r.table("t", "f")
	until := func(what string, reached func() bool, call func() error) {
		t.Helper()
		for late := time.Now().Add(5 * time.Minute); !reached(); {
			if time.Now().After(late) {
				t.Fatalf("%s: the process has %d of %d processors", what, runtime.GOMAXPROCS(0), all)
			}
			r.must(call())
		}
	}
	few := func() bool { return runtime.GOMAXPROCS(0) == 1 }
	// Who watches the server's health is no second caller, though that call does not end.
	watch, err := grpc_health_v1.NewHealthClient(r.conn).Watch(r.ctx(), &grpc_health_v1.HealthCheckRequest{})
	r.must(err)
	_, err = watch.Recv()
	r.must(err)
	until("one row after another", few, func() error {
		_, err := table.ReadRow(r.ctx(), "r")
		return err
	})
	until("a scan", func() bool { return !few() }, func() error {
		return table.ReadRows(r.ctx(), bigtable.InfiniteRange(""), func(bigtable.Row) bool { return true })
	})
	r.stop()
	if got := runtime.GOMAXPROCS(0); got != all {
		t.Errorf("%d processors when the server has stopped; want %d", got, all)
	}
}
