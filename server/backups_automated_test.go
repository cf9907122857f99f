package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/smolwc/smolwc/server"
)

const day = 24 * time.Hour

// daily is a policy of automated backups as Bigtable's Go client sends it.
func (r *rig) daily(table string, keep time.Duration) {
	r.t.Helper()
	r.must(r.admin().UpdateTableWithAutomatedBackupPolicy(r.ctx(), table, bigtable.TableAutomatedBackupPolicy{RetentionPeriod: keep, Frequency: day}))
}

// automated lists the automated backups of a table, the oldest first.
func (r *backupRig) automated(table string) []*adminpb.Backup {
	r.t.Helper()
	list, err := r.admin.ListBackups(r.ctx(), &adminpb.ListBackupsRequest{Parent: parent + "/clusters/-", Filter: "name:" + table + "-auto- source_table=" + table, OrderBy: "start_time"})
	r.must(err)
	return list.GetBackups()
}

// waitForBackups waits until a table has n automated backups.
func (r *backupRig) waitForBackups(table string, n int) []*adminpb.Backup {
	r.t.Helper()
	for ctx := r.ctx(); ; time.Sleep(10 * time.Millisecond) {
		if list := r.automated(table); len(list) == n {
			return list
		} else if len(list) > n || ctx.Err() != nil {
			r.t.Fatalf("table %s has %d automated backups, want %d: %v", table, len(list), n, list)
		}
	}
}

// A table with a policy is backed up at once, and then every day by the database's clock,
// also after a restart. The backups expire, and can be restored.
func TestAutomatedBackups(t *testing.T) {
	r := newBackupRig(t, server.Options{})
	r.fillTable("fleet", 30)
	r.fillTable("other", 3)
	want := r.cellsOf("fleet")
	r.daily("fleet", 3*day)
	first := r.waitForBackups("fleet", 1)[0]
	if life := first.GetExpireTime().AsTime().Sub(first.GetStartTime().AsTime()); life != 3*day || first.GetState() != adminpb.Backup_READY || first.GetBackupType() != adminpb.Backup_STANDARD || first.GetSizeBytes() == 0 {
		t.Errorf("the backup lives for %v: %v", life, first)
	}
	if !strings.HasPrefix(first.GetName(), parent+"/clusters/local/backups/fleet-auto-20") {
		t.Errorf("the backup is %s", first.GetName())
	}

	r.change("fleet", 30, 40)
	r.late.Store(int64(day))
	second := r.waitForBackups("fleet", 2)[1]

	// While the server is down, two days pass: one backup is missing, and not two.
	later := r.cellsOf("fleet")
	r.stop()
	r.must(r.db.Close())
	r.late.Store(int64(3*day - time.Hour))
	r.open(t, server.Options{})
	list := r.waitForBackups("fleet", 3)
	if list[0].GetName() != first.GetName() || list[1].GetName() != second.GetName() {
		t.Errorf("the backups are %v", list)
	}
	if n := len(r.automated("other")); n != 0 {
		t.Errorf("the table without a policy has %d automated backups", n)
	}

	// The first has expired when the next is made.
	r.late.Store(int64(4*day - time.Hour + time.Minute))
	for r.automated("fleet")[0].GetName() == first.GetName() {
		time.Sleep(10 * time.Millisecond)
	}
	list = r.waitForBackups("fleet", 3)
	restored, err := r.restoreAutomated(list[0], "again")
	r.must(err)
	if got := r.cellsOf("again"); !slices.Equal(got, later) || slices.Equal(got, want) {
		t.Errorf("the restored table has %d cells of %d", len(got), len(later))
	}
	if restored.GetAutomatedBackupConfig() != nil {
		t.Errorf("the restored table has the policy %v", restored.GetAutomatedBackupPolicy())
	}

	// Without the policy, and after the table is gone, the backups stay.
	r.must(r.rig.admin().UpdateTableDisableAutomatedBackupPolicy(r.ctx(), "fleet"))
	r.late.Store(int64(5 * day))
	r.daily("other", 90*day) // which shows that backups were looked for
	r.waitForBackups("other", 1)
	r.waitForBackups("fleet", 2)
	r.must(r.rig.admin().DeleteTable(r.ctx(), "fleet"))
	if _, err := r.restoreAutomated(r.automated("fleet")[1], "fleet"); err != nil {
		t.Error(err)
	}
}

func (r *backupRig) restoreAutomated(b *adminpb.Backup, table string) (*adminpb.Table, error) {
	op, err := r.admin.RestoreTable(r.ctx(), &adminpb.RestoreTableRequest{Parent: parent, TableId: table, Source: &adminpb.RestoreTableRequest_Backup{Backup: b.GetName()}})
	if err != nil {
		return nil, err
	}
	m := new(adminpb.Table)
	r.result(op, m, &adminpb.RestoreTableMetadata{})
	return m, nil
}

// Automated backups are in all clusters of the policy's locations, and share their files.
// They can be hot. One that a client has deleted is not made again.
func TestAutomatedBackupsInClusters(t *testing.T) {
	r := newBackupRig(t, server.Options{})
	r.fillTable("t", 3)
	instances := adminpb.NewBigtableInstanceAdminClient(r.conn)
	for id, zone := range map[string]string{"a": "east", "b": "west", "c": "west"} {
		_, err := instances.CreateCluster(r.ctx(), &adminpb.CreateClusterRequest{Parent: parent, ClusterId: id, Cluster: &adminpb.Cluster{Location: "projects/proj/locations/" + zone}})
		r.must(err)
	}
	table := &adminpb.Table{Name: parent + "/tables/t", AutomatedBackupConfig: policyOf(&adminpb.Table_AutomatedBackupPolicy{
		RetentionPeriod: durationpb.New(7 * day), KeepHotDuration: durationpb.New(2 * day), Locations: []string{"projects/proj/locations/north"},
	})}
	update := func() error {
		_, err := r.admin.UpdateTable(r.ctx(), &adminpb.UpdateTableRequest{Table: table, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"automated_backup_policy"}}})
		return err
	}
	wantCode(t, "a location without a cluster", update(), codes.InvalidArgument)
	table.GetAutomatedBackupPolicy().Locations = []string{"projects/proj/locations/west"}
	r.must(update())
	list := r.waitForBackups("t", 2)
	for i, id := range []string{"b", "c"} {
		if b := list[i]; !strings.HasPrefix(b.GetName(), parent+"/clusters/"+id+"/") || b.GetBackupType() != adminpb.Backup_HOT ||
			b.GetHotToStandardTime().AsTime().Sub(b.GetStartTime().AsTime()) != 2*day {
			t.Errorf("backup %d is %v", i, b)
		}
	}
	entries, err := os.ReadDir(filepath.Join(r.dir, "table-backups"))
	if err != nil || len(entries) != 1 {
		t.Errorf("two backups of one moment have %d directories, %v", len(entries), err)
	}
	for _, b := range list {
		_, err := r.admin.DeleteBackup(r.ctx(), &adminpb.DeleteBackupRequest{Name: b.GetName()})
		r.must(err)
	}
	r.late.Store(int64(day - time.Minute))
	r.fillTable(strings.Repeat("long", 12), 1) // the name of its backup is shorter
	r.daily(strings.Repeat("long", 12), 3*day)
	for len(r.automated("long")) == 0 && len(r.allBackups()) == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	if n := len(r.automated("t")); n != 0 {
		t.Errorf("%d deleted backups were made again", n)
	}
	for _, name := range r.allBackups() {
		if id := name[strings.LastIndexByte(name, '/')+1:]; len(id) > 50 || !strings.HasPrefix(id, "longlong") {
			t.Errorf("the backup's id is %q", id)
		}
	}
}

func (r *backupRig) allBackups() (names []string) {
	r.t.Helper()
	list, err := r.admin.ListBackups(r.ctx(), &adminpb.ListBackupsRequest{Parent: parent + "/clusters/-"})
	r.must(err)
	for _, b := range list.GetBackups() {
		names = append(names, b.GetName())
	}
	return names
}

func policyOf(p *adminpb.Table_AutomatedBackupPolicy) *adminpb.Table_AutomatedBackupPolicy_ {
	return &adminpb.Table_AutomatedBackupPolicy_{AutomatedBackupPolicy: p}
}

// Policies of automated backups and of storage tiers have Bigtable's bounds, also when a
// client changes single fields.
func TestPoliciesOfTables(t *testing.T) {
	r := newRig(t) // a database in memory remembers policies, and makes no backups
	r.table("t", "f")
	admin := adminpb.NewBigtableTableAdminClient(r.conn)
	days := func(n float64) *durationpb.Duration { return durationpb.New(time.Duration(n * float64(day))) }
	type policy = adminpb.Table_AutomatedBackupPolicy
	for _, c := range []struct {
		path   string
		policy *policy
		want   string // the policy then, or the code
	}{
		{".frequency", &policy{Frequency: days(1)}, "InvalidArgument"}, // no retention period
		{"", &policy{RetentionPeriod: days(2.9)}, "InvalidArgument"},
		{"", &policy{RetentionPeriod: days(91)}, "InvalidArgument"},
		{"", &policy{RetentionPeriod: &durationpb.Duration{Seconds: 1 << 60}}, "InvalidArgument"},
		{"", &policy{RetentionPeriod: days(3), Frequency: days(0.5)}, "InvalidArgument"},
		{"", &policy{RetentionPeriod: days(3), KeepHotDuration: days(4)}, "InvalidArgument"},
		{"", &policy{RetentionPeriod: days(30), KeepHotDuration: days(11)}, "InvalidArgument"},
		{"", &policy{RetentionPeriod: days(30), KeepHotDuration: days(0.5)}, "InvalidArgument"},
		{".nothing", &policy{RetentionPeriod: days(3)}, "InvalidArgument"},
		{"", &policy{RetentionPeriod: days(3)}, "72h0m0s 0s false"},
		{".frequency", &policy{Frequency: days(1)}, "72h0m0s 24h0m0s false"},
		{".retention_period", &policy{RetentionPeriod: days(90)}, "2160h0m0s 24h0m0s false"},
		{".disabled", &policy{Disabled: true}, "2160h0m0s 24h0m0s true"},
		{".retention_period", &policy{}, "0s 24h0m0s true"},
		{".disabled", &policy{}, "InvalidArgument"},
		{"", nil, "0s 0s false"},
		{".disabled", &policy{Disabled: true}, "0s 0s true"},
	} {
		from := &adminpb.Table{Name: parent + "/tables/t"}
		if c.policy != nil {
			from.AutomatedBackupConfig = policyOf(c.policy)
		}
		_, err := admin.UpdateTable(r.ctx(), &adminpb.UpdateTableRequest{Table: from, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"automated_backup_policy" + c.path}}})
		got := codeName(err)
		if err == nil {
			m, err := admin.GetTable(r.ctx(), &adminpb.GetTableRequest{Name: from.GetName()})
			r.must(err)
			p := m.GetAutomatedBackupPolicy()
			got = fmt.Sprint(p.GetRetentionPeriod().AsDuration(), p.GetFrequency().AsDuration(), p.GetDisabled())
		}
		if got != c.want {
			t.Errorf("%q %v: %s, want %s", c.path, c.policy, got, c.want)
		}
	}
	for _, c := range []struct {
		rule *adminpb.TieredStorageRule
		want codes.Code
	}{
		{nil, codes.InvalidArgument},
		{&adminpb.TieredStorageRule{Rule: &adminpb.TieredStorageRule_IncludeIfOlderThan{IncludeIfOlderThan: days(29)}}, codes.InvalidArgument},
		{&adminpb.TieredStorageRule{Rule: &adminpb.TieredStorageRule_IncludeIfOlderThan{IncludeIfOlderThan: days(30)}}, codes.OK},
	} {
		tiers := &adminpb.TieredStorageConfig{InfrequentAccess: c.rule}
		_, err := admin.UpdateTable(r.ctx(), &adminpb.UpdateTableRequest{Table: &adminpb.Table{Name: parent + "/tables/t", TieredStorageConfig: tiers}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"tiered_storage_config"}}})
		wantCode(t, "update "+tiers.String(), err, c.want)
		_, err = admin.CreateTable(r.ctx(), &adminpb.CreateTableRequest{Parent: parent, TableId: "new", Table: &adminpb.Table{TieredStorageConfig: tiers}})
		wantCode(t, "create "+tiers.String(), err, c.want)
	}
	_, err := admin.CreateTable(r.ctx(), &adminpb.CreateTableRequest{Parent: parent, TableId: "new2", Table: &adminpb.Table{AutomatedBackupConfig: policyOf(&policy{})}})
	wantCode(t, "create with an empty policy", err, codes.InvalidArgument)
}

func codeName(err error) string { return status.Code(err).String() }
