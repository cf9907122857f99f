package server_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

// A branch has the tables of the other instances of its database too. The right to all tables
// of the branch does not permit these.
func TestTheRightToABranchIsNoneToOtherInstances(t *testing.T) {
	tokens := server.OpenTokens(t.TempDir())
	r := branchesServed(t, server.Options{Tokens: tokens}, server.BranchOptions{})
	ofBranch := r.with(newToken(t, tokens, "branch", time.Time{}, grant(server.Admin, project+"/b/*")))
	const other = project + "/other/secret"
	r.must(r.db.CreateTable(r.ctx(), schema.Table{Name: other, Families: []schema.Family{{Name: "f"}}}))
	r.must(r.db.CreateTable(r.ctx(), schema.Table{Name: "t", Families: []schema.Family{{Name: "f"}}}))
	r.branch("b")
	const name = "projects/" + project + "/instances/b"
	for text, want := range map[string]codes.Code{
		"why '" + other + "' k": codes.PermissionDenied, "compact '" + other + "'": codes.PermissionDenied, "copy table '" + other + "' to t2": codes.PermissionDenied,
		"why t k": codes.OK, "compact t": codes.OK,
	} {
		_, err := smolwcpb.NewStatementsClient(r.conn).RunStatement(ofBranch, &smolwcpb.RunStatementRequest{InstanceName: name, Text: text})
		wantCode(t, text, err, want)
	}
	for _, from := range []string{other, "projects/" + project + "/instances/other/tables/secret"} {
		_, err := bigtablepb.NewBigtableClient(r.conn).PrepareQuery(ofBranch, &bigtablepb.PrepareQueryRequest{InstanceName: name, Query: "SELECT * FROM `" + from + "`", DataFormat: &bigtablepb.PrepareQueryRequest_ProtoFormat{ProtoFormat: &bigtablepb.ProtoFormat{}}})
		if err == nil {
			t.Errorf("a query of %s is prepared", from)
		}
	}
}

// A drop of a branch never deletes the instance of its name that the database itself has.
func TestADropDeletesNoInstanceOfTheName(t *testing.T) {
	withBranches := branchesServed(t, server.Options{}, server.BranchOptions{})
	without := newRig(t)
	for _, r := range []*rig{withBranches.rig, without} {
		_, err := adminpb.NewBigtableTableAdminClient(r.conn).CreateTable(r.ctx(), &adminpb.CreateTableRequest{Parent: "projects/" + project + "/instances/b", TableId: "t", Table: &adminpb.Table{}})
		r.must(err)
	}
	withBranches.branch("b") // the table hides it
	withBranches.branch(instance)
	for what, r := range map[string]*rig{"with": withBranches.rig, "without": without} {
		c, err := client.Dial(r.addr, client.Options{Instance: parent})
		r.must(err)
		for _, name := range []string{"b", instance, "unknown"} {
			err := c.DropBranch(r.ctx(), name)
			want := map[string]query.Kind{"without": query.KindFailedPrecondition, "with": query.KindNotFound}[what]
			if isBranch := what == "with" && name != "unknown"; isBranch && err != nil || !isBranch && query.KindOf(err) != want {
				t.Errorf("%s branches, the drop of %s: %v", what, name, err)
			}
		}
		r.must(c.Close())
		if _, ok := r.db.LookupTable(project + "/b/t"); !ok {
			t.Errorf("%s branches, the table of the instance is gone", what)
		}
	}
}

// Who must write only into a branch asks first: another instance of the name would be written.
func TestAnInstanceOfTheDatabaseIsNoBranch(t *testing.T) {
	tokens := server.OpenTokens(t.TempDir())
	withBranches := branchesServed(t, server.Options{}, server.BranchOptions{})
	withTokens := branchesServed(t, server.Options{Tokens: tokens}, server.BranchOptions{})
	without := newRig(t)
	for _, r := range []*rig{withBranches.rig, without} {
		for _, in := range []string{"other", "hidden"} {
			r.must(r.db.CreateTable(r.ctx(), schema.Table{Name: project + "/" + in + "/t", Families: []schema.Family{{Name: "f"}}}))
		}
	}
	for _, name := range []string{"b", "hidden", instance} {
		withBranches.branch(name)
	}
	withTokens.branch("b")
	for _, c := range []struct {
		r    *rig
		kind query.Kind
		of   []string
	}{
		{withBranches.rig, query.KindNotFound, []string{"other", "unknown"}},
		{withBranches.rig, query.KindFailedPrecondition, []string{"hidden", instance}},
		{without, query.KindFailedPrecondition, []string{"b", "other", instance, "unknown"}},
	} {
		db, err := client.Dial(c.r.addr, client.Options{Instance: parent})
		c.r.must(err)
		for _, name := range c.of {
			if err := db.CheckBranch(c.r.ctx(), name); query.KindOf(err) != c.kind {
				t.Errorf("%s: %v", name, err)
			}
		}
		if c.r == withBranches.rig {
			c.r.must(db.CheckBranch(c.r.ctx(), "b"))
		}
		c.r.must(db.Close())
	}
	for rights, want := range map[string]codes.Code{project + "/b/*": codes.OK, project + "/other/*": codes.PermissionDenied, "t": codes.PermissionDenied} {
		ctx := withTokens.with(newToken(t, tokens, "agent"+want.String()+rights[:1], time.Time{}, grant(server.Read, rights)))
		_, err := adminpb.NewBigtableInstanceAdminClient(withTokens.conn).GetInstance(ctx, &adminpb.GetInstanceRequest{Name: "projects/" + project + "/instances/b/branch"})
		wantCode(t, rights, err, want)
	}
}

// A call without rights to a branch does not open it: it would take the place of one in use.
func TestCallsWithoutRightsOpenNoBranch(t *testing.T) {
	tokens := server.OpenTokens(t.TempDir())
	r := branchesServed(t, server.Options{Tokens: tokens}, server.BranchOptions{})
	stranger := r.with(newToken(t, tokens, "stranger", time.Time{}, grant(server.Admin, "t"), grant(server.Admin, "u*")))
	r.must(r.db.CreateTable(r.ctx(), schema.Table{Name: "t", Families: []schema.Family{{Name: "f"}}}))
	r.branch("b")
	const name = "projects/" + project + "/instances/b"
	for what, call := range map[string]func() error{
		"list tables": func() error {
			resp, err := adminpb.NewBigtableTableAdminClient(r.conn).ListTables(stranger, &adminpb.ListTablesRequest{Parent: name})
			if len(resp.GetTables()) > 0 {
				t.Errorf("lists %v", resp)
			}
			return err
		},
		"ping": func() error {
			_, err := bigtablepb.NewBigtableClient(r.conn).PingAndWarm(stranger, &bigtablepb.PingAndWarmRequest{Name: name})
			return err
		},
		"statement": func() error {
			_, err := smolwcpb.NewStatementsClient(r.conn).RunStatement(stranger, &smolwcpb.RunStatementRequest{InstanceName: name, Text: "why t k"})
			return err
		},
		"query": func() error {
			_, err := bigtablepb.NewBigtableClient(r.conn).PrepareQuery(stranger, &bigtablepb.PrepareQueryRequest{InstanceName: name, Query: "SELECT * FROM"})
			return err
		},
		"read": func() error {
			s, err := bigtablepb.NewBigtableClient(r.conn).ReadRows(stranger, &bigtablepb.ReadRowsRequest{TableName: name + "/tables/t"})
			if err == nil {
				_, err = s.Recv()
			}
			return err
		},
	} {
		err := call()
		if open := r.openFiles(); len(open) > 0 {
			t.Errorf("%s opened the branch: %v", what, err)
		}
	}
}

// While a drop waits for another process that makes a branch, calls about other branches go on.
func TestADropThatWaitsHoldsNoPlace(t *testing.T) {
	r := branchesServed(t, server.Options{}, server.BranchOptions{Database: query.Options{Memory: 16 << 20}})
	r.table("t", "f")
	r.branch("b")
	r.branch("c")
	creates, create := make(chan struct{}), make(chan struct{})
	created := make(chan error)
	go func() {
		_, err := r.dir.Create(r.ctx(), "slow", func(ctx context.Context, dir string) error {
			close(creates)
			<-create
			return r.db.Checkpoint(ctx, dir)
		})
		created <- err
	}()
	<-creates
	b := r.in("b")
	r.must(r.set(r.ctx(), b, "open"))
	dropping, cancel := context.WithCancel(r.ctx())
	dropped := make(chan error)
	go func() {
		_, err := adminpb.NewBigtableInstanceAdminClient(r.conn).DeleteInstance(dropping, &adminpb.DeleteInstanceRequest{Name: "projects/" + project + "/instances/b"})
		dropped <- err
	}()
	isOpen := func(path string) bool { return strings.HasPrefix(path, filepath.Join(r.dir.Path(), "b")+"/") }
	for slices.ContainsFunc(r.openFiles(), isOpen) && t.Context().Err() == nil {
		time.Sleep(time.Millisecond)
	}
	if got := r.get(r.ctx(), r.in("c")); got != "(none)" {
		t.Errorf("another branch has %s", got)
	}
	cancel()
	wantCode(t, "a drop that was cancelled", <-dropped, codes.Canceled)
	if got := r.get(r.ctx(), b); got != "k f:q@1000=open" {
		t.Errorf("the branch has %s", got)
	}
	close(create)
	r.must(<-created)
}
