package server_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/server"
)

// setX is an entry that sets f:x of row a; the name is that of a table or of a view.
func setX(name string) *smolwcpb.ApplyBatchRequest_Entry {
	e := &smolwcpb.ApplyBatchRequest_Entry{TableName: name, RowKey: []byte("a"), Mutations: []*bigtablepb.Mutation{{
		Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{FamilyName: "f", ColumnQualifier: []byte("x"), TimestampMicros: 1000, Value: []byte("v")}},
	}}}
	if strings.Contains(name, "/authorizedViews/") {
		e.TableName, e.AuthorizedViewName = "", name
	}
	return e
}

// A batch writes everything or nothing, whatever is wrong with one of its entries.
func TestBatchesAreWholeOrNothing(t *testing.T) {
	r := newRig(t)
	tables := []string{"t", "u"}
	for _, name := range tables {
		r.table(name, "f")
	}
	r.must(r.createView("t", "v", subsetView([]string{"a"}, map[string]*adminpb.AuthorizedView_FamilySubsets{"f": subset([]string{"x"})})))
	api := smolwcpb.NewBatchesClient(r.conn)
	written := func() (n int) {
		for _, name := range tables {
			n += len(r.columnsIn(r.client().Open(name), nil))
		}
		return n
	}
	wrong := func(change func(e *smolwcpb.ApplyBatchRequest_Entry)) *smolwcpb.ApplyBatchRequest_Entry {
		e := setX(tableT)
		change(e)
		return e
	}
	for _, c := range []struct {
		what string
		last *smolwcpb.ApplyBatchRequest_Entry
		code codes.Code
		text string
	}{
		{"no table", setX(parent + "/tables/none"), codes.NotFound, "entry 2: "},
		{"no name", setX(""), codes.InvalidArgument, "entry 2: "},
		{"no family", wrong(func(e *smolwcpb.ApplyBatchRequest_Entry) { e.Mutations[0].GetSetCell().FamilyName = "g" }), codes.NotFound, `entry 2: column family "g"`},
		{"no key", wrong(func(e *smolwcpb.ApplyBatchRequest_Entry) { e.RowKey = nil }), codes.InvalidArgument, "entry 2: Row keys must be non-empty"},
		{"no change", wrong(func(e *smolwcpb.ApplyBatchRequest_Entry) { e.Mutations = nil }), codes.InvalidArgument, "entry 2: No mutations"},
		{"two names", wrong(func(e *smolwcpb.ApplyBatchRequest_Entry) { e.AuthorizedViewName = viewV }), codes.InvalidArgument, "names both"},
		{"a row outside of the view", wrong(func(e *smolwcpb.ApplyBatchRequest_Entry) {
			e.TableName, e.AuthorizedViewName, e.RowKey = "", viewV, []byte("b")
		}), codes.PermissionDenied, `does not include row "b"`},
		{"too many", wrong(func(e *smolwcpb.ApplyBatchRequest_Entry) { e.Mutations = slices.Repeat(e.Mutations, 100_000) }), codes.InvalidArgument, "it may have up to 100000"},
	} {
		_, err := api.ApplyBatch(r.ctx(), &smolwcpb.ApplyBatchRequest{Entries: []*smolwcpb.ApplyBatchRequest_Entry{setX(tableT), setX(parent + "/tables/u"), c.last}})
		if status.Code(err) != c.code || !strings.Contains(err.Error(), c.text) || written() != 0 {
			t.Errorf("%s: %v, and %d cells; want %v, %q", c.what, err, written(), c.code, c.text)
		}
	}
	_, err := api.ApplyBatch(r.ctx(), &smolwcpb.ApplyBatchRequest{Entries: []*smolwcpb.ApplyBatchRequest_Entry{setX(viewV), setX(parent + "/tables/u")}})
	if err != nil || written() != 2 {
		t.Errorf("a right batch: %v, and %d cells", err, written())
	}
}

// A token needs the right to write every table of a batch.
func TestBatchesAskForTheRightToEachTable(t *testing.T) {
	r, tokens := guarded(t)
	secret := newToken(t, tokens, "writer", time.Time{}, grant(server.Write, "mine"), grant(server.Read, "other"))
	api := smolwcpb.NewBatchesClient(r.conn)
	mine, other := setX(parent+"/tables/mine"), setX(parent+"/tables/other")
	if _, err := api.ApplyBatch(r.with(secret), &smolwcpb.ApplyBatchRequest{Entries: []*smolwcpb.ApplyBatchRequest_Entry{mine}}); err != nil {
		t.Errorf("the token's own table: %v", err)
	}
	_, err := api.ApplyBatch(r.with(secret), &smolwcpb.ApplyBatchRequest{Entries: []*smolwcpb.ApplyBatchRequest_Entry{mine, other}})
	if status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "no right to write table other") {
		t.Errorf("a table that the token may only read: %v", err)
	}
}

// A fake is a server that answers batches with an error, or ends while it has one.
type fake struct {
	adminpb.UnimplementedBigtableTableAdminServer
	smolwcpb.UnimplementedBatchesServer
	answer error
	stop   func()
}

func (f *fake) ListTables(ctx context.Context, _ *adminpb.ListTablesRequest) (*adminpb.ListTablesResponse, error) {
	return &adminpb.ListTablesResponse{}, grpc.SetHeader(ctx, metadata.Pairs("smolwc-types", "1"))
}

func (f *fake) ApplyBatch(ctx context.Context, _ *smolwcpb.ApplyBatchRequest) (*smolwcpb.ApplyBatchResponse, error) {
	if f.stop != nil {
		go f.stop()
		<-ctx.Done()
	}
	if status.Code(f.answer) == codes.FailedPrecondition { // as a standby's
		if err := grpc.SetHeader(ctx, metadata.Pairs("smolwc-leader", "db1:8086")); err != nil {
			return nil, err
		}
	}
	return nil, f.answer
}

// The client says when a batch was surely not written, and when nobody knows.
func TestTheOutcomeOfABatch(t *testing.T) {
	m := write.NewMutation()
	m.Set("f", "x", cells.String("v"))
	for _, c := range []struct {
		what   string
		answer error
		ends   bool
		kind   query.Kind
		text   string
	}{
		{"it says that it is busy", status.Error(codes.Unavailable, "busy"), false, query.KindUnavailable, "apply batch: busy"},
		{"it knows no batches", status.Error(codes.Unimplemented, "unknown service"), false, query.KindFailedPrecondition, "the server has no batches"},
		{"it is a standby", status.Error(codes.FailedPrecondition, "it is a standby"), false, query.KindFailedPrecondition, "apply batch: it is a standby"},
		{"it ends", nil, true, query.KindUnknownOutcome, "apply batch: no answer came, and the batch may have been written: "},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		g, f := grpc.NewServer(), &fake{answer: c.answer}
		if c.ends {
			f.stop = g.Stop
		}
		adminpb.RegisterBigtableTableAdminServer(g, f)
		smolwcpb.RegisterBatchesServer(g, f)
		done := make(chan error)
		go func() { done <- g.Serve(l) }()
		cl, err := client.Dial(l.Addr().String(), client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		err = cl.Apply(t.Context(), write.NewBatch().Add("t", "a", m))
		if query.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), ": :") {
			t.Errorf("%s: %v of the kind %v; want %q of the kind %v", c.what, err, query.KindOf(err), c.text, c.kind)
		}
		_ = cl.Close()
		g.Stop()
		<-done
		if err = cl.Apply(t.Context(), write.NewBatch().Add("t", "a", m)); query.KindOf(err) == query.KindUnknownOutcome {
			t.Errorf("without a connection: %v", err)
		}
	}
}
