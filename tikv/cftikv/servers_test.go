package cftikv_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/querytest"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
	"github.com/smolwc/smolwc/views"
)

const serversParent = server.DefaultInstance

// A served is a server of a database that others have open as well, and its clients.
type served struct {
	t     *testing.T
	db    *query.DB
	data  bigtablepb.BigtableClient
	admin adminpb.BigtableTableAdminClient
	batch smolwcpb.BatchesClient
}

func (c *cluster) serve(t *testing.T) *served {
	t.Helper()
	db, err := query.OpenStore(t.Context(), c.open(nil), query.Options{GCInterval: -1})
	must(t, err)
	s, err := server.New(db, server.Options{})
	must(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	t.Cleanup(func() {
		_ = conn.Close()
		cancel()
		must(t, errors.Join(<-done, db.Close()))
	})
	return &served{t, db, bigtablepb.NewBigtableClient(conn), adminpb.NewBigtableTableAdminClient(conn), smolwcpb.NewBatchesClient(conn)}
}

// create makes a table whose timestamps are microseconds.
func (s *served) create(id string) (table string) {
	s.t.Helper()
	_, err := s.admin.CreateTable(s.t.Context(), &adminpb.CreateTableRequest{Parent: serversParent, TableId: id, Table: &adminpb.Table{
		Granularity: adminpb.Table_MICROS, ColumnFamilies: map[string]*adminpb.ColumnFamily{"f": {}},
	}})
	must(s.t, err)
	return serversParent + "/tables/" + id
}

func setCell(value string) []*bigtablepb.Mutation {
	return []*bigtablepb.Mutation{{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{
		FamilyName: "f", ColumnQualifier: []byte("q"), TimestampMicros: -1, Value: []byte(value),
	}}}}
}

// serversWrites are the ways to write a cell at the server's time.
var serversWrites = map[string]func(ctx context.Context, s *served, table, value string) error{
	"row": func(ctx context.Context, s *served, table, value string) error {
		_, err := s.data.MutateRow(ctx, &bigtablepb.MutateRowRequest{TableName: table, RowKey: []byte("r"), Mutations: setCell(value)})
		return err
	},
	"rows": func(ctx context.Context, s *served, table, value string) error {
		stream, err := s.data.MutateRows(ctx, &bigtablepb.MutateRowsRequest{TableName: table, Entries: []*bigtablepb.MutateRowsRequest_Entry{{RowKey: []byte("r"), Mutations: setCell(value)}}})
		if err != nil {
			return err
		}
		resp, err := stream.Recv()
		if err != nil {
			return err
		}
		return status.ErrorProto(resp.GetEntries()[0].GetStatus())
	},
	"check": func(ctx context.Context, s *served, table, value string) error {
		_, err := s.data.CheckAndMutateRow(ctx, &bigtablepb.CheckAndMutateRowRequest{TableName: table, RowKey: []byte("r"), TrueMutations: setCell(value), FalseMutations: setCell(value)})
		return err
	},
	"batch": func(ctx context.Context, s *served, table, value string) error {
		_, err := s.batch.ApplyBatch(ctx, &smolwcpb.ApplyBatchRequest{Entries: []*smolwcpb.ApplyBatchRequest_Entry{{TableName: table, RowKey: []byte("r"), Mutations: setCell(value)}}})
		return err
	},
}

// newest is the newest value of the cell that setCell writes.
func (s *served) newest(table string) (value string) {
	s.t.Helper()
	stream, err := s.data.ReadRows(s.t.Context(), &bigtablepb.ReadRowsRequest{TableName: table, Filter: &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_CellsPerColumnLimitFilter{CellsPerColumnLimitFilter: 1}}})
	must(s.t, err)
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return value
		}
		must(s.t, err)
		for _, c := range m.GetChunks() {
			value += string(c.GetValue())
		}
	}
}

// A server that has not heard of a table yet writes with the table's granularity, so no
// acknowledged write is older than the one before, in whatever way it is made.
func TestServersAgreeOnTheGranularityOfANewTable(t *testing.T) {
	c := newCluster(t)
	servers := []*served{c.serve(t), c.serve(t)}
	other := servers[0].create("other")
	for way, write := range serversWrites {
		for _, s := range servers { // both have looked at the notes of tables
			must(t, write(t.Context(), s, other, "known"))
		}
		table := servers[0].create(way)
		for i := range 12 {
			want := fmt.Sprint(i)
			must(t, write(t.Context(), servers[i%2], table, want))
			if got := servers[0].newest(table); got != want {
				t.Fatalf("%s: write %s at server %d is acknowledged, and the next read gives %s", way, want, i%2, got)
			}
		}
	}
}

// A write follows what another server has just made of the table: its authorized views,
// and the type of a family.
func TestServersWriteUnderTheNewestSchema(t *testing.T) {
	c := newCluster(t)
	a, b := c.serve(t), c.serve(t)
	table := a.create("t")
	view := func(prefix string) *adminpb.AuthorizedView {
		return &adminpb.AuthorizedView{Name: table + "/authorizedViews/v", AuthorizedView: &adminpb.AuthorizedView_SubsetView_{SubsetView: &adminpb.AuthorizedView_SubsetView{
			RowPrefixes: [][]byte{[]byte(prefix)}, FamilySubsets: map[string]*adminpb.AuthorizedView_FamilySubsets{"f": {QualifierPrefixes: [][]byte{{}}}},
		}}}
	}
	_, err := a.admin.CreateAuthorizedView(t.Context(), &adminpb.CreateAuthorizedViewRequest{Parent: table, AuthorizedViewId: "v", AuthorizedView: view("r")})
	must(t, err)
	_, err = b.admin.GetAuthorizedView(t.Context(), &adminpb.GetAuthorizedViewRequest{Name: table + "/authorizedViews/v"}) // b knows it
	must(t, err)
	through := func() error {
		_, err := b.data.MutateRow(t.Context(), &bigtablepb.MutateRowRequest{AuthorizedViewName: table + "/authorizedViews/v", RowKey: []byte("r"), Mutations: setCell("x")})
		return err
	}
	must(t, through())
	narrow := view("s")
	_, err = a.admin.UpdateAuthorizedView(t.Context(), &adminpb.UpdateAuthorizedViewRequest{AuthorizedView: narrow})
	must(t, err)
	if err := through(); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a write of a row that the view no longer has: %v", err)
	}
	_, err = a.admin.UpdateAuthorizedView(t.Context(), &adminpb.UpdateAuthorizedViewRequest{AuthorizedView: view("r")})
	must(t, err)
	must(t, through())

	_, err = a.admin.ModifyColumnFamilies(t.Context(), &adminpb.ModifyColumnFamiliesRequest{Name: table, Modifications: []*adminpb.ModifyColumnFamiliesRequest_Modification{{
		Id: "n", Mod: &adminpb.ModifyColumnFamiliesRequest_Modification_Create{Create: &adminpb.ColumnFamily{}},
	}}})
	must(t, err)
	number := func() error {
		_, err := b.data.MutateRow(t.Context(), &bigtablepb.MutateRowRequest{TableName: table, RowKey: []byte("n"), Mutations: []*bigtablepb.Mutation{{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{
			FamilyName: "n", ColumnQualifier: []byte("q"), TimestampMicros: -1, Value: []byte{0, 0, 0, 0, 0, 0, 0, 7},
		}}}}})
		return err
	}
	// While the family is empty, its type can change; b encodes for the new one.
	must(t, a.db.SetFamily(t.Context(), "t", schema.Family{Name: "n", Type: cells.TypeI64}))
	must(t, number())
	row, err := a.db.Table("t").ReadRow(t.Context(), "n")
	must(t, err)
	if n, ok := row.I64("n", "q"); !ok || n != 7 {
		t.Errorf("the cell is %v", row)
	}
}

// createView defines a view, and reads the table into a materialized one.
func createView(ctx context.Context, of *views.Views, name, text string, materialized bool) error {
	v := views.View{Name: name, SQL: text, Materialized: materialized}
	if err := of.Create(ctx, v); err != nil || !materialized {
		return err
	}
	return of.CatchUp(ctx, v)
}

// Materialized views that come and go at one server miss no write, while the keepers of
// another server work that does not know them yet.
func TestServersKeepEachOthersViews(t *testing.T) {
	c := newCluster(t)
	a, b := c.serve(t), c.serve(t)
	must(t, a.db.CreateTable(t.Context(), schema.Table{Name: "t", Families: []schema.Family{{Name: "f"}}}))
	write := func(s *served, n int) {
		m := write.NewMutation()
		m.Set("f", "k", cells.Bytes(fmt.Appendf(nil, "g%d", n%3)))
		if n%5 == 0 {
			m = write.NewMutation()
			m.DeleteRow()
		}
		must(t, s.db.Table("t").Apply(t.Context(), fmt.Sprintf("r%03d", n*7%90), m))
	}
	rows := func(s *served, text string) (all []string) {
		t.Helper()
		res, err := views.Of(s.db).Query(t.Context(), text)
		must(t, err)
		for row, err := range res.Rows {
			must(t, err)
			all = append(all, fmt.Sprint(row...))
		}
		slices.Sort(all)
		return all
	}
	const text = "SELECT f['k'] AS k, COUNT(*) AS n FROM t WHERE f['k'] IS NOT NULL GROUP BY k"
	n := 0
	for round := range 6 {
		makes, other := a, b
		if round%2 == 1 {
			makes, other = b, a
		}
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for range 200 { // the making of a view, which is slow on a mock, need not keep up with more
				select {
				case <-stop:
					return
				default:
					n++
					write(other, n)
				}
			}
		}()
		view := fmt.Sprint("v", round%3)
		if round >= 3 {
			must(t, views.Of(makes.db).Drop(t.Context(), views.View{Name: view, Materialized: true}))
		}
		must(t, createView(t.Context(), views.Of(makes.db), view, text, true))
		rows(other, "SELECT * FROM "+view)
		close(stop)
		<-stopped
		for i := range min(round+1, 3) {
			for _, s := range []*served{other, makes} {
				if got, want := rows(s, fmt.Sprint("SELECT * FROM v", i)), rows(s, text); !slices.Equal(got, want) {
					t.Fatalf("round %d: view v%d is %q, want %q", round, i, got, want)
				}
			}
		}
	}
}

// Where several processes write, a write that was prepared under the schema of one moment is
// not made under that of another.
func TestWritesUnderAVersionOfTheSchema(t *testing.T) {
	c := newCluster(t)
	var dbs []*query.DB
	for range 2 {
		db, err := query.OpenStore(t.Context(), c.open(nil), query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f"}}}}}})
		must(t, err)
		defer db.Close()
		dbs = append(dbs, db)
	}
	must(t, dbs[1].Refresh(t.Context()))
	querytest.UnderASchema(t, dbs[0], dbs[1])
}
