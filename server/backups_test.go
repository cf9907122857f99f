package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
)

// A backupRig is a server of a database in a directory, whose clock a test sets.
type backupRig struct {
	*rig
	dir   string
	late  atomic.Int64 // how far the database's clock is ahead
	admin adminpb.BigtableTableAdminClient
}

func newBackupRig(t *testing.T, o server.Options) *backupRig {
	t.Helper()
	r := &backupRig{dir: filepath.Join(t.TempDir(), "db")}
	r.open(t, o)
	return r
}

// open opens the database and serves it.
func (r *backupRig) open(t *testing.T, o server.Options) {
	t.Helper()
	db, err := query.Open(r.dir, query.Options{Clock: func() time.Time { return time.Now().Add(time.Duration(r.late.Load())) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	r.rig = serve(t, db, o)
	r.admin = adminpb.NewBigtableTableAdminClient(r.conn)
}

const cluster = parent + "/clusters/c"

func (r *backupRig) backup(table, id string) *adminpb.Backup {
	r.t.Helper()
	op, err := r.admin.CreateBackup(r.ctx(), &adminpb.CreateBackupRequest{
		Parent: cluster, BackupId: id, Backup: &adminpb.Backup{SourceTable: parent + "/tables/" + table, ExpireTime: r.in(8 * time.Hour)},
	})
	r.must(err)
	m := new(adminpb.Backup)
	r.result(op, m, &adminpb.CreateBackupMetadata{})
	return m
}

func (r *backupRig) restore(backup, table string) (*adminpb.Table, error) {
	op, err := r.admin.RestoreTable(r.ctx(), &adminpb.RestoreTableRequest{
		Parent: parent, TableId: table, Source: &adminpb.RestoreTableRequest_Backup{Backup: cluster + "/backups/" + backup},
	})
	if err != nil {
		return nil, err
	}
	m := new(adminpb.Table)
	r.result(op, m, &adminpb.RestoreTableMetadata{})
	return m, nil
}

// in is a time from now by the database's clock.
func (r *backupRig) in(d time.Duration) *timestamppb.Timestamp {
	return timestamppb.New(r.db.Now().Time().Add(d))
}

// result unpacks what a finished operation carries.
func (r *rig) result(op *longrunningpb.Operation, response, metadata proto.Message) {
	r.t.Helper()
	if !op.GetDone() {
		r.t.Fatalf("operation %s is not done", op.GetName())
	}
	r.must(op.GetResponse().UnmarshalTo(response))
	r.must(op.GetMetadata().UnmarshalTo(metadata))
}

// cellsOf are all cells of a table, in words.
func (r *rig) cellsOf(table string) []string {
	r.t.Helper()
	var all []string
	r.must(r.client().Open(table).ReadRows(r.ctx(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		for _, f := range slices.Sorted(func(yield func(string) bool) {
			for f := range row {
				if !yield(f) {
					return
				}
			}
		}) {
			for _, c := range row[f] {
				all = append(all, fmt.Sprintf("%s %s@%d=%q", c.Row, c.Column, c.Timestamp, c.Value))
			}
		}
		return true
	}))
	return all
}

func wantCode(t *testing.T, what string, err error, want codes.Code) {
	t.Helper()
	if status.Code(err) != want {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// fillTable makes a table with families of several kinds, and changes it n times.
func (r *rig) fillTable(name string, n int) {
	r.t.Helper()
	admin := r.admin()
	r.must(admin.CreateTableFromConf(r.ctx(), &bigtable.TableConf{TableID: name, ColumnFamilies: map[string]bigtable.Family{
		"plain": {}, "two": {GCPolicy: bigtable.MaxVersionsPolicy(2)},
		"sum": {ValueType: bigtable.AggregateType{Input: bigtable.Int64Type{}, Aggregator: bigtable.SumAggregator{}}},
		"hll": {ValueType: bigtable.AggregateType{Input: bigtable.Int64Type{}, Aggregator: bigtable.HllppUniqueCountAggregator{}}},
	}}))
	r.change(name, 0, n)
}

// change writes the i-th to the n-th change of a table.
func (r *rig) change(name string, i, n int) {
	r.t.Helper()
	tbl := r.client().Open(name)
	for ; i < n; i++ {
		m := bigtable.NewMutation()
		at := bigtable.Timestamp(1000 * (i + 1))
		m.Set("plain", fmt.Sprint(i%3), at, fmt.Appendf(nil, "%d", i))
		m.Set("two", "", at, []byte{0, 0xff, byte(i)})
		m.AddIntToCell("sum", "n", 0, int64(i))
		m.AddIntToCell("hll", "n", 0, int64(i))
		r.must(tbl.Apply(r.ctx(), fmt.Sprintf("row\x00%02d", i%20), m))
		if i%7 == 3 {
			d := bigtable.NewMutation()
			d.DeleteCellsInColumn("plain", "1")
			r.must(tbl.Apply(r.ctx(), fmt.Sprintf("row\x00%02d", (i+5)%20), d))
		}
	}
}

// A restored table is its source at the backup's moment: it has no later writes, and
// still has the cells that were deleted later. The source may have been deleted by
// then.
func TestRestoredTableIsTheSourceOfThen(t *testing.T) {
	r := newBackupRig(t, server.Options{})
	r.fillTable("t", 100)
	r.fillTable("other", 3)
	want, declared := r.cellsOf("t"), r.tableOf("t")
	b := r.backup("t", "b")
	if b.GetName() != cluster+"/backups/b" || b.GetState() != adminpb.Backup_READY || b.GetSizeBytes() <= 0 || b.GetBackupType() != adminpb.Backup_STANDARD ||
		b.GetStartTime() == nil || b.GetEndTime() == nil || b.GetSourceTable() != parent+"/tables/t" {
		t.Errorf("the backup is %v", b)
	}
	r.change("t", 100, 130)
	_, err := r.admin.DropRowRange(r.ctx(), &adminpb.DropRowRangeRequest{Name: parent + "/tables/t", Target: &adminpb.DropRowRangeRequest_RowKeyPrefix{RowKeyPrefix: []byte("row\x000")}})
	r.must(err)

	restored, err := r.restore("b", "again")
	r.must(err)
	if got := r.cellsOf("again"); !slices.Equal(got, want) {
		t.Errorf("the restored table has %d cells, the source had %d", len(got), len(want))
	}
	if info := restored.GetRestoreInfo().GetBackupInfo(); info.GetBackup() != b.GetName() || info.GetSourceTable() != b.GetSourceTable() {
		t.Errorf("the table was restored from %v", info)
	}
	got := r.tableOf("again")
	got.Name, got.RestoreInfo = declared.GetName(), nil
	if !proto.Equal(got, declared) {
		t.Errorf("the restored table is %v, the source was %v", got, declared)
	}
	r.change("again", 100, 103) // it is still a table like others

	_, err = r.restore("b", "again")
	wantCode(t, "restore as a table that is there", err, codes.AlreadyExists)
	_, err = r.admin.DeleteTable(r.ctx(), &adminpb.DeleteTableRequest{Name: parent + "/tables/t"})
	r.must(err)
	_, err = r.restore("b", "t")
	r.must(err)
	if got := r.cellsOf("t"); !slices.Equal(got, want) {
		t.Errorf("the table restored as itself has %d cells, it had %d", len(got), len(want))
	}
}

func (r *backupRig) tableOf(id string) *adminpb.Table {
	r.t.Helper()
	m, err := r.admin.GetTable(r.ctx(), &adminpb.GetTableRequest{Name: parent + "/tables/" + id, View: adminpb.Table_SCHEMA_VIEW})
	r.must(err)
	return m
}

// A backup takes no space for other tables, and a copy of it takes no further space.
func TestBackupsDirectories(t *testing.T) {
	r := newBackupRig(t, server.Options{})
	r.fillTable("t", 20)
	r.fillTable("large", 1)
	m := bigtable.NewMutation()
	m.Set("plain", "q", 1000, []byte(strings.Repeat("x", 1<<20)))
	r.must(r.client().Open("large").Apply(r.ctx(), "k", m))
	if b := r.backup("t", "b"); b.GetSizeBytes() > 1<<19 {
		t.Errorf("the backup has %d bytes", b.GetSizeBytes())
	}
	expires := r.in(24 * time.Hour)
	op, err := r.admin.CopyBackup(r.ctx(), &adminpb.CopyBackupRequest{
		Parent: "projects/proj/instances/second/clusters/d", BackupId: "copy", SourceBackup: cluster + "/backups/b", ExpireTime: expires,
	})
	r.must(err)
	c := new(adminpb.Backup)
	r.result(op, c, &adminpb.CopyBackupMetadata{})
	if c.GetSourceBackup() != cluster+"/backups/b" || c.GetSourceTable() != parent+"/tables/t" || !proto.Equal(c.GetExpireTime(), expires) {
		t.Errorf("the copy is %v", c)
	}
	_, err = r.admin.CopyBackup(r.ctx(), &adminpb.CopyBackupRequest{Parent: cluster, BackupId: "c2", SourceBackup: c.GetName(), ExpireTime: expires})
	wantCode(t, "copy of a copy", err, codes.FailedPrecondition)

	dirs := func() int {
		entries, err := os.ReadDir(filepath.Join(r.dir, "table-backups"))
		r.must(err)
		return len(entries)
	}
	if n := dirs(); n != 1 {
		t.Errorf("there are %d directories", n)
	}
	_, err = r.admin.DeleteBackup(r.ctx(), &adminpb.DeleteBackupRequest{Name: cluster + "/backups/b"})
	r.must(err)
	want := r.cellsOf("t")
	op, err = r.admin.RestoreTable(r.ctx(), &adminpb.RestoreTableRequest{Parent: parent, TableId: "again", Source: &adminpb.RestoreTableRequest_Backup{Backup: c.GetName()}})
	r.must(err)
	r.result(op, new(adminpb.Table), &adminpb.RestoreTableMetadata{})
	if got := r.cellsOf("again"); !slices.Equal(got, want) {
		t.Errorf("the table restored from the copy has %d cells, the source %d", len(got), len(want))
	}
	_, err = r.admin.DeleteBackup(r.ctx(), &adminpb.DeleteBackupRequest{Name: c.GetName()})
	r.must(err)
	if n := dirs(); n != 0 {
		t.Errorf("there are %d directories when all backups are deleted", n)
	}
}

// Backups are there after a restart of the server; the rest of an interrupted backup is
// removed, and other files stay.
func TestBackupsAfterRestart(t *testing.T) {
	r := newBackupRig(t, server.Options{})
	r.fillTable("t", 30)
	want := r.cellsOf("t")
	r.backup("t", "b")
	r.backup("t", "lost")
	r.stop()
	r.must(r.db.Close())
	dir := filepath.Join(r.dir, "table-backups")
	entries, err := os.ReadDir(dir)
	r.must(err)
	r.must(os.RemoveAll(filepath.Join(dir, entries[1].Name()))) // as in a copy of the database
	for _, name := range []string{"0123456789abcdef", "0123456789abcdef.tmp-123", "0123456789abcdee.tmp", "mine"} {
		r.must(os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	r.open(t, server.Options{})
	list, err := r.admin.ListBackups(r.ctx(), &adminpb.ListBackupsRequest{Parent: parent + "/clusters/-"})
	r.must(err)
	if got := ids(list); got != "b" {
		t.Errorf("backups after the restart: %s", got)
	}
	entries, err = os.ReadDir(dir)
	r.must(err)
	if len(entries) != 2 || entries[1].Name() != "mine" {
		t.Errorf("the directory of backups has %v", entries)
	}
	_, err = r.restore("b", "again")
	r.must(err)
	if got := r.cellsOf("again"); !slices.Equal(got, want) {
		t.Errorf("the restored table has %d cells, the source had %d", len(got), len(want))
	}
}

func ids(list *adminpb.ListBackupsResponse) string {
	var names []string
	for _, b := range list.GetBackups() {
		names = append(names, b.GetName()[strings.LastIndexByte(b.GetName(), '/')+1:])
	}
	return strings.Join(names, " ")
}

func TestBackupsExpire(t *testing.T) {
	r := newBackupRig(t, server.Options{})
	r.fillTable("t", 3)
	b := r.backup("t", "b")
	for _, c := range []struct {
		expires *timestamppb.Timestamp
		want    codes.Code
	}{
		{nil, codes.InvalidArgument},
		{r.in(time.Hour), codes.InvalidArgument},
		{r.in(91 * 24 * time.Hour), codes.InvalidArgument},
		{&timestamppb.Timestamp{Seconds: 1 << 60}, codes.InvalidArgument},
		{r.in(7 * time.Hour), codes.OK},
	} {
		_, err := r.admin.UpdateBackup(r.ctx(), &adminpb.UpdateBackupRequest{Backup: &adminpb.Backup{Name: b.GetName(), ExpireTime: c.expires}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"expire_time"}}})
		wantCode(t, fmt.Sprint(c.expires), err, c.want)
	}
	r.late.Store(int64(7*time.Hour - time.Minute))
	_, err := r.admin.GetBackup(r.ctx(), &adminpb.GetBackupRequest{Name: b.GetName()})
	r.must(err)
	r.late.Store(int64(7*time.Hour + time.Minute))
	_, err = r.admin.GetBackup(r.ctx(), &adminpb.GetBackupRequest{Name: b.GetName()})
	wantCode(t, "get", err, codes.NotFound)
	_, err = r.restore("b", "again")
	wantCode(t, "restore", err, codes.NotFound)
	list, err := r.admin.ListBackups(r.ctx(), &adminpb.ListBackupsRequest{Parent: cluster})
	r.must(err)
	if ids(list) != "" {
		t.Errorf("an expired backup is listed: %v", list)
	}
	r.backup("t", "b") // its name is free
}

func TestBackupArguments(t *testing.T) {
	r := newBackupRig(t, server.Options{})
	r.fillTable("t", 3)
	r.backup("t", "b")
	table := parent + "/tables/t"
	for _, c := range []struct {
		req  *adminpb.CreateBackupRequest
		want codes.Code
	}{
		{&adminpb.CreateBackupRequest{Parent: cluster, BackupId: "x"}, codes.InvalidArgument},
		{&adminpb.CreateBackupRequest{Parent: parent, BackupId: "x", Backup: &adminpb.Backup{SourceTable: table}}, codes.InvalidArgument},
		{&adminpb.CreateBackupRequest{Parent: cluster, BackupId: "a/b", Backup: &adminpb.Backup{SourceTable: table}}, codes.InvalidArgument},
		{&adminpb.CreateBackupRequest{Parent: cluster, BackupId: "..", Backup: &adminpb.Backup{SourceTable: table}}, codes.InvalidArgument},
		{&adminpb.CreateBackupRequest{Parent: parent + "/clusters/-", BackupId: "x", Backup: &adminpb.Backup{SourceTable: table}}, codes.InvalidArgument},
		{&adminpb.CreateBackupRequest{Parent: cluster, BackupId: strings.Repeat("x", 51), Backup: &adminpb.Backup{SourceTable: table}}, codes.InvalidArgument},
		{&adminpb.CreateBackupRequest{Parent: "projects/proj/instances/second/clusters/c", BackupId: "x", Backup: &adminpb.Backup{SourceTable: table}}, codes.InvalidArgument},
		{&adminpb.CreateBackupRequest{Parent: cluster, BackupId: "x", Backup: &adminpb.Backup{SourceTable: parent + "/tables/none"}}, codes.NotFound},
		{&adminpb.CreateBackupRequest{Parent: cluster, BackupId: "x", Backup: &adminpb.Backup{SourceTable: table, HotToStandardTime: r.in(48 * time.Hour)}}, codes.InvalidArgument},
		{&adminpb.CreateBackupRequest{Parent: cluster, BackupId: "x", Backup: &adminpb.Backup{SourceTable: table, BackupType: 77}}, codes.InvalidArgument},
		{&adminpb.CreateBackupRequest{Parent: cluster, BackupId: "b", Backup: &adminpb.Backup{SourceTable: table}}, codes.AlreadyExists},
		{&adminpb.CreateBackupRequest{Parent: cluster, BackupId: "hot", Backup: &adminpb.Backup{SourceTable: table, BackupType: adminpb.Backup_HOT, HotToStandardTime: r.in(48 * time.Hour)}}, codes.OK},
	} {
		if c.req.Backup != nil {
			c.req.Backup.ExpireTime = r.in(72 * time.Hour)
		}
		_, err := r.admin.CreateBackup(r.ctx(), c.req)
		wantCode(t, c.req.String(), err, c.want)
	}
	hot := func() *adminpb.Backup {
		m, err := r.admin.GetBackup(r.ctx(), &adminpb.GetBackupRequest{Name: cluster + "/backups/hot"})
		r.must(err)
		return m
	}
	if m := hot(); m.GetBackupType() != adminpb.Backup_HOT || m.GetHotToStandardTime() == nil {
		t.Errorf("the hot backup is %v", m)
	}
	r.late.Store(int64(49 * time.Hour))
	if m := hot(); m.GetBackupType() != adminpb.Backup_STANDARD || m.GetHotToStandardTime() != nil {
		t.Errorf("the backup that was hot is %v", m)
	}
	instances := adminpb.NewBigtableInstanceAdminClient(r.conn)
	_, err := instances.CreateCluster(r.ctx(), &adminpb.CreateClusterRequest{Parent: parent, ClusterId: "second", Cluster: &adminpb.Cluster{}})
	r.must(err)
	_, err = instances.DeleteCluster(r.ctx(), &adminpb.DeleteClusterRequest{Name: cluster})
	wantCode(t, "delete a cluster with backups", err, codes.FailedPrecondition)
	_, err = instances.DeleteInstance(r.ctx(), &adminpb.DeleteInstanceRequest{Name: parent})
	wantCode(t, "delete an instance with backups", err, codes.FailedPrecondition)
	r.tableOf("t") // which has lost nothing

	memory := newRig(t)
	memory.table("t", "f")
	_, err = adminpb.NewBigtableTableAdminClient(memory.conn).CreateBackup(memory.ctx(), &adminpb.CreateBackupRequest{Parent: cluster, BackupId: "x", Backup: &adminpb.Backup{SourceTable: table, ExpireTime: r.in(8 * time.Hour)}})
	wantCode(t, "backup of a database in memory", err, codes.FailedPrecondition)
}

func TestListBackups(t *testing.T) {
	r := newBackupRig(t, server.Options{})
	r.fillTable("t", 3)
	r.fillTable("fleet", 3)
	r.backup("t", "b1")
	r.backup("fleet", "b2")
	r.backup("t", "B3")
	r.backup("t", "c4")
	start := func(id string) string {
		m, err := r.admin.GetBackup(r.ctx(), &adminpb.GetBackupRequest{Name: cluster + "/backups/" + id})
		r.must(err)
		return m.GetStartTime().AsTime().Format(time.RFC3339Nano)
	}
	for _, c := range []struct{ filter, order, want string }{
		{"", "", "c4 B3 b2 b1"},
		{"", "start_time", "b1 b2 B3 c4"},
		{"", " name  desc ", "c4 b2 b1 B3"},
		{"", "source_table, start_time desc", "b2 c4 B3 b1"},
		{`name:b`, "", "B3 b2 b1"},
		{`name:"b2"`, "", "b2"},
		{`name:"b"`, "", ""},
		{`name = "` + cluster + `/backups/c4"`, "", "c4"},
		{`name != c4`, "", "B3 b2 b1"},
		{`source_table:flee`, "", "b2"},
		{`state:READY`, "", "c4 B3 b2 b1"},
		{`state:CREATING`, "", ""},
		{`size_bytes > 10`, "", "c4 B3 b2 b1"},
		{`size_bytes < 10`, "", ""},
		{`start_time >= "` + start("B3") + `"`, "", "c4 B3"},
		{`start_time < ` + start("b2"), "", "b1"},
		{`(name:b) AND (start_time > "` + start("b1") + `")`, "", "B3 b2"},
		{`( name : b ) (source_table:'t') and expire_time>2020-01-01T00:00:00Z name!=b3`, "", "b1"},
	} {
		list, err := r.admin.ListBackups(r.ctx(), &adminpb.ListBackupsRequest{Parent: cluster, Filter: c.filter, OrderBy: c.order})
		if got := ids(list); got != c.want || err != nil {
			t.Errorf("filter %q order %q: %q, %v; want %q", c.filter, c.order, got, err, c.want)
		}
		// The same in pages of one, where the backup before is deleted.
		var pages []string
		for token := ""; ; {
			list, err := r.admin.ListBackups(r.ctx(), &adminpb.ListBackupsRequest{Parent: parent + "/clusters/-", Filter: c.filter, OrderBy: c.order, PageSize: 1, PageToken: token})
			r.must(err)
			if len(list.GetBackups()) > 0 {
				pages = append(pages, ids(list))
			}
			if token = list.GetNextPageToken(); token == "" {
				break
			}
		}
		if got := strings.Join(pages, " "); got != c.want {
			t.Errorf("filter %q order %q in pages: %q, want %q", c.filter, c.order, got, c.want)
		}
	}
	for _, c := range []*adminpb.ListBackupsRequest{
		{Filter: "name"}, {Filter: "name:"}, {Filter: "nam:b"}, {Filter: "(name:b"}, {Filter: "name:b)"}, {Filter: `name:"b`}, {Filter: "size_bytes > x"},
		{Filter: "start_time > 7"}, {Filter: "!"}, {Filter: "name:b AND"}, {Filter: "AND name:b"}, {Filter: "name:b OR name:c"}, {Filter: "NOT name:b"}, {Filter: "((name:b))"}, {Filter: "size_bytes > \"\""}, {Filter: strings.Repeat("(", 10_000)},
		{OrderBy: "nam"}, {OrderBy: "name up"}, {OrderBy: ","}, {PageToken: "?"}, {PageToken: "AAAA"},
	} {
		c.Parent = cluster
		_, err := r.admin.ListBackups(r.ctx(), c)
		wantCode(t, c.String(), err, codes.InvalidArgument)
	}
	if list, err := r.admin.ListBackups(r.ctx(), &adminpb.ListBackupsRequest{Parent: parent + "/clusters/empty"}); err != nil || len(list.GetBackups()) > 0 {
		t.Errorf("an empty cluster has %v, %v", list, err)
	}
}

// A page begins where the previous page ended, also if the backup there was deleted.
func TestPagesOfBackupsThatGo(t *testing.T) {
	r := newBackupRig(t, server.Options{})
	r.fillTable("t", 3)
	for _, id := range []string{"a", "b", "c"} {
		r.backup("t", id)
	}
	first, err := r.admin.ListBackups(r.ctx(), &adminpb.ListBackupsRequest{Parent: cluster, PageSize: 2, OrderBy: "name"})
	r.must(err)
	_, err = r.admin.DeleteBackup(r.ctx(), &adminpb.DeleteBackupRequest{Name: cluster + "/backups/b"})
	r.must(err)
	rest, err := r.admin.ListBackups(r.ctx(), &adminpb.ListBackupsRequest{Parent: cluster, PageSize: 2, OrderBy: "name", PageToken: first.GetNextPageToken()})
	r.must(err)
	if ids(first)+"|"+ids(rest) != "a b|c" {
		t.Errorf("pages are %s and %s", ids(first), ids(rest))
	}
}

// A backup needs the same right as its table.
func TestRightsToBackups(t *testing.T) {
	tokens := server.OpenTokens(t.TempDir())
	r := newBackupRig(t, server.Options{Instance: parent, Tokens: tokens})
	r.fillTable("mine", 3)
	r.fillTable("other", 3)
	r.backup("mine", "m")
	r.backup("other", "o")
	admin := newToken(t, tokens, "admin", time.Time{}, grant(server.Admin, "mine*"))
	reader := newToken(t, tokens, "reader", time.Time{}, grant(server.Read, "mine"))

	create := func(secret, table, id string) error {
		_, err := r.admin.CreateBackup(r.with(secret), &adminpb.CreateBackupRequest{Parent: cluster, BackupId: id, Backup: &adminpb.Backup{SourceTable: parent + "/tables/" + table, ExpireTime: r.in(8 * time.Hour)}})
		return err
	}
	restore := func(secret, backup, table string) error {
		_, err := r.admin.RestoreTable(r.with(secret), &adminpb.RestoreTableRequest{Parent: parent, TableId: table, Source: &adminpb.RestoreTableRequest_Backup{Backup: cluster + "/backups/" + backup}})
		return err
	}
	get := func(secret, backup string) error {
		_, err := r.admin.GetBackup(r.with(secret), &adminpb.GetBackupRequest{Name: cluster + "/backups/" + backup})
		return err
	}
	drop := func(secret, backup string) error {
		_, err := r.admin.DeleteBackup(r.with(secret), &adminpb.DeleteBackupRequest{Name: cluster + "/backups/" + backup})
		return err
	}
	list, err := r.admin.ListBackups(r.with(reader), &adminpb.ListBackupsRequest{Parent: cluster})
	r.must(err)
	if got := ids(list); got != "m" {
		t.Errorf("the reader of one table sees the backups %q", got)
	}
	for _, c := range []struct {
		what string
		err  error
		want codes.Code
	}{
		{"reader gets", get(reader, "m"), codes.OK},
		{"reader gets another's", get(reader, "o"), codes.PermissionDenied},
		{"reader gets none", get(reader, "none"), codes.PermissionDenied},
		{"reader creates", create(reader, "mine", "x"), codes.PermissionDenied},
		{"reader restores", restore(reader, "m", "mine2"), codes.PermissionDenied},
		{"reader deletes", drop(reader, "m"), codes.PermissionDenied},
		{"admin creates", create(admin, "mine", "x"), codes.OK},
		{"admin creates of another's", create(admin, "other", "y"), codes.PermissionDenied},
		{"admin restores", restore(admin, "m", "mine2"), codes.OK},
		{"admin restores another's", restore(admin, "o", "mine3"), codes.PermissionDenied},
		{"admin restores as another's", restore(admin, "m", "other2"), codes.PermissionDenied},
		{"admin deletes another's", drop(admin, "o"), codes.PermissionDenied},
		{"admin deletes", drop(admin, "m"), codes.OK},
	} {
		wantCode(t, c.what, c.err, c.want)
	}
}
