package server_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	admin "cloud.google.com/go/bigtable/admin/apiv2"
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
)

// gapicAdmin is Google's client of the calls that bigtable.AdminClient lacks.
func (r *rig) gapicAdmin() *admin.BigtableTableAdminClient {
	r.t.Helper()
	c, err := admin.NewBigtableTableAdminClient(r.ctx(), r.options()...)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (r *rig) undelete(table string) (*adminpb.Table, error) {
	op, err := r.gapicAdmin().UndeleteTable(r.ctx(), &adminpb.UndeleteTableRequest{Name: parent + "/tables/" + table})
	if err != nil {
		return nil, err
	}
	m, err := op.Wait(r.ctx())
	if about, bad := op.Metadata(); bad != nil || about.GetName() != parent+"/tables/"+table || about.GetStartTime() == nil || about.GetEndTime() == nil {
		r.t.Errorf("the operation's metadata is %v, %v", about, bad)
	}
	return m, err
}

// A deleted table comes back as it was: cells, families, settings, views.
func TestUndeleteTable(t *testing.T) {
	r := newRig(t)
	a := r.admin()
	r.must(a.CreateTableFromConf(r.ctx(), &bigtable.TableConf{
		TableID: "fleet", SplitKeys: []string{"m"}, ChangeStreamRetention: 48 * time.Hour,
		ColumnFamilies: map[string]bigtable.Family{"meta": {GCPolicy: bigtable.MaxVersionsPolicy(3)}, "n": {ValueType: bigtable.Int64Type{}}},
	}))
	r.must(a.CreateAuthorizedView(r.ctx(), &bigtable.AuthorizedViewConf{
		TableID: "fleet", AuthorizedViewID: "v", AuthorizedView: &bigtable.SubsetViewConf{
			RowPrefixes: [][]byte{[]byte("plane#")}, FamilySubsets: map[string]bigtable.FamilySubset{"meta": {QualifierPrefixes: [][]byte{{}}}},
		},
	}))
	set := bigtable.NewMutation()
	set.Set("meta", "model", 1000, []byte("757"))
	r.must(r.client().Open("fleet").Apply(r.ctx(), "plane#TF-FIR", set))
	get := func() *adminpb.Table {
		m, err := r.gapicAdmin().GetTable(r.ctx(), &adminpb.GetTableRequest{Name: parent + "/tables/fleet", View: adminpb.Table_FULL})
		r.must(err)
		return m
	}
	before := get()

	_, err := r.undelete("fleet")
	refused(t, "a table that is there", err, codes.AlreadyExists, "already exists")
	r.must(a.DeleteTable(r.ctx(), "fleet"))
	if tables, err := a.Tables(r.ctx()); err != nil || len(tables) != 0 {
		t.Errorf("tables %v, %v", tables, err)
	}
	_, err = r.undelete("other")
	refused(t, "a table that never was", err, codes.NotFound, "no deleted table")
	_, err = r.undelete("fleet")
	r.must(err)
	if after := get(); !proto.Equal(before, after) {
		t.Errorf("the table is\n%v\nand was\n%v", after, before)
	}
	row, err := r.client().OpenAuthorizedView("fleet", "v").ReadRow(r.ctx(), "plane#TF-FIR")
	if err != nil || len(row["meta"]) != 1 || string(row["meta"][0].Value) != "757" {
		t.Errorf("its row is %v, %v", row, err)
	}

	// A table of the name that was created meanwhile stays, and can be deleted itself.
	r.must(a.DeleteTable(r.ctx(), "fleet"))
	r.table("fleet", "new")
	_, err = r.undelete("fleet")
	refused(t, "beside a new table", err, codes.AlreadyExists, "beside it")
	r.must(a.DeleteTable(r.ctx(), "fleet"))
	m, err := r.undelete("fleet")
	if r.must(err); m.GetColumnFamilies()["new"] == nil {
		t.Errorf("the table that was deleted last is %v", m)
	}
}

// After 7 days by the database's clock a deleted table is gone, and a deleted instance
// takes its tables along.
func TestDeletedTablesEnd(t *testing.T) {
	r := newBackupRig(t, server.Options{})
	for _, name := range []string{"old", "other"} {
		r.table(name, "f")
		r.must(r.rig.admin().DeleteTable(r.ctx(), name))
	}
	r.late.Add(int64(7*24*time.Hour - time.Minute))
	_, err := r.undelete("other")
	r.must(err)
	r.late.Add(int64(2 * time.Minute))
	_, err = r.undelete("old")
	refused(t, "after its time", err, codes.NotFound, "no deleted table")
	r.table("young", "f")
	r.must(r.rig.admin().DeleteTable(r.ctx(), "young"))
	r.must(r.instanceAdmin().DeleteInstance(r.ctx(), instance))
	_, err = r.undelete("young")
	refused(t, "of a deleted instance", err, codes.NotFound, "no deleted table")
	s, err := r.db.Stats(r.ctx())
	if r.must(err); len(s.Deleted) != 0 {
		t.Errorf("deleted tables are left: %v", s.Deleted)
	}
}

// A server that is killed has the deleted table again.
func TestDeletedTablesOutliveTheServer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	for i := range 2 {
		db, err := query.Open(dir, query.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := serve(t, db, server.Options{})
		if i == 0 {
			r.table("t", "f")
			r.must(r.admin().DeleteTable(r.ctx(), "t"))
		} else if _, err := r.undelete("t"); err != nil {
			t.Error(err)
		}
		r.stop()
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestResetDropsDeletedTables(t *testing.T) {
	s := server.NewTest(t, fleetTable())
	c, err := bigtable.NewAdminClient(t.Context(), s.Project, s.Instance, withConn(s.Conn))
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(c.CreateTable(t.Context(), "t"), c.DeleteTable(t.Context(), "t"), c.DeleteTable(t.Context(), "fleet"), s.Reset(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	stats, err := s.DB.Stats(t.Context())
	if err != nil || len(stats.Deleted) != 0 {
		t.Errorf("deleted tables are left: %v, %v", stats.Deleted, err)
	}
}

// smolwc's own client also lists deleted tables, and removes them before their time.
func TestTheClientSeesDeletedTables(t *testing.T) {
	r := newRig(t)
	c, err := client.Dial(r.addr, client.Options{Instance: parent})
	r.must(err)
	defer c.Close()
	wantDeleted := func(want ...string) {
		t.Helper()
		all, err := c.DeletedTables(r.ctx())
		r.must(err)
		var got []string
		for _, d := range all {
			if d.Until.Time().Sub(d.Deleted.Time()) != 7*24*time.Hour {
				t.Errorf("deleted at %v, kept until %v", d.Deleted, d.Until)
			}
			got = append(got, d.Table)
		}
		if !slices.Equal(got, want) {
			t.Errorf("deleted tables %q, want %q", got, want)
		}
	}
	for _, name := range []string{"a", "b", "c"} {
		r.table(name, "f")
	}
	r.must(errors.Join(c.DeleteTable(r.ctx(), "a"), c.DeleteTable(r.ctx(), "b"), c.DropTable(r.ctx(), "c")))
	wantDeleted("a", "b")
	r.table("a", "new")
	r.must(c.PurgeTable(r.ctx(), "a"))
	wantDeleted("b")
	if m, err := r.admin().TableInfo(r.ctx(), "a"); err != nil || !slices.Equal(m.Families, []string{"new"}) {
		t.Errorf("the table of the name is %+v, %v", m, err)
	}
	r.must(c.UndeleteTable(r.ctx(), "b"))
	wantDeleted()
}
