// Command nothing is a server that keeps nothing: it answers a call at once with an answer
// that it makes up, and uses gRPC's defaults. It shows what no server of this client can
// do better. TestBeside runs it.
package main

import (
	"context"
	"fmt"
	"log"
	"net"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	s := grpc.NewServer(grpc.MaxRecvMsgSize(256 << 20))
	bigtablepb.RegisterBigtableServer(s, rows{})
	adminpb.RegisterBigtableTableAdminServer(s, tables{})
	fmt.Printf("on %s\n", l.Addr())
	log.Fatal(s.Serve(l))
}

type rows struct {
	bigtablepb.UnimplementedBigtableServer
}

func (rows) ReadRows(req *bigtablepb.ReadRowsRequest, stream bigtablepb.Bigtable_ReadRowsServer) error {
	var answer bigtablepb.ReadRowsResponse
	for _, key := range req.GetRows().GetRowKeys() {
		for q := range 5 {
			c := &bigtablepb.ReadRowsResponse_CellChunk{Qualifier: wrapperspb.Bytes([]byte{'q', '0' + byte(q)}), TimestampMicros: 1000, Value: make([]byte, 100)}
			if q == 0 {
				c.RowKey, c.FamilyName = key, wrapperspb.String("f")
			}
			answer.Chunks = append(answer.Chunks, c)
		}
		answer.Chunks[len(answer.Chunks)-1].RowStatus = &bigtablepb.ReadRowsResponse_CellChunk_CommitRow{CommitRow: true}
	}
	return stream.Send(&answer)
}

func (rows) MutateRow(context.Context, *bigtablepb.MutateRowRequest) (*bigtablepb.MutateRowResponse, error) {
	return &bigtablepb.MutateRowResponse{}, nil
}

func (rows) MutateRows(req *bigtablepb.MutateRowsRequest, stream bigtablepb.Bigtable_MutateRowsServer) error {
	var answer bigtablepb.MutateRowsResponse
	for i := range req.GetEntries() {
		answer.Entries = append(answer.Entries, &bigtablepb.MutateRowsResponse_Entry{Index: int64(i), Status: &status.Status{}})
	}
	return stream.Send(&answer)
}

func (rows) CheckAndMutateRow(context.Context, *bigtablepb.CheckAndMutateRowRequest) (*bigtablepb.CheckAndMutateRowResponse, error) {
	return &bigtablepb.CheckAndMutateRowResponse{PredicateMatched: true}, nil
}

func (rows) ReadModifyWriteRow(_ context.Context, req *bigtablepb.ReadModifyWriteRowRequest) (*bigtablepb.ReadModifyWriteRowResponse, error) {
	cell := &bigtablepb.Cell{TimestampMicros: 1000, Value: make([]byte, 8)}
	column := &bigtablepb.Column{Qualifier: req.GetRules()[0].GetColumnQualifier(), Cells: []*bigtablepb.Cell{cell}}
	family := &bigtablepb.Family{Name: req.GetRules()[0].GetFamilyName(), Columns: []*bigtablepb.Column{column}}
	return &bigtablepb.ReadModifyWriteRowResponse{Row: &bigtablepb.Row{Key: req.GetRowKey(), Families: []*bigtablepb.Family{family}}}, nil
}

type tables struct {
	adminpb.UnimplementedBigtableTableAdminServer
}

func (tables) CreateTable(_ context.Context, req *adminpb.CreateTableRequest) (*adminpb.Table, error) {
	return &adminpb.Table{Name: req.GetParent() + "/tables/" + req.GetTableId()}, nil
}

func (tables) ModifyColumnFamilies(_ context.Context, req *adminpb.ModifyColumnFamiliesRequest) (*adminpb.Table, error) {
	return &adminpb.Table{Name: req.GetName()}, nil
}
