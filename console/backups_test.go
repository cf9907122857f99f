package console_test

import (
	"bytes"
	"context"
	"html"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/api/standbys"
	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/console"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

// The page of backups lists them, verifies them byte by byte and makes one, and asks before
// it does so.
func TestThePageOfBackups(t *testing.T) {
	db, err := query.Open(filepath.Join(t.TempDir(), "db"), query.Options{Schema: fleet()})
	if err != nil {
		t.Fatal(err)
	}
	at := siteOn(t, db, server.Options{BackupTo: archive.Places{"*"}}, console.Options{})
	at.set("fleet", "plane#1", "meta", "model", 1, cells.String("Boeing 737"))
	if text := at.must("/backups"); !strings.Contains(text, "No backups are shown") || !strings.Contains(text, "smolwc serve --backup PLACE") {
		t.Errorf("before the first backup:\n%s", text)
	}
	place := filepath.Join(t.TempDir(), "backups")
	if _, err := (archive.Local{DB: db}).BackUp(t.Context(), place, archive.BackupOptions{}); err != nil {
		t.Fatal(err)
	}
	if text := at.must("/backups"); !strings.Contains(text, "not verified since the start") {
		t.Errorf("after it:\n%s", text)
	}
	do := func(act, question, result string) string {
		t.Helper()
		if text, _ := at.post("/backups", "act", act); !strings.Contains(text, question) {
			t.Errorf("%s does not ask:\n%s", act, text)
		}
		if text := at.must("/backups/work"); strings.Contains(text, result) {
			t.Errorf("%s does not wait for an answer", act)
		}
		if text, code := at.post("/backups", "act", act, "sure", "1"); code != 200 {
			t.Fatalf("%s: %d\n%s", act, code, text)
		}
		for text := ""; !strings.Contains(text, result); time.Sleep(5 * time.Millisecond) {
			if text = html.UnescapeString(at.must("/backups/work")); strings.Contains(text, `role="alert"`) && !strings.Contains(text, result) {
				t.Fatalf("%s: %s", act, text)
			}
		}
		return html.UnescapeString(at.must("/backups"))
	}
	if text := do("verify", "reads every byte", "every byte is as it was written"); !strings.Contains(text, `state well">verified `) {
		t.Errorf("after it was verified:\n%s", text)
	}
	if text := do("backup", "and removes none", "backup 2 is made: "); !strings.Contains(text, `class="num">2</th>`) || !strings.Contains(text, "not verified since the start") {
		t.Errorf("after a second backup:\n%s", text)
	}
	damage(t, place)
	if text := do("verify", "reads every byte", "damaged"); !strings.Contains(text, `state ill">damaged: `) {
		t.Errorf("with a damaged file:\n%s", text)
	}
	if text, code := at.post("/backups", "act", "drop", "sure", "1"); code != 400 {
		t.Errorf("another act: %d\n%s", code, text)
	}
}

// The page lists the backups that Bigtable's clients made of single tables, below the database's own.
func TestThePageOfBackupsListsThoseOfTables(t *testing.T) {
	db, err := query.Open(filepath.Join(t.TempDir(), "db"), query.Options{Schema: fleet()})
	if err != nil {
		t.Fatal(err)
	}
	at := siteOn(t, db, server.Options{}, console.Options{Address: "served"})
	if text := at.must("/backups"); strings.Contains(text, "Backups of tables") {
		t.Errorf("before the first one:\n%s", text)
	}
	conn, err := grpc.NewClient(at.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	until := time.Now().Add(8 * time.Hour)
	_, err = adminpb.NewBigtableTableAdminClient(conn).CreateBackup(t.Context(), &adminpb.CreateBackupRequest{
		Parent: "projects/local/instances/local/clusters/c", BackupId: "monday",
		Backup: &adminpb.Backup{SourceTable: "projects/local/instances/local/tables/fleet", ExpireTime: timestamppb.New(until)},
	})
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`monday</th><td dir="ltr">fleet</td><td>20.* ago.*<td>` + until.UTC().Format("2006-01-02 15:04:05"))
	for text := ""; !row.MatchString(text); time.Sleep(5 * time.Millisecond) { // until it is made
		if text = at.must("/backups"); !strings.Contains(text, "monday") {
			t.Fatal(text)
		}
	}
}

// damage flips a byte of the largest file.
func damage(t *testing.T, place string) {
	largest, size := "", int64(0)
	err := filepath.WalkDir(place, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Size() > size {
			largest, size = path, info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(largest)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Clone(text)
	text[len(text)/2] ^= 1
	_ = os.Chmod(largest, 0o600)
	if err := os.WriteFile(largest, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// The work that one person began is no other's: a token sees and stops its own.
func TestTheWorkOfOneTokenIsNoOthers(t *testing.T) {
	tokens := server.OpenTokens(t.TempDir())
	reader, err := tokens.Create("reader", []server.Grant{{Right: server.Read, Tables: "fleet"}}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	at := newSite(t, tokens)
	at.login(reader)
	for _, path := range []string{"/backups", "/standbys"} {
		if text := at.must(path); !strings.Contains(text, "are shown") || !strings.Contains(text, "admin") {
			t.Errorf("%s without the right to administer:\n%s", path, text)
		}
	}
	for _, act := range []string{"verify", "backup"} {
		text, _ := at.post("/backups", "act", act, "sure", "1")
		for strings.Contains(text, "every 1s") {
			text = at.must("/backups/work")
		}
		if strings.Contains(text, `class="done"`) {
			t.Errorf("%s without the right:\n%s", act, text)
		}
	}
}

// replicas is a server with standbys of all kinds.
type replicas struct {
	standbys.Service
	all *smolwcpb.ListReplicasResponse
}

func (r replicas) ListReplicas(context.Context, *smolwcpb.ListReplicasRequest) (*smolwcpb.ListReplicasResponse, error) {
	return r.all, nil
}
func (replicas) Confirm(ctx context.Context) context.Context { return ctx }
func (replicas) Record(ctx context.Context) context.Context  { return ctx }
func (replicas) Position(context.Context) string             { return "" }
func (replicas) Fenced() <-chan struct{}                     { return nil }
func (replicas) Leads() bool                                 { return true }
func (replicas) Leader() string                              { return "" }

// The page of standbys says of each whether writes wait for it.
func TestThePageOfStandbys(t *testing.T) {
	if text := newSite(t, nil).must("/standbys"); !strings.Contains(text, "this server takes no standbys") {
		t.Errorf("in memory:\n%s", text)
	}
	all := &smolwcpb.ListReplicasResponse{Epoch: 3, Position: 51204, SemiSync: "strict", Acks: 1, Acknowledging: 1, Replicas: []*smolwcpb.Replica{
		{Name: "db2", Address: "10.0.0.2:57656", Applied: 51204, Synced: 51204},
		{Name: "late", DelayMicros: 3_600_000_000, LagMicros: 3_600_500_000, Applied: 40000},
		{Name: "watcher", Observer: true, BehindRecords: 7, BehindBytes: 2048, Verified: &smolwcpb.Verification{Difference: "row a of fleet", BeganMicros: 1}},
	}}
	text := html.UnescapeString(newSite(t, nil, server.Options{Standbys: replicas{all: all}}).must("/standbys"))
	for _, want := range []string{"the primary", "51204 in epoch 3", "for 1 standby (strict)", "yes <span class=\"note\">writes wait until", "delayed by 60 minutes", "observer", "it stays behind", "2 KiB", "different"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	all.Acknowledging, all.FencedBy, all.Untold, all.Lease = 0, "db9:8086", []string{"db7:8086"}, &smolwcpb.Lease{Leader: "db9:8086", Heir: "db3:8086"}
	text = html.UnescapeString(newSite(t, nil, server.Options{Standbys: replicas{all: all}}).must("/standbys"))
	for _, want := range []string{"db9:8086</span> was promoted in its place", "Writes fail", "db7:8086", "others are the synchronous ones"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	all = &smolwcpb.ListReplicasResponse{Standby: true, Primary: "db1:8086", LagMicros: 250_000, DelayMicros: 3_600_000_000, Epoch: 1}
	text = newSite(t, nil, server.Options{Standbys: replicas{all: all}}).must("/standbys")
	for _, want := range []string{"not connected", "60 minutes behind on purpose", "unknown"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
}

// Each page lists the present tables, also a page without a table: some showed the list of an
// earlier visit, or none.
func TestEachPageListsTheTablesOfNow(t *testing.T) {
	for _, path := range []string{"/backups", "/standbys", "/calls", "/query", "/import"} {
		at := newSite(t, nil)
		if text := at.must(path); !strings.Contains(text, `<a href="/tables/fleet">fleet</a>`) {
			t.Errorf("%s lists no tables", path)
		}
		if err := at.db.CreateTable(t.Context(), schema.Table{Name: "newer"}); err != nil {
			t.Fatal(err)
		}
		for !strings.Contains(at.must(path), ">newer</a>") {
			time.Sleep(10 * time.Millisecond) // a client keeps the list for a second
		}
	}
}
