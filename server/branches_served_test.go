package server_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/branch"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
)

// A branchRig is a server of a database with its branches.
type branchRig struct {
	*rig
	dir    branch.Dir
	server *server.Server
}

func branchesServed(t *testing.T, o server.Options, b server.BranchOptions) branchRig {
	t.Helper()
	parentDir, err := os.MkdirTemp("/dev/shm", "smolwc-branches") // branches sync often
	if err != nil {
		parentDir = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(parentDir) })
	db, err := query.Open(filepath.Join(parentDir, "data"), query.Options{Memory: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if b.Dir, err = branch.Of(db.Dir()); err != nil {
		t.Fatal(err)
	}
	o.Instance, o.Branches = parent, &b
	served, s := serveToo(t, db, o)
	return branchRig{served, b.Dir, s}
}

func (r *branchRig) branch(name string) {
	r.t.Helper()
	_, err := r.dir.Create(r.ctx(), name, r.db.Checkpoint)
	r.must(err)
}

// in is a client of a branch.
func (r *branchRig) in(name string) *bigtable.Client {
	r.t.Helper()
	c, err := bigtable.NewClientWithConfig(r.ctx(), project, name, bigtable.ClientConfig{MetricsProvider: bigtable.NoopMetricsProvider{}}, r.options()...)
	r.must(err)
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (r *branchRig) set(ctx context.Context, c *bigtable.Client, value string) error {
	m := bigtable.NewMutation()
	m.Set("f", "q", 1000, []byte(value))
	return c.Open("t").Apply(ctx, "k", m)
}

func (r *branchRig) get(ctx context.Context, c *bigtable.Client) string {
	row, err := c.Open("t").ReadRow(ctx, "k")
	if err != nil {
		return status.Code(err).String()
	}
	return show(row)
}

// descriptors are those of the process, by the paths of their files. Without /proc, where Linux
// lists them, the test is skipped.
func (r *branchRig) descriptors() (paths []string) {
	const dir = "/proc/self/fd/"
	entries, err := os.ReadDir(dir)
	if err != nil {
		r.t.Skip(err)
	}
	for _, e := range entries {
		path, _ := os.Readlink(dir + e.Name()) // the one that lists them is closed
		paths = append(paths, path)
	}
	return paths
}

// openFiles are the files in the directory of the branches that the process has open.
func (r *branchRig) openFiles() []string {
	return slices.DeleteFunc(r.descriptors(), func(path string) bool { return !strings.HasPrefix(path, r.dir.Path()) })
}

func (r *branchRig) instances() (names []string) {
	list, err := adminpb.NewBigtableInstanceAdminClient(r.conn).ListInstances(r.ctx(), &adminpb.ListInstancesRequest{Parent: "projects/" + project})
	r.must(err)
	for _, in := range list.GetInstances() {
		names = append(names, strings.TrimPrefix(in.GetName(), "projects/"+project+"/instances/"))
	}
	return names
}

// A branch is an instance with the tables of the database: it is written, queried, merged and
// deleted through the server.
func TestABranchIsAnInstance(t *testing.T) {
	r := branchesServed(t, server.Options{}, server.BranchOptions{})
	r.table("t", "f")
	own := r.client()
	r.must(r.set(r.ctx(), own, "before"))
	r.branch("b")
	if got := r.instances(); !slices.Equal(got, []string{instance, "b"}) {
		t.Errorf("the instances are %v", got)
	}
	if open := r.openFiles(); len(open) > 0 {
		t.Errorf("before any call about the branch these are open: %v", open)
	}
	b := r.in("b")
	r.must(r.set(r.ctx(), b, "in the branch"))
	var keys []string
	r.must(b.Open("t").ReadRows(r.ctx(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool { keys = append(keys, row.Key()); return true }))
	if got, rows := r.get(r.ctx(), own), r.get(r.ctx(), b); got != "k f:q@1000=before" || rows != "k f:q@1000=in the branch" || len(keys) != 1 {
		t.Errorf("the database has %s, the branch %s", got, rows)
	}
	got, err := r.query(b, "SELECT CAST(f['q'] AS STRING) FROM t", nil, nil)
	r.must(err)
	if got != "in the branch" {
		t.Errorf("the query gives %q", got)
	}
	admin, err := bigtable.NewAdminClient(r.ctx(), project, "b", r.options()...)
	r.must(err)
	r.must(admin.CreateTable(r.ctx(), "new"))
	if _, ok := r.db.LookupTable("new"); ok || len(r.db.Schema().Tables) != 1 {
		t.Error("the table of the branch is in the database")
	}
	merge := func() *smolwcpb.MergeBranchResponse {
		resp, err := smolwcpb.NewDatabaseAdminClient(r.conn).MergeBranch(r.ctx(), &smolwcpb.MergeBranchRequest{Branch: "b"})
		r.must(err)
		return resp
	}
	if m := merge(); m.GetCells() != 1 || m.GetCommits() != 1 || len(m.GetCreated()) != 1 {
		t.Errorf("merged: %v", m)
	}
	r.must(r.set(r.ctx(), own, "ours"))
	r.must(r.set(r.ctx(), b, "theirs"))
	if m := merge(); m.GetConflicts() != 1 || m.GetCommits() != 0 || string(m.GetFirst()[0].GetRow()) != "k" {
		t.Errorf("merged with a conflict: %v", m)
	}
	if got := r.get(r.ctx(), own); got != "k f:q@1000=ours" {
		t.Errorf("the database has %s", got)
	}
	instances := adminpb.NewBigtableInstanceAdminClient(r.conn)
	_, err = instances.CreateInstance(r.ctx(), &adminpb.CreateInstanceRequest{Parent: "projects/" + project, InstanceId: "b", Instance: &adminpb.Instance{}})
	wantCode(t, "an instance with the name of a branch", err, codes.AlreadyExists)
	_, err = instances.DeleteInstance(r.ctx(), &adminpb.DeleteInstanceRequest{Name: "projects/" + project + "/instances/b"})
	r.must(err)
	if got := r.get(r.ctx(), b); got != codes.NotFound.String() {
		t.Errorf("a branch that is dropped has %s", got)
	}
	if _, err := os.Stat(r.dir.Path()); !errors.Is(err, fs.ErrNotExist) || len(r.openFiles()) > 0 {
		t.Errorf("left: %v, open %v", err, r.openFiles())
	}
}

// A branch that is dropped while calls use it ends them.
func TestABranchIsDroppedUnderAStream(t *testing.T) {
	r := branchesServed(t, server.Options{}, server.BranchOptions{})
	r.streamed("t")
	r.branch("b")
	const name = "projects/" + project + "/instances/b"
	stream, err := r.data().ReadChangeStream(r.ctx(), &bigtablepb.ReadChangeStreamRequest{TableName: name + "/tables/t", Partition: rowsPartition("", "")})
	r.must(err)
	for len(r.openFiles()) == 0 && t.Context().Err() == nil { // until the call has begun
		time.Sleep(time.Millisecond)
	}
	_, err = adminpb.NewBigtableInstanceAdminClient(r.conn).DeleteInstance(r.ctx(), &adminpb.DeleteInstanceRequest{Name: name})
	r.must(err)
	for err == nil {
		_, err = stream.Recv()
	}
	wantCode(t, "a stream of a branch that was dropped", err, codes.NotFound)
}

// More branches than may be open at once take turns, and are closed when nothing uses them.
func TestBranchesTakeTurns(t *testing.T) {
	r := branchesServed(t, server.Options{}, server.BranchOptions{Idle: time.Millisecond, Database: query.Options{Memory: 16 << 20}})
	r.table("t", "f")
	for i := range 3 {
		r.branch(fmt.Sprint("b", i))
	}
	for range 2 {
		for i := range 3 {
			name := fmt.Sprint("b", i)
			r.must(r.set(r.ctx(), r.in(name), name)) // the client tries again while another branch has a call
			if got := r.get(r.ctx(), r.in(name)); got != "k f:q@1000="+name {
				t.Errorf("%s has %s", name, got)
			}
		}
	}
	for len(r.openFiles()) > 0 && t.Context().Err() == nil {
		time.Sleep(time.Millisecond)
	}
}

// A token's rights to tables of the database are none in a branch; those to the instance are.
func TestTokensOfBranches(t *testing.T) {
	tokens := server.OpenTokens(t.TempDir())
	r := branchesServed(t, server.Options{Tokens: tokens}, server.BranchOptions{})
	admin := r.with(newToken(t, tokens, "admin", time.Time{}, grant(server.Admin, "*")))
	ofDatabase := r.with(newToken(t, tokens, "database", time.Time{}, grant(server.Admin, "t"), grant(server.Read, "u*")))
	ofBranch := r.with(newToken(t, tokens, "branch", time.Time{}, grant(server.Write, project+"/b/t")))
	_, err := adminpb.NewBigtableTableAdminClient(r.conn).CreateTable(admin, &adminpb.CreateTableRequest{Parent: parent, TableId: "t", Table: &adminpb.Table{ColumnFamilies: map[string]*adminpb.ColumnFamily{"f": {}}}})
	r.must(err)
	r.branch("b")
	const name = "projects/" + project + "/instances/b"
	own, b := r.client(), r.in("b")
	r.must(r.set(admin, b, "by all"))
	for _, c := range []struct {
		who     string
		ctx     context.Context
		own, in string
		tables  int // of the branch
	}{
		{"all", admin, codes.OK.String(), "k f:q@1000=by all", 1},
		{"database", ofDatabase, codes.OK.String(), codes.PermissionDenied.String(), 0},
		{"branch", ofBranch, codes.PermissionDenied.String(), "k f:q@1000=by all", 1},
	} {
		_, err := own.Open("t").ReadRow(c.ctx, "k")
		if got := status.Code(err).String(); got != c.own {
			t.Errorf("%s in the database: %s, want %s", c.who, got, c.own)
		}
		if got := r.get(c.ctx, b); got != c.in {
			t.Errorf("%s in the branch: %s, want %s", c.who, got, c.in)
		}
		list, err := adminpb.NewBigtableTableAdminClient(r.conn).ListTables(c.ctx, &adminpb.ListTablesRequest{Parent: name})
		if err != nil || len(list.GetTables()) != c.tables {
			t.Errorf("%s lists %v, %v", c.who, list, err)
		}
		_, err = smolwcpb.NewStatementsClient(r.conn).RunStatement(c.ctx, &smolwcpb.RunStatementRequest{InstanceName: name, Text: "why t k"})
		if got, want := status.Code(err) == codes.PermissionDenied, c.tables == 0 || c.who == "branch"; got != want { // it needs the right to administer
			t.Errorf("%s asks why: %v", c.who, err)
		}
	}
	for _, ctx := range []context.Context{ofDatabase, ofBranch} {
		_, err = adminpb.NewBigtableInstanceAdminClient(r.conn).DeleteInstance(ctx, &adminpb.DeleteInstanceRequest{Name: name})
		wantCode(t, "a drop without the right", err, codes.PermissionDenied)
		_, err = smolwcpb.NewDatabaseAdminClient(r.conn).MergeBranch(ctx, &smolwcpb.MergeBranchRequest{Branch: "b"})
		wantCode(t, "a merge without the right", err, codes.PermissionDenied)
	}
}

// A thousand branches that are not open hold neither descriptors nor memory.
func TestAThousandBranchesHoldNothing(t *testing.T) {
	r := branchesServed(t, server.Options{}, server.BranchOptions{})
	r.table("t", "f")
	heap := func() int64 {
		runtime.GC()
		runtime.GC() // also what finalizers and pools hold
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	r.branch("b0")
	r.instances()
	memory, files := heap(), len(r.descriptors())
	const branches = 1000
	for i := 1; i < branches; i++ { // as Create would, without its syncs
		to := filepath.Join(r.dir.Path(), fmt.Sprint("b", i))
		r.must(filepath.WalkDir(filepath.Join(r.dir.Path(), "b0"), func(path string, e fs.DirEntry, err error) error {
			rest := strings.TrimPrefix(path, filepath.Join(r.dir.Path(), "b0"))
			if err != nil || e.IsDir() {
				return errors.Join(err, os.Mkdir(to+rest, 0o755))
			}
			return os.Link(path, to+rest)
		}))
	}
	if got := len(r.instances()); got != branches+1 {
		t.Errorf("%d instances", got)
	}
	if n, open := len(r.descriptors()), r.openFiles(); n > files+10 || len(open) > 0 { // the database itself may open some
		t.Errorf("%d descriptors more: %v", n-files, open)
	}
	if n := heap() - memory; n > 2<<20 {
		t.Errorf("%d bytes of memory more", n)
	}
	if got := r.get(r.ctx(), r.in("b0")); got != "(none)" {
		t.Errorf("a branch of them has %s", got)
	}
}

// The views of the database are views of the branch, each on the branch's tables; the branch's
// own are not in the database. A merge leaves them apart, and the views follow its writes.
func TestABranchHasTheViews(t *testing.T) {
	r := branchesServed(t, server.Options{}, server.BranchOptions{})
	tab := r.table("t", "f")
	own := r.client()
	r.rig.set(tab, "k", "f:q=1")
	r.must(r.logical("rows", "SELECT _key FROM t"))
	r.must(r.materialize("counts", "SELECT CAST(f['q'] AS STRING) AS value, COUNT(*) AS n FROM t GROUP BY value"))
	const rows, counts = "SELECT COUNT(*) FROM rows", "SELECT SUM(n) FROM counts"
	r.wantQuery(own, counts, "1")
	r.branch("b")
	b := r.in("b")
	r.wantQuery(b, counts, "1")
	for i := range 2 {
		m := bigtable.NewMutation()
		m.Set("f", "q", 1000, []byte("2"))
		r.must(b.Open("t").Apply(r.ctx(), fmt.Sprint("new", i), m))
	}
	r.rig.set(tab, "ours", "f:q=2")
	for c, want := range map[*bigtable.Client]string{own: "2", b: "3"} {
		r.wantQuery(c, rows, want)
		r.wantQuery(c, counts, want)
	}
	inBranch := func() (names []string) {
		list, err := r.instanceAdminPB().ListLogicalViews(r.ctx(), &adminpb.ListLogicalViewsRequest{Parent: "projects/" + project + "/instances/b"})
		r.must(err)
		for _, v := range list.GetLogicalViews() {
			names = append(names, v.GetName())
		}
		return names
	}
	r.must(r.instanceAdmin().CreateLogicalView(r.ctx(), "b", &bigtable.LogicalViewInfo{LogicalViewID: "more", Query: "SELECT _key FROM rows"}))
	r.wantQuery(b, "SELECT COUNT(*) FROM more", "3")
	if _, err := r.query(own, "SELECT COUNT(*) FROM more", nil, nil); err == nil {
		t.Error("the database has the branch's view")
	}
	if got := inBranch(); len(got) != 2 || got[0] != "projects/"+project+"/instances/b/logicalViews/more" {
		t.Errorf("the branch has the views %v", got)
	}
	r.must(r.instanceAdmin().DeleteLogicalView(r.ctx(), "b", "more"))
	r.must(r.instanceAdmin().DeleteLogicalView(r.ctx(), "b", "rows"))
	if got := inBranch(); len(got) != 0 {
		t.Errorf("afterwards the branch has the views %v", got)
	}
	r.wantQuery(own, rows, "2")
	resp, err := smolwcpb.NewDatabaseAdminClient(r.conn).MergeBranch(r.ctx(), &smolwcpb.MergeBranchRequest{Branch: "b"})
	r.must(err)
	if resp.GetConflicts() != 0 || resp.GetRows() != 2 {
		t.Errorf("merged: %v", resp)
	}
	r.wantQuery(own, counts, "4")
	r.wantQuery(b, counts, "3")
}

// The figures of served branches count opens and failures.
func TestMetricsOfBranches(t *testing.T) {
	r := branchesServed(t, server.Options{}, server.BranchOptions{})
	r.table("t", "f")
	want := func(open, opened, failed string) {
		t.Helper()
		for name, want := range map[string]string{"open": open, "opened_total": opened, "open_failures_total": failed} {
			if got := metric(t, r.server, "smolwc_branches_"+name); got != want {
				t.Errorf("smolwc_branches_%s is %s, want %s", name, got, want)
			}
		}
	}
	r.branch("b")
	want("0", "0", "0")
	r.get(r.ctx(), r.in("b"))
	r.get(r.ctx(), r.in("b"))
	want("1", "1", "0")
	r.branch("damaged")
	r.must(os.Remove(filepath.Join(r.dir.Path(), "damaged", "db", "CURRENT")))
	if _, err := r.in("damaged").Open("t").ReadRow(r.ctx(), "k"); err == nil {
		t.Error("a damaged branch is read")
	}
	if got := metric(t, r.server, "smolwc_branches_open_failures_total"); got == "0" {
		t.Error("no failure is counted")
	}
}
