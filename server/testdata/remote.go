package bttest

// The tests of Bigtable's emulator make a server{} and call its methods. They are run
// with a remote{} instead, which calls the server that $REMOTE names. Each uses its own
// project, so that their tables do not conflict.

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	btapb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/emptypb"
)

type remote struct {
	btapb.UnimplementedBigtableTableAdminServer // views

	tables    map[string]*table
	instances map[string]*btapb.Instance
	id        int64
}

var remotes atomic.Int64

var conn = func() *grpc.ClientConn {
	c, err := grpc.NewClient(os.Getenv("REMOTE"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	return c
}()

var (
	data      = btpb.NewBigtableClient(conn)
	admin     = btapb.NewBigtableTableAdminClient(conn)
	instances = btapb.NewBigtableInstanceAdminClient(conn)
)

// prefix is the prefix that completes names such as cluster/tables/t.
func (r *remote) prefix() string {
	if r.id == 0 {
		r.id = remotes.Add(1)
	}
	return fmt.Sprintf("projects/bttest%d/instances/", r.id)
}

// out returns a message with full names.
func out[M proto.Message](r *remote, m M) M {
	m = proto.Clone(m).(M)
	rename(m.ProtoReflect(), func(name string) string {
		if strings.HasPrefix(name, "projects/") || name == "" {
			return name
		}
		return r.prefix() + name
	})
	return m
}

func in[M proto.Message](r *remote, m M) M {
	rename(m.ProtoReflect(), func(name string) string { return strings.TrimPrefix(name, r.prefix()) })
	return m
}

func rename(m protoreflect.Message, to func(string) string) {
	for _, field := range []protoreflect.Name{"parent", "name", "table_name"} {
		if f := m.Descriptor().Fields().ByName(field); f != nil && f.Kind() == protoreflect.StringKind {
			m.Set(f, protoreflect.ValueOfString(to(m.Get(f).String())))
		}
	}
}

func call[Q, R proto.Message](r *remote, ctx context.Context, f func(context.Context, Q, ...grpc.CallOption) (R, error), q Q) (resp R, err error) {
	if resp, err = f(ctx, out(r, q)); err != nil {
		var none R
		return none, err
	}
	return in(r, resp), nil
}

func (r *remote) CreateTable(ctx context.Context, q *btapb.CreateTableRequest) (*btapb.Table, error) {
	return call(r, ctx, admin.CreateTable, q)
}

func (r *remote) GetTable(ctx context.Context, q *btapb.GetTableRequest) (*btapb.Table, error) {
	return call(r, ctx, admin.GetTable, q)
}

func (r *remote) ModifyColumnFamilies(ctx context.Context, q *btapb.ModifyColumnFamiliesRequest) (*btapb.Table, error) {
	return call(r, ctx, admin.ModifyColumnFamilies, q)
}

func (r *remote) DropRowRange(ctx context.Context, q *btapb.DropRowRangeRequest) (*emptypb.Empty, error) {
	return call(r, ctx, admin.DropRowRange, q)
}

func (r *remote) MutateRow(ctx context.Context, q *btpb.MutateRowRequest) (*btpb.MutateRowResponse, error) {
	return call(r, ctx, data.MutateRow, q)
}

func (r *remote) CheckAndMutateRow(ctx context.Context, q *btpb.CheckAndMutateRowRequest) (*btpb.CheckAndMutateRowResponse, error) {
	return call(r, ctx, data.CheckAndMutateRow, q)
}

func (r *remote) ReadModifyWriteRow(ctx context.Context, q *btpb.ReadModifyWriteRowRequest) (*btpb.ReadModifyWriteRowResponse, error) {
	return call(r, ctx, data.ReadModifyWriteRow, q)
}

// DeleteInstance first creates the tables that the test put into the emulator's memory.
func (r *remote) DeleteInstance(ctx context.Context, q *btapb.DeleteInstanceRequest) (*emptypb.Empty, error) {
	if _, ok := r.instances[q.Name]; ok {
		delete(r.instances, q.Name)
		parent, id, _ := strings.Cut(q.Name, "/instances/")
		if _, err := instances.CreateInstance(ctx, &btapb.CreateInstanceRequest{Parent: parent, InstanceId: id, Instance: &btapb.Instance{}}); err != nil {
			return nil, err
		}
	}
	return instances.DeleteInstance(ctx, q)
}

func (r *remote) ReadRows(q *btpb.ReadRowsRequest, to btpb.Bigtable_ReadRowsServer) error {
	ctx := context.Background()
	if to == nil { // the request is refused
		to = &MockReadRowsServer{}
	} else if md, ok := metadata.FromIncomingContext(to.Context()); ok {
		ctx = metadata.NewOutgoingContext(ctx, md)
	}
	s, err := data.ReadRows(ctx, out(r, q))
	return pump(s, err, to.Send)
}

func (r *remote) SampleRowKeys(q *btpb.SampleRowKeysRequest, to btpb.Bigtable_SampleRowKeysServer) error {
	s, err := data.SampleRowKeys(context.Background(), out(r, q))
	return pump(s, err, to.Send)
}

func (r *remote) MutateRows(q *btpb.MutateRowsRequest, to btpb.Bigtable_MutateRowsServer) error {
	s, err := data.MutateRows(context.Background(), out(r, q))
	return pump(s, err, to.Send)
}

func pump[M any](from grpc.ServerStreamingClient[M], err error, send func(*M) error) error {
	for err == nil {
		var m *M
		if m, err = from.Recv(); err == nil {
			err = send(m)
		}
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// rows counts a table's rows, as the tests do in the emulator's memory.
func (r *remote) rows(table string) (n int) {
	s, err := data.ReadRows(context.Background(), out(r, &btpb.ReadRowsRequest{TableName: table}))
	err = pump(s, err, func(m *btpb.ReadRowsResponse) error {
		for _, c := range m.Chunks {
			if c.GetCommitRow() {
				n++
			}
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
	return n
}

func (r *remote) GetPartitionsByTableName(string) []*btpb.RowRange { return nil } // a method in Go alone
