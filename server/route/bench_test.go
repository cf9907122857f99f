package route_test

import (
	"fmt"
	"io"
	"testing"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"

	"github.com/smolwc/smolwc/server/route"
	"github.com/smolwc/smolwc/standby"
)

// What a router costs: reads of one row by one client, and by eight, and scans of 10,000
// rows, at the server and through a router in the same process.
func BenchmarkRoute(b *testing.B) {
	a := primary(b, standby.SemiSyncOff)
	r := newRig(b, mapOf(a.addr, a.addr, ""), route.Options{})
	tab := r.tableIn("a", "t")
	for i := range 10_000 {
		must(b, tab.Apply(b.Context(), fmt.Sprintf("%05d", i), cell("0123456789abcdef")))
	}
	rows := func(b *testing.B, conn *grpc.ClientConn, keys ...[]byte) {
		s, err := bigtablepb.NewBigtableClient(conn).ReadRows(b.Context(), &bigtablepb.ReadRowsRequest{TableName: "projects/p/instances/a/tables/t", Rows: &bigtablepb.RowSet{RowKeys: keys}})
		for err == nil {
			_, err = s.Recv()
		}
		if err != io.EOF {
			b.Error(err)
		}
	}
	for name, conn := range map[string]*grpc.ClientConn{"direct": dial(b, a.addr), "routed": r.conn} {
		b.Run("get/"+name, func(b *testing.B) {
			for b.Loop() {
				rows(b, conn, []byte("04711"))
			}
		})
		b.Run("get8/"+name, func(b *testing.B) {
			b.SetParallelism(4)
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					rows(b, conn, []byte("04711"))
				}
			})
		})
		b.Run("scan/"+name, func(b *testing.B) {
			for b.Loop() {
				rows(b, conn)
			}
		})
	}
}
