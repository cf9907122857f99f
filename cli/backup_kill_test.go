package cli

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/smolwc/smolwc/archive"
)

// If the server is killed at any time, a backup, or a table that is restored from one,
// is there whole or not at all, and is there if it was acknowledged.
func TestBackupsWhenKilled(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "db")
	const in = "projects/local/instances/local"
	const rows = 2000
	s := startServer(t, "--db", dir, "--durability", "async")
	c := newBackupClient(t, s)
	c.fill("t", rows)
	expires := timestamppb.New(time.Now().Add(24 * time.Hour))
	made := map[string]bool{} // tables and backups that were acknowledged
	for round := range 4 {
		var mu sync.Mutex
		var wg sync.WaitGroup
		begun := make(chan struct{}, 2000)
		note := func(name string, err error) bool {
			mu.Lock()
			defer mu.Unlock()
			made[name] = made[name] || err == nil
			return err == nil
		}
		wg.Go(func() {
			for i := range 1000 {
				id := fmt.Sprintf("b%d-%d", round, i)
				begun <- struct{}{}
				_, err := c.admin.CreateBackup(t.Context(), &adminpb.CreateBackupRequest{Parent: in + "/clusters/c", BackupId: id, Backup: &adminpb.Backup{SourceTable: in + "/tables/t", ExpireTime: expires}})
				if !note("backup "+id, err) {
					return
				}
				table := fmt.Sprintf("r%d-%d", round, i)
				begun <- struct{}{}
				_, err = c.admin.RestoreTable(t.Context(), &adminpb.RestoreTableRequest{Parent: in, TableId: table, Source: &adminpb.RestoreTableRequest_Backup{Backup: in + "/clusters/c/backups/" + id}})
				if !note("table "+table, err) {
					return
				}
			}
		})
		for range 1 + round { // in the first the backup, in the second the restore, and so on
			<-begun
		}
		time.Sleep(time.Duration(10+rand.IntN(100)) * time.Millisecond)
		_ = s.end(syscall.SIGKILL)
		wg.Wait()

		s = startServer(t, "--db", dir, "--durability", "async")
		c = newBackupClient(t, s)
		tables, err := c.admin.ListTables(t.Context(), &adminpb.ListTablesRequest{Parent: in})
		if err != nil {
			t.Fatal(err)
		}
		there := map[string]bool{}
		for _, m := range tables.GetTables() {
			id := m.GetName()[strings.LastIndexByte(m.GetName(), '/')+1:]
			there["table "+id] = true
			if n := c.count(id); n != rows {
				t.Errorf("round %d: table %s has %d rows of %d", round, id, n, rows)
			}
		}
		list, err := c.admin.ListBackups(t.Context(), &adminpb.ListBackupsRequest{Parent: in + "/clusters/c"})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range list.GetBackups() {
			there["backup "+b.GetName()[strings.LastIndexByte(b.GetName(), '/')+1:]] = true
		}
		t.Logf("round %d: %d backups and %d tables of %d that were begun", round, len(list.GetBackups()), len(tables.GetTables()), len(made))
		for name, acknowledged := range made {
			if acknowledged && !there[name] {
				t.Errorf("round %d: %s is lost", round, name)
			}
		}
		if last := list.GetBackups(); len(last) > 0 { // the newest is first
			_, err := c.admin.RestoreTable(t.Context(), &adminpb.RestoreTableRequest{Parent: in, TableId: fmt.Sprint("again", round), Source: &adminpb.RestoreTableRequest_Backup{Backup: last[0].GetName()}})
			if n := c.count(fmt.Sprint("again", round)); err != nil || n != rows {
				t.Errorf("round %d: the last backup has %d rows, %v", round, n, err)
			}
		}
	}
}

// A server that is killed at any time during its backups on a schedule makes the next one,
// and every backup that is there is whole.
func TestScheduledBackupsWhenKilled(t *testing.T) {
	t.Parallel()
	dir, target := filepath.Join(t.TempDir(), "db"), filepath.Join(t.TempDir(), "backups")
	start := func() *served {
		return startServer(t, "--db", dir, "--durability", "async", "--http", "127.0.0.1:0", "--backup", target, "--backup-every", "1s", "--backup-keep", "2s")
	}
	s := start()
	newBackupClient(t, s).fill("t", 2000)
	a, err := archive.Open(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	newest := func() int {
		list, err := a.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			return 0
		}
		return list[len(list)-1].ID
	}
	for round := range 2 {
		for before := newest(); newest() <= before; time.Sleep(time.Millisecond) {
			if t.Context().Err() != nil {
				t.Fatal("no backup")
			}
		}
		if round == 0 {
			counted := regexp.MustCompile(`(?s)smolwc_backup_last_timestamp_seconds 1.*smolwc_backup_total [1-9]`)
			for !counted.MatchString(s.page(t, "metrics")) { // they follow a moment later
				time.Sleep(time.Millisecond)
			}
		}
		time.Sleep(time.Duration(rand.IntN(1100)) * time.Millisecond)
		_ = s.end(syscall.SIGKILL)
		if report, err := a.Verify(t.Context(), archive.Options{}); err != nil || report.Generations == 0 {
			t.Errorf("round %d: %+v, %v", round, report, err)
		}
		s = start()
	}
	if err := s.end(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	restored := filepath.Join(t.TempDir(), "restored")
	if _, err := a.Restore(t.Context(), archive.Latest, restored, archive.RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	if n := newBackupClient(t, startServer(t, "--db", restored)).count("t"); n != 2000 {
		t.Errorf("the last backup has %d rows", n)
	}
}

// page is a page of the server for monitoring.
func (s *served) page(t *testing.T, name string) string {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, strings.TrimSuffix(s.pages, "metrics")+name, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true // the process may be a standby that keeps its connections for a moment when it is promoted
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A backupClient calls the API directly.
type backupClient struct {
	t     *testing.T
	admin adminpb.BigtableTableAdminClient
	data  bigtablepb.BigtableClient
}

func newBackupClient(t *testing.T, s *served) *backupClient {
	conn, err := grpc.NewClient(s.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &backupClient{t, adminpb.NewBigtableTableAdminClient(conn), bigtablepb.NewBigtableClient(conn)}
}

// fill makes a table with two families.
func (c *backupClient) fill(id string, rows int) {
	c.t.Helper()
	_, err := c.admin.CreateTable(c.t.Context(), &adminpb.CreateTableRequest{Parent: "projects/local/instances/local", TableId: id,
		Table: &adminpb.Table{ColumnFamilies: map[string]*adminpb.ColumnFamily{"f": {}, "g": {}}}})
	if err != nil {
		c.t.Fatal(err)
	}
	req := &bigtablepb.MutateRowsRequest{TableName: "projects/local/instances/local/tables/" + id}
	for i := range rows {
		e := &bigtablepb.MutateRowsRequest_Entry{RowKey: fmt.Appendf(nil, "%06d", i)}
		for _, f := range []string{"f", "g"} {
			e.Mutations = append(e.Mutations, &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{FamilyName: f, TimestampMicros: 1000, Value: e.RowKey}}})
		}
		req.Entries = append(req.Entries, e)
	}
	stream, err := c.data.MutateRows(c.t.Context(), req)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		c.t.Fatal(err)
	}
}

// count is the number of rows with both families, -1 when there is no table.
func (c *backupClient) count(id string) (n int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	stream, err := c.data.ReadRows(ctx, &bigtablepb.ReadRowsRequest{TableName: "projects/local/instances/local/tables/" + id})
	if err != nil {
		c.t.Fatal(err)
	}
	cells := 0
	for {
		m, err := stream.Recv()
		if status.Code(err) == codes.NotFound {
			return -1
		}
		if err != nil {
			break
		}
		cells += len(m.GetChunks())
	}
	return cells / 2
}
