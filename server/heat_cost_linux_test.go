package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// BenchmarkHeat measures what the samples of heat cost a read of one row over gRPC, and a
// scan of 10,000 rows: rounds with them and without them alternate. The cost is the median
// of the ratios of neighbouring rounds, in processor time of the process, which is that of
// the client too.
func BenchmarkHeat(b *testing.B) {
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "fleet", Families: []schema.Family{{Name: "meta"}}}}}})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	var keys []string
	var ms []*write.Mutation
	for i := range 10_000 {
		m := write.NewMutation()
		m.SetAt("meta", "model", 1000, cells.String("Boeing 757"))
		keys, ms = append(keys, fmt.Sprintf("plane#%06d", i)), append(ms, m)
	}
	if _, err := db.Table("fleet").ApplyBulk(b.Context(), keys, ms); err != nil {
		b.Fatal(err)
	}
	s, err := New(db, Options{})
	if err != nil {
		b.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, l) }()
	defer func() { cancel(); <-done }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	client := bigtablepb.NewBigtableClient(conn)
	read := func(rows *bigtablepb.RowSet) {
		stream, err := client.ReadRows(ctx, &bigtablepb.ReadRowsRequest{TableName: DefaultInstance + "/tables/fleet", Rows: rows})
		for err == nil {
			_, err = stream.Recv()
		}
		if err != io.EOF {
			b.Fatal(err)
		}
	}
	n := 0
	b.Run("read", func(b *testing.B) {
		compareHeat(b, s, 200, func() {
			n++
			read(&bigtablepb.RowSet{RowKeys: [][]byte{[]byte(keys[n*7919%len(keys)])}})
		})
	})
	b.Run("scan", func(b *testing.B) { compareHeat(b, s, 5, func() { read(nil) }) })
}

// compareHeat runs rounds of a call, with and without heat by turns.
func compareHeat(b *testing.B, s *Server, round int, call func()) {
	heat := s.catalog.Heat
	defer func() { s.catalog.Heat = heat }()
	took := func() time.Duration {
		began := used(b)
		for range round {
			call()
		}
		return used(b) - began
	}
	took()
	var ratios []float64
	for i := 0; b.Loop(); i++ {
		s.catalog.Heat = nil
		if i%2 == 0 {
			without := took()
			s.catalog.Heat = heat
			ratios = append(ratios, float64(took())/float64(without))
		} else {
			s.catalog.Heat = heat
			with := took()
			s.catalog.Heat = nil
			ratios = append(ratios, float64(with)/float64(took()))
		}
	}
	slices.Sort(ratios)
	b.ReportMetric(100*(ratios[len(ratios)/2]-1), "%cost")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(2*round*b.N), "µs/call")
}

// used is the processor time that the process has used.
func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
