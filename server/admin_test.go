package server_test

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"cloud.google.com/go/iam/apiv1/iampb"
	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

func TestTables(t *testing.T) {
	r := newRig(t)
	admin := r.admin()
	r.must(admin.CreateTableFromConf(r.ctx(), &bigtable.TableConf{
		TableID:   "fleet",
		SplitKeys: []string{"m", "d"},
		ColumnFamilies: map[string]bigtable.Family{
			"meta": {GCPolicy: bigtable.MaxVersionsPolicy(3)},
			"loc": {GCPolicy: bigtable.UnionPolicy(bigtable.MaxVersionsPolicy(1),
				bigtable.IntersectionPolicy(bigtable.MaxAgePolicy(24*time.Hour), bigtable.MaxVersionsPolicy(5)))},
			"sum": {ValueType: bigtable.AggregateType{Input: bigtable.Int64Type{}, Aggregator: bigtable.SumAggregator{}}},
		},
		DeletionProtection:    bigtable.Protected,
		ChangeStreamRetention: 48 * time.Hour,
	}))
	info, err := admin.TableInfo(r.ctx(), "fleet")
	r.must(err)
	if info.DeletionProtection != bigtable.Protected || info.ChangeStreamRetention != 48*time.Hour || len(info.Families) != 3 {
		t.Errorf("info: %+v", info)
	}
	for _, f := range info.FamilyInfos {
		want := map[string]string{"meta": "versions() > 3", "loc": "(versions() > 1 || (age() > 1d && versions() > 5))", "sum": "<never>"}[f.Name]
		if f.GCPolicy != want {
			t.Errorf("family %s has the policy %q, want %q", f.Name, f.GCPolicy, want)
		}
	}
	stored, _ := r.db.LookupTable("proj/inst/fleet")
	loc, _ := stored.Family("loc")
	if got := loc.GC.String(); !strings.Contains(got, "any") || !strings.Contains(got, "all") {
		t.Errorf("rule in the schema: %s", got)
	}

	refused(t, "delete of a protected table", admin.DeleteTable(r.ctx(), "fleet"), codes.FailedPrecondition, "protected")
	refused(t, "drop of its family", admin.DeleteColumnFamily(r.ctx(), "fleet", "meta"), codes.FailedPrecondition, "protected")
	r.must(admin.UpdateTableWithDeletionProtection(r.ctx(), "fleet", bigtable.Unprotected))
	r.must(admin.UpdateTableDisableChangeStream(r.ctx(), "fleet"))
	r.must(admin.SetGCPolicy(r.ctx(), "fleet", "meta", bigtable.MaxAgePolicy(time.Hour)))
	r.must(admin.DeleteColumnFamily(r.ctx(), "fleet", "loc"))
	info, err = admin.TableInfo(r.ctx(), "fleet")
	r.must(err)
	if info.DeletionProtection != bigtable.Unprotected || info.ChangeStreamRetention != nil && info.ChangeStreamRetention != time.Duration(0) || len(info.Families) != 2 {
		t.Errorf("info after the updates: %+v", info)
	}

	keys := r.samples(parent + "/tables/fleet")
	if fmt.Sprint(keys) != "[d m ]" {
		t.Errorf("samples of a table created with splits: %q", keys)
	}
	r.must(admin.DeleteTable(r.ctx(), "fleet"))
	if _, err := admin.TableInfo(r.ctx(), "fleet"); err == nil {
		t.Error("a deleted table has information")
	}
	// The next table of this name has none of these settings.
	r.must(admin.CreateTable(r.ctx(), "fleet"))
	info, err = admin.TableInfo(r.ctx(), "fleet")
	r.must(err)
	if info.DeletionProtection == bigtable.Protected || len(info.Families) != 0 {
		t.Errorf("a new table: %+v", info)
	}
}

func TestTablesAreListedInPages(t *testing.T) {
	r := newRig(t)
	admin := r.admin()
	var want []string
	for i := range 7 {
		want = append(want, fmt.Sprintf("t%d", i))
		r.must(admin.CreateTable(r.ctx(), want[i]))
	}
	got, err := admin.Tables(r.ctx())
	r.must(err)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("tables %v", got)
	}
	raw := adminpb.NewBigtableTableAdminClient(r.conn)
	var paged []string
	token := ""
	for {
		resp, err := raw.ListTables(r.ctx(), &adminpb.ListTablesRequest{Parent: parent, PageSize: 3, PageToken: token, View: adminpb.Table_FULL})
		r.must(err)
		if len(resp.GetTables()) > 3 {
			t.Errorf("a page of %d", len(resp.GetTables()))
		}
		for _, m := range resp.GetTables() {
			paged = append(paged, strings.TrimPrefix(m.GetName(), parent+"/tables/"))
			if m.GetGranularity() != adminpb.Table_MILLIS || len(m.GetClusterStates()) != 1 {
				t.Errorf("the full view: %v", m)
			}
		}
		if token = resp.GetNextPageToken(); token == "" {
			break
		}
	}
	if !slices.Equal(paged, want) {
		t.Errorf("pages %v", paged)
	}
	_, err = raw.ListTables(r.ctx(), &adminpb.ListTablesRequest{Parent: parent, PageToken: "%"})
	refused(t, "page token", err, codes.InvalidArgument, "page_token")
	_, err = raw.ListTables(r.ctx(), &adminpb.ListTablesRequest{Parent: parent, PageSize: -1})
	refused(t, "page size", err, codes.InvalidArgument, "page_size")
}

func TestDropRowRange(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f", "g")
	for _, k := range []string{"a", "ab", "b"} {
		r.set(tab, k, "f:x=1", "g:x=1")
	}
	r.must(r.admin().DropRowRange(r.ctx(), "t", "a"))
	if got := r.rows(tab, nil); got != "b f:x@1000=1 g:x@1000=1" {
		t.Errorf("rows: %s", got)
	}
	r.must(r.admin().DropAllRows(r.ctx(), "t"))
	if got := r.rows(tab, nil); got != "" {
		t.Errorf("rows: %s", got)
	}
	_, err := adminpb.NewBigtableTableAdminClient(r.conn).DropRowRange(r.ctx(), &adminpb.DropRowRangeRequest{Name: tableT})
	refused(t, "no target", err, codes.InvalidArgument, "row_key_prefix")
}

func TestConsistency(t *testing.T) {
	r := newRig(t)
	r.table("t", "f")
	r.must(r.admin().WaitForReplication(r.ctx(), "t"))
	_, err := adminpb.NewBigtableTableAdminClient(r.conn).CheckConsistency(r.ctx(), &adminpb.CheckConsistencyRequest{Name: tableT, ConsistencyToken: "x"})
	refused(t, "token", err, codes.InvalidArgument, "not valid")
}

// samples are the sample row keys of a table; the official client hides the last one.
func (r *rig) samples(table string) []string {
	r.t.Helper()
	stream, err := bigtablepb.NewBigtableClient(r.conn).SampleRowKeys(r.ctx(), &bigtablepb.SampleRowKeysRequest{TableName: table})
	r.must(err)
	var keys []string
	for offset := int64(0); ; {
		m, err := stream.Recv()
		if err == io.EOF {
			return keys
		}
		r.must(err)
		if m.GetOffsetBytes() < offset {
			r.t.Errorf("offset %d after %d", m.GetOffsetBytes(), offset)
		}
		offset = m.GetOffsetBytes()
		keys = append(keys, string(m.GetRowKey()))
	}
}

func TestSampleRowKeysOfSmallTables(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f")
	keys := r.samples(tableT)
	if len(keys) != 1 || keys[0] != "" {
		t.Errorf("samples of an empty table: %q", keys)
	}
	for i := range 10 {
		r.set(tab, fmt.Sprintf("k%d", i), "f:x=1")
	}
	if keys = r.samples(tableT); fmt.Sprint(keys) != "[k1 k2 k3 k4 k5 k6 k7 k8 k9 ]" {
		t.Errorf("samples: %q", keys)
	}
}

// A small table that was created with split keys is split exactly at these keys, as
// tests of clients expect, independently of its rows.
func TestSampleRowKeysOfASplitTable(t *testing.T) {
	r := newRig(t)
	r.must(r.admin().CreateTableFromConf(r.ctx(), &bigtable.TableConf{TableID: "t", Families: map[string]bigtable.GCPolicy{"f": bigtable.NoGcPolicy()}, SplitKeys: []string{"b", "y", "k5"}}))
	tab := r.client().Open("t")
	for i := range 10 {
		r.set(tab, fmt.Sprintf("k%d", i), "f:x=12")
	}
	stream, err := r.data().SampleRowKeys(r.ctx(), &bigtablepb.SampleRowKeysRequest{TableName: tableT})
	r.must(err)
	var got []string
	for {
		m, err := stream.Recv()
		if err == io.EOF {
			break
		}
		r.must(err)
		got = append(got, fmt.Sprintf("%s@%d", m.GetRowKey(), m.GetOffsetBytes()))
	}
	if want := "[b@0 k5@10 y@20 @20]"; fmt.Sprint(got) != want {
		t.Errorf("samples %v, want %v", got, want)
	}
}

// The offsets in a small table are the bytes of the values before a row, and the
// last row is a sample, as in the emulator.
func TestSampleRowKeysAreExactInSmallTables(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f")
	var keys []string
	var ms []*bigtable.Mutation
	for i := range 1000 {
		m := bigtable.NewMutation()
		m.Set("f", "q", 1000, []byte("value"))
		keys, ms = append(keys, fmt.Sprintf("row%03d", i)), append(ms, m)
	}
	_, err := tab.ApplyBulk(r.ctx(), keys, ms)
	r.must(err)
	stream, err := bigtablepb.NewBigtableClient(r.conn).SampleRowKeys(r.ctx(), &bigtablepb.SampleRowKeysRequest{TableName: tableT})
	r.must(err)
	last := ""
	for n := 0; ; n++ {
		m, err := stream.Recv()
		if err == io.EOF {
			if n < 10 || last != "" {
				t.Errorf("%d samples, the last one %q", n, last)
			}
			return
		}
		r.must(err)
		want := int64(5000)
		if key := string(m.GetRowKey()); key != "" {
			i, err := strconv.Atoi(strings.TrimPrefix(key, "row"))
			r.must(err)
			want = int64(i) * 5
		} else if last != "row999" {
			t.Errorf("the last row of the samples is %q", last)
		}
		if m.GetOffsetBytes() != want {
			t.Errorf("%q is at %d, want %d", m.GetRowKey(), m.GetOffsetBytes(), want)
		}
		last = string(m.GetRowKey())
	}
}

// Tables of different instances are different tables; tables of the server's own
// instance have plain names.
func TestInstancesAreNamespaces(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r := serve(t, db, server.Options{})
	admin := adminpb.NewBigtableTableAdminClient(r.conn)
	data := bigtablepb.NewBigtableClient(r.conn)
	parents := []string{server.DefaultInstance, "projects/p/instances/i", "projects/example.com:p/instances/i"}
	for _, p := range parents {
		_, err := admin.CreateTable(r.ctx(), &adminpb.CreateTableRequest{Parent: p, TableId: "t",
			Table: &adminpb.Table{ColumnFamilies: map[string]*adminpb.ColumnFamily{"f": {}}}})
		r.must(err)
		_, err = data.MutateRow(r.ctx(), &bigtablepb.MutateRowRequest{TableName: p + "/tables/t", RowKey: []byte("k"), Mutations: []*bigtablepb.Mutation{setCell("f", "x", 1000, p)}})
		r.must(err)
	}
	for i, stored := range []string{"t", "p/i/t", "example.com:p/i/t"} {
		row, err := db.Table(stored).ReadRow(r.ctx(), "k")
		r.must(err)
		if b, _ := row.Bytes("f", "x"); string(b) != parents[i] {
			t.Errorf("table %s has %q", stored, b)
		}
		resp, err := admin.ListTables(r.ctx(), &adminpb.ListTablesRequest{Parent: parents[i]})
		r.must(err)
		if len(resp.GetTables()) != 1 || resp.GetTables()[0].GetName() != parents[i]+"/tables/t" {
			t.Errorf("tables of %s: %v", parents[i], resp.GetTables())
		}
	}
	if _, err := server.New(db, server.Options{Instance: "projects/p/instances/i"}); err == nil || !strings.Contains(err.Error(), "p/i/t") {
		t.Errorf("an instance that has tables of its own became the database's: %v", err)
	}
	if _, err := server.New(db, server.Options{Instance: "p/i"}); err == nil {
		t.Error("an instance of a wrong name")
	}
	_, err = admin.CreateTable(r.ctx(), &adminpb.CreateTableRequest{Parent: "projects/a b/instances/i", TableId: "t"})
	refused(t, "a strange project", err, codes.InvalidArgument, "a b")
}

// Ids that cannot be part of a name are refused in every request.
func TestIdsOfClustersAndProfilesAreChecked(t *testing.T) {
	r := newRig(t)
	instances := adminpb.NewBigtableInstanceAdminClient(r.conn)
	for _, id := range []string{"", "-", "a/b", "a b", strings.Repeat("c", 51)} {
		_, err := instances.CreateInstance(r.ctx(), &adminpb.CreateInstanceRequest{Parent: "projects/p", InstanceId: "i", Instance: &adminpb.Instance{},
			Clusters: map[string]*adminpb.Cluster{id: {}}})
		refused(t, "an instance with cluster "+id, err, codes.InvalidArgument, "cluster id")
		_, err = instances.CreateCluster(r.ctx(), &adminpb.CreateClusterRequest{Parent: parent, ClusterId: id, Cluster: &adminpb.Cluster{}})
		refused(t, "cluster "+id, err, codes.InvalidArgument, "cluster id")
		_, err = instances.CreateAppProfile(r.ctx(), &adminpb.CreateAppProfileRequest{Parent: parent, AppProfileId: id, AppProfile: &adminpb.AppProfile{}})
		refused(t, "app profile "+id, err, codes.InvalidArgument, "app profile id")
	}
	_, err := instances.GetInstance(r.ctx(), &adminpb.GetInstanceRequest{Name: "projects/p/instances/i"})
	refused(t, "the instance", err, codes.NotFound, "not found")
}

func TestUnknownViewOfATable(t *testing.T) {
	r := newRig(t)
	r.table("t")
	_, err := adminpb.NewBigtableTableAdminClient(r.conn).GetTable(r.ctx(), &adminpb.GetTableRequest{Name: tableT, View: 99})
	refused(t, "view 99", err, codes.InvalidArgument, "unknown view 99")
	_, err = adminpb.NewBigtableTableAdminClient(r.conn).ListTables(r.ctx(), &adminpb.ListTablesRequest{Parent: parent, View: 99})
	refused(t, "a list of view 99", err, codes.InvalidArgument, "unknown view 99")
}

// The settings of tables and instances are kept over a restart.
func TestAdminStateIsKept(t *testing.T) {
	dir := t.TempDir()
	open := func() *query.DB {
		db, err := query.Open(dir, query.Options{Durability: query.DurabilityAsync})
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	db := open()
	r := serve(t, db, server.Options{})
	r.must(r.admin().CreateTableFromConf(r.ctx(), &bigtable.TableConf{TableID: "t", DeletionProtection: bigtable.Protected, SplitKeys: []string{"k"}}))
	r.must(r.instanceAdmin().CreateInstance(r.ctx(), &bigtable.InstanceConf{InstanceId: "made", DisplayName: "Made", ClusterId: "c", Zone: "z", NumNodes: 3}))
	r.stop()
	r.must(db.Close())

	db = open()
	r = serve(t, db, server.Options{})
	info, err := r.admin().TableInfo(r.ctx(), "t")
	r.must(err)
	if info.DeletionProtection != bigtable.Protected {
		t.Error("the table has lost its protection")
	}
	if keys := r.samples(tableT); fmt.Sprint(keys) != "[k ]" {
		t.Errorf("samples %q", keys)
	}
	if _, err := r.instanceAdmin().GetAppProfile(r.ctx(), "made", "default"); err != nil {
		t.Error(err)
	}
	if _, err := r.instanceAdmin().GetAppProfile(r.ctx(), instance, "default"); err != nil {
		t.Error(err)
	}
	made, err := r.instanceAdmin().InstanceInfo(r.ctx(), "made")
	r.must(err)
	if made.DisplayName != "Made" {
		t.Errorf("instance: %+v", made)
	}
	c, err := r.instanceAdmin().GetCluster(r.ctx(), "made", "c")
	r.must(err)
	if c.ServeNodes != 3 {
		t.Errorf("cluster: %+v", c)
	}
	r.stop()
	r.must(db.Close())
}

// A table that the shell drops and creates again has no settings of the old one.
func TestNotesGoWithTheirTable(t *testing.T) {
	r := newRig(t)
	r.must(r.admin().CreateTableFromConf(r.ctx(), &bigtable.TableConf{TableID: "t", DeletionProtection: bigtable.Protected}))
	r.stop()
	r.must(r.db.DropTable(r.ctx(), "proj/inst/t"))
	r.must(r.db.CreateTable(r.ctx(), schema.Table{Name: "proj/inst/t"}))
	again := serve(t, r.db, server.Options{})
	r.must(again.admin().DeleteTable(r.ctx(), "t"))
}

// An invalid name is refused in Bigtable's words.
func TestDeleteInstanceRefusesOtherNames(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{"", "/", "projects/foo", "projects/foo/instances/", "projects/foo/instances/a10/bar"} {
		_, err := adminpb.NewBigtableInstanceAdminClient(r.conn).DeleteInstance(r.ctx(), &adminpb.DeleteInstanceRequest{Name: name})
		refused(t, name, err, codes.InvalidArgument, "Error in field 'instance_name' : Invalid name for collection instances : Should match "+
			`^projects/[a-z][a-z0-9\\-]+[a-z0-9]/instances/[a-z][a-z0-9\\-]+[a-z0-9]$ but found '`+name+"'")
	}
}

func TestInstances(t *testing.T) {
	r := newRig(t)
	admin := r.instanceAdmin()
	r.must(admin.CreateInstance(r.ctx(), &bigtable.InstanceConf{InstanceId: "i1", DisplayName: "One", ClusterId: "c1", Zone: "us-a", NumNodes: 1, InstanceType: bigtable.PRODUCTION, Labels: map[string]string{"a": "b"}}))
	refused(t, "again", admin.CreateInstance(r.ctx(), &bigtable.InstanceConf{InstanceId: "i1", DisplayName: "One", ClusterId: "c1", Zone: "us-a", NumNodes: 1}), codes.AlreadyExists, "already exists")
	r.must(admin.UpdateInstanceWithClusters(r.ctx(), &bigtable.InstanceWithClustersConfig{InstanceID: "i1", DisplayName: "Uno",
		Clusters: []bigtable.ClusterConfig{{InstanceID: "i1", ClusterID: "c1", NumNodes: 5}}}))
	info, err := admin.InstanceInfo(r.ctx(), "i1")
	r.must(err)
	if info.DisplayName != "Uno" || info.InstanceState != bigtable.Ready {
		t.Errorf("instance: %+v", info)
	}
	r.must(admin.CreateCluster(r.ctx(), &bigtable.ClusterConfig{InstanceID: "i1", ClusterID: "c2", Zone: "us-b", NumNodes: 2}))
	clusters, err := admin.Clusters(r.ctx(), "i1")
	r.must(err)
	if len(clusters) != 2 || clusters[0].ServeNodes != 5 || clusters[1].Name != "c2" {
		t.Errorf("clusters: %+v %+v", clusters[0], clusters)
	}
	r.must(admin.UpdateCluster(r.ctx(), "i1", "c2", 7))
	r.must(admin.DeleteCluster(r.ctx(), "i1", "c2"))
	refused(t, "the last cluster", admin.DeleteCluster(r.ctx(), "i1", "c1"), codes.FailedPrecondition, "last")

	_, err = admin.CreateAppProfile(r.ctx(), bigtable.ProfileConf{InstanceID: "i1", ProfileID: "p", RoutingConfig: &bigtable.SingleClusterRoutingConfig{ClusterID: "c1"}, Description: "x"})
	r.must(err)
	r.must(admin.UpdateAppProfile(r.ctx(), "i1", "p", bigtable.ProfileAttrsToUpdate{Description: "y"}))
	p, err := admin.GetAppProfile(r.ctx(), "i1", "p")
	r.must(err)
	if p.GetDescription() != "y" || p.GetSingleClusterRouting().GetClusterId() != "c1" {
		t.Errorf("app profile: %v", p)
	}
	r.must(admin.DeleteAppProfile(r.ctx(), "i1", "p"))

	policy := &iampb.Policy{Version: 1, Bindings: []*iampb.Binding{{Role: "r", Members: []string{"m"}}}}
	raw := adminpb.NewBigtableInstanceAdminClient(r.conn)
	name := "projects/proj/instances/i1"
	_, err = raw.SetIamPolicy(r.ctx(), &iampb.SetIamPolicyRequest{Resource: name, Policy: policy})
	r.must(err)
	got, err := raw.GetIamPolicy(r.ctx(), &iampb.GetIamPolicyRequest{Resource: name})
	r.must(err)
	if len(got.GetBindings()) != 1 {
		t.Errorf("policy: %v", got)
	}
	perms, err := admin.InstanceIAM("i1").TestPermissions(r.ctx(), []string{"a", "b"})
	if err != nil || len(perms) != 2 {
		t.Errorf("permissions %v, %v", perms, err)
	}

	// Any instance name works: its first table creates the instance.
	_, err = admin.InstanceInfo(r.ctx(), instance)
	refused(t, "an instance that nobody named", err, codes.NotFound, "not found")
	r.table("t", "f")
	_, err = admin.InstanceInfo(r.ctx(), instance)
	r.must(err)
	list, err := admin.Instances(r.ctx())
	r.must(err)
	if len(list) != 2 {
		t.Errorf("%d instances", len(list))
	}
	r.must(admin.DeleteInstance(r.ctx(), instance))
	if _, ok := r.db.LookupTable("proj/inst/t"); ok {
		t.Error("the tables of a deleted instance are there")
	}
	_, err = raw.DeleteInstance(r.ctx(), &adminpb.DeleteInstanceRequest{Name: server.DefaultInstance})
	refused(t, "the database's own instance", err, codes.FailedPrecondition, "own")
}

func TestOperationsAreRemembered(t *testing.T) {
	r := newRig(t)
	r.table("t", "f")
	op, err := adminpb.NewBigtableTableAdminClient(r.conn).UpdateTable(r.ctx(), &adminpb.UpdateTableRequest{
		Table: &adminpb.Table{Name: tableT, DeletionProtection: true}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"deletion_protection"}}})
	r.must(err)
	var table adminpb.Table
	if !op.GetDone() || op.GetResponse().UnmarshalTo(&table) != nil || !table.GetDeletionProtection() {
		t.Errorf("operation: %v", op)
	}
	ops := longrunningpb.NewOperationsClient(r.conn)
	again, err := ops.GetOperation(r.ctx(), &longrunningpb.GetOperationRequest{Name: op.GetName()})
	r.must(err)
	if !again.GetDone() {
		t.Errorf("operation: %v", again)
	}
	list, err := ops.ListOperations(r.ctx(), &longrunningpb.ListOperationsRequest{Name: "operations/" + parent})
	if err != nil || len(list.GetOperations()) != 1 {
		t.Errorf("operations: %v, %v", list, err)
	}
	_, err = ops.DeleteOperation(r.ctx(), &longrunningpb.DeleteOperationRequest{Name: op.GetName()})
	r.must(err)
	_, err = ops.GetOperation(r.ctx(), &longrunningpb.GetOperationRequest{Name: op.GetName()})
	refused(t, "a deleted operation", err, codes.NotFound, "not found")
}
