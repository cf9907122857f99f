package server_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/server"
)

// giants fills a table with rows of a number of cells of a MiB.
func (r *rig) giants(rows, cells int) *bigtable.Table {
	r.t.Helper()
	table := r.table("t", "f")
	value := bytes.Repeat([]byte("v"), 1<<20)
	for i := range rows {
		for j := range cells {
			m := bigtable.NewMutation()
			m.Set("f", fmt.Sprintf("q%02d", j), 1000, value)
			r.must(table.Apply(r.ctx(), fmt.Sprintf("row%02d", i), m))
		}
	}
	return table
}

func inHand(t *testing.T, s *server.Server) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(metric(t, s, "smolwc_bytes_in_hand"), 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// If a client requests many large rows and reads none, the server holds only a few of
// them, within the client's share. The other calls end, and may be tried again.
func TestLargeRowsAreBytesInHand(t *testing.T) {
	const limit = 50 << 20
	r, s, _ := limited(t, server.Limits{ConnectionBytes: limit, SendTimeout: time.Minute})
	r.giants(1, 12)
	ctx, cancel := context.WithCancel(r.ctx())
	conn := r.narrow()
	var mu sync.Mutex
	refusals := map[codes.Code]int{}
	for range 20 {
		stream, err := bigtablepb.NewBigtableClient(conn).ReadRows(ctx, &bigtablepb.ReadRowsRequest{TableName: tablePath("t")})
		r.must(err)
		go func() {
			for n := 0; ; n++ { // the first message alone
				_, err := stream.Recv()
				if n == 0 && err == nil {
					<-ctx.Done()
				}
				if err != nil {
					mu.Lock()
					refusals[status.Code(err)]++
					mu.Unlock()
					return
				}
			}
		}()
	}
	r.until("calls being refused", func() bool {
		if n := inHand(t, s); n > limit+(1<<20) {
			t.Fatalf("%.0f bytes in hand", n)
		}
		mu.Lock()
		defer mu.Unlock()
		return refusals[codes.Unavailable] >= 16
	})
	if n := inHand(t, s); n < 12<<20 {
		t.Errorf("%.0f bytes in hand; the rows that are read are not among them", n)
	}
	r.must(r.ping(r.ctx()))
	cancel()
	r.until("no bytes in hand", func() bool { return inHand(t, s) == 0 })
}

// Bigtable's client tries the refused calls again, and gets every row.
func TestLargeRowsAreTriedAgain(t *testing.T) {
	r, s, _ := limited(t, server.Limits{ConnectionBytes: 48 << 20})
	r.conn = r.dial(grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1 << 28)))
	table := r.giants(4, 12)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			row, err := table.ReadRow(r.ctx(), fmt.Sprintf("row%02d", i))
			if err != nil || len(row["f"]) != 12 {
				t.Errorf("%d cells, %v", len(row["f"]), err)
			}
		})
	}
	wg.Wait()
	r.until("no bytes in hand", func() bool { return inHand(t, s) == 0 })
}

// A row that exceeds every limit is refused permanently, by every call that reads it.
func TestRowsLargerThanTheLimit(t *testing.T) {
	r, s, _ := limited(t, server.Limits{Bytes: 16 << 20})
	r.giants(1, 20)
	// The client sees the end of a call first, and a refusal is permanent only without other calls.
	ended := func() { r.until("no bytes in hand", func() bool { return inHand(t, s) == 0 }) }
	ended()
	_, err := r.tryRead(&bigtablepb.ReadRowsRequest{TableName: tablePath("t")})
	refused(t, "ReadRows", err, codes.FailedPrecondition, "more than the 14 MiB")
	ended()
	//lint:ignore SA1019 clients send it
	stream, err := r.data().ExecuteQuery(r.ctx(), &bigtablepb.ExecuteQueryRequest{InstanceName: parent, Query: "SELECT * FROM t",
		//lint:ignore SA1019 clients send it
		DataFormat: &bigtablepb.ExecuteQueryRequest_ProtoFormat{ProtoFormat: &bigtablepb.ProtoFormat{}}})
	r.must(err)
	for err == nil {
		_, err = stream.Recv()
	}
	if err == io.EOF {
		err = nil
	}
	refused(t, "ExecuteQuery", err, codes.FailedPrecondition, "more than the 14 MiB")
	ended()
	sink := &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_ValueRegexFilter{ValueRegexFilter: []byte("v+x")}}
	_, err = r.data().CheckAndMutateRow(r.ctx(), &bigtablepb.CheckAndMutateRowRequest{TableName: tablePath("t"), RowKey: []byte("row00"),
		PredicateFilter: &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_Condition_{Condition: &bigtablepb.RowFilter_Condition{PredicateFilter: sink, TrueFilter: sink}}},
		FalseMutations:  []*bigtablepb.Mutation{setCell("f", "new", 1000, "")}})
	refused(t, "CheckAndMutateRow", err, codes.FailedPrecondition, "more than the 14 MiB")
	ended()
	rules := make([]*bigtablepb.ReadModifyWriteRule, 20)
	for i := range rules {
		rules[i] = &bigtablepb.ReadModifyWriteRule{FamilyName: "f", ColumnQualifier: fmt.Appendf(nil, "q%02d", i), Rule: &bigtablepb.ReadModifyWriteRule_AppendValue{AppendValue: []byte("x")}}
	}
	_, err = r.data().ReadModifyWriteRow(r.ctx(), &bigtablepb.ReadModifyWriteRowRequest{TableName: tablePath("t"), RowKey: []byte("row00"), Rules: rules})
	refused(t, "ReadModifyWriteRow", err, codes.FailedPrecondition, "more than the 14 MiB")
	ended()
}
