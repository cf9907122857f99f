package cli

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/plumbing"
	"github.com/smolwc/smolwc/query/write"
)

// A backupModel is what a table should have: a client writes each row to both.
type backupModel map[string]string

// write writes rows with large values too, which are in blob files.
func (m backupModel) write(t *testing.T, s *served, round string, rows int) {
	t.Helper()
	db, err := client.Dial(s.addr, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // no call is running
	for i := range rows {
		key, value := fmt.Sprintf("row-%03d", i), fmt.Sprintf("%s-%d", round, i)
		if i%10 == 0 {
			value = strings.Repeat(value, 2000)
		}
		mutation := write.NewMutation()
		mutation.Set("meta", "x", cells.Bytes([]byte(value)))
		if err := db.Table("fleet").Apply(t.Context(), key, mutation); err != nil {
			t.Fatal(err)
		}
		m[key] = value
	}
}

// rowsOfFleet are the newest values of a database.
func rowsOfFleet(t *testing.T, db *query.DB) backupModel {
	t.Helper()
	rows := backupModel{}
	for row, err := range db.Table("fleet").ReadRows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		value, _ := row.Bytes("meta", "x")
		rows[row.Key()] = string(value)
	}
	return rows
}

// wantBackup restores a backup, and compares its rows with the model. The database takes writes,
// and is no standby.
func wantBackup(t *testing.T, a *archive.Archive, id int, want backupModel) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "restored")
	if _, err := a.Restore(t.Context(), id, dir, archive.RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	db, err := query.Open(dir, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	if got := rowsOfFleet(t, db); !maps.Equal(got, want) {
		for _, key := range slices.Sorted(maps.Keys(want)) {
			if got[key] != want[key] {
				t.Errorf("backup %d: row %s is %.40q, and should be %.40q", id, key, got[key], want[key])
				break
			}
		}
		t.Errorf("backup %d has %d rows; want %d", id, len(got), len(want))
	}
	mutation := write.NewMutation()
	mutation.Set("meta", "x", cells.Bytes([]byte("later")))
	if err := db.Table("fleet").Apply(t.Context(), "later", mutation); err != nil {
		t.Errorf("backup %d takes no writes: %v", id, err)
	}
	return dir
}

func archiveAt(t *testing.T, place string) *archive.Archive {
	t.Helper()
	a, err := archive.Open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// caughtUp waits until a standby has all changes of its primary.
func caughtUp(t *testing.T, p, s *served) {
	t.Helper()
	at := newestPosition(t, p)
	for newestPosition(t, s) < at {
		if t.Context().Err() != nil {
			t.Fatal("the standby does not catch up")
		}
		time.Sleep(time.Millisecond)
	}
}

// Two servers back up to one place, by turns, each in each role and while it is stopped: each backup
// has the rows of its moment, though their files have the same names.
func TestBackupsOfAPair(t *testing.T) {
	dir := t.TempDir()
	place := filepath.Join(dir, "backups")
	a := startServer(t, "--db", filepath.Join(dir, "a"), "--history", "off")
	tell(t, "--addr", a.addr, "-c", "create table fleet family meta")
	b := startServer(t, "--db", filepath.Join(dir, "b"), "--standby-of", a.addr, "--history", "off")
	await(t, "standby of "+a.addr+": connected", "replicas", "--addr", b.addr)
	model, want := backupModel{}, []backupModel{}
	backup := func(args ...string) {
		t.Helper()
		if got := tell(t, append([]string{"backup", place}, args...)...); !strings.Contains(got, fmt.Sprintf("backed up as %d:", len(want)+1)) {
			t.Fatalf("backup %d: %q", len(want)+1, got)
		}
		want = append(want, maps.Clone(model))
	}
	lead, other := a, b
	for round := range 3 {
		for i, from := range []*served{lead, other} {
			model.write(t, lead, fmt.Sprint(round, "-", i), 60)
			caughtUp(t, lead, other)
			backup("--addr", from.addr)
		}
		if got := tell(t, "switchover", "--to", other.addr); !strings.Contains(got, other.addr+" is the primary: epoch") {
			t.Fatalf("switchover: %q", got)
		}
		lead, other = other, lead
	}
	copied := filepath.Join(dir, "checkpoint")
	if got := tell(t, "--addr", other.addr, "checkpoint", copied); strings.Contains(got, "error") {
		t.Errorf("a checkpoint of a standby: %q", got)
	}
	otherDir := filepath.Join(dir, map[*served]string{a: "a", b: "b"}[other])
	if got := tell(t, "--db", otherDir, "backup", place); !strings.Contains(got, "--addr") {
		t.Errorf("a backup beside the server: %q", got)
	}
	if err := other.end(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	backup("--db", otherDir)
	if got := tell(t, "replicas", "--addr", startServer(t, "--db", otherDir, "--standby-of", lead.addr).addr); !strings.Contains(got, "standby of "+lead.addr) {
		t.Errorf("after a backup the standby is: %q", got)
	}
	backups := archiveAt(t, place)
	for i, rows := range want {
		wantBackup(t, backups, i+1, rows)
	}
	db, err := query.Open(copied, query.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := rowsOfFleet(t, db); !maps.Equal(got, model) {
		t.Errorf("the checkpoint of a standby has %d rows; want %d", len(got), len(model))
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// Backups on a schedule are made by the server with the role that the flag names, also after
// roles have changed, and by one of several.
func TestBackupsOfARole(t *testing.T) {
	for _, from := range []string{"standby", "primary", "any"} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			place := filepath.Join(dir, "backups")
			flags := []string{"--backup", place, "--backup-every", "1s", "--backup-from", from, "--http", "127.0.0.1:0"}
			a := startServer(t, append(flags, "--db", filepath.Join(dir, "a"))...)
			tell(t, "--addr", a.addr, "-c", "create table fleet family meta")
			b := startServer(t, append(flags, "--db", filepath.Join(dir, "b"), "--standby-of", a.addr)...)
			await(t, "standby of "+a.addr+": connected", "replicas", "--addr", b.addr)
			model := backupModel{}
			made := func(s *served) string { // by this process
				for line := range strings.Lines(s.page(t, "metrics")) {
					if strings.HasPrefix(line, "smolwc_backup_total ") {
						return strings.TrimSpace(line)
					}
				}
				return ""
			}
			more := func(s *served) {
				t.Helper()
				for range 2 { // one may have begun before
					for before := made(s); made(s) == before; time.Sleep(5 * time.Millisecond) {
						if t.Context().Err() != nil {
							t.Fatal("no backup")
						}
					}
				}
			}
			lead, other := a, b
			for round := range 2 {
				model.write(t, lead, fmt.Sprint(round), 20)
				caughtUp(t, lead, other)
				switch from {
				case "standby":
					more(other)
					if got := made(lead); got != "" {
						t.Errorf("the primary backs up: %s", got)
					}
				case "primary":
					more(lead)
					if got := made(other); got != "" {
						t.Errorf("the standby backs up: %s", got)
					}
				default:
					newest := func() int {
						all, err := archiveAt(t, place).List(t.Context())
						if err != nil || len(all) == 0 {
							return 0
						}
						return all[len(all)-1].ID
					}
					for before := newest(); newest() < before+2; time.Sleep(5 * time.Millisecond) { // one may have begun before
						if t.Context().Err() != nil {
							t.Fatal("no backup")
						}
					}
				}
				if round == 0 {
					if got := tell(t, "switchover", "--to", other.addr); !strings.Contains(got, lead.addr+" is its standby") {
						t.Fatalf("switchover: %q", got)
					}
					lead, other = other, lead
				}
			}
			if from == "standby" { // a promotion: nobody is left that backs up, until the old primary follows
				if err := lead.end(syscall.SIGKILL); err == nil {
					t.Error("the primary was not killed")
				}
				tell(t, "promote", "--addr", other.addr)
				if got := made(other); got != "" {
					t.Errorf("the standby was promoted, and backs up: %s", got)
				}
				lead, other = other, startServer(t, append(flags, "--db", filepath.Join(dir, map[*served]string{a: "a", b: "b"}[lead]), "--standby-of", other.addr)...)
				model.write(t, lead, "promoted", 20)
				caughtUp(t, lead, other)
				more(other)
			}
			for _, s := range []*served{lead, other} {
				if err := s.end(syscall.SIGTERM); err != nil {
					t.Errorf("a server ends with %v", err)
				}
				if text := s.log.String(); strings.Contains(text, "was not backed up on schedule") {
					t.Errorf("a backup has failed: %s", text)
				}
			}
			backups := archiveAt(t, place)
			all, err := backups.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i := 1; i < len(all); i++ {
				if apart := all[i].Time.Sub(all[i-1].Time); apart < 900*time.Millisecond {
					t.Errorf("backups %d and %d are %v apart", all[i-1].ID, all[i].ID, apart)
				}
			}
			wantBackup(t, backups, archive.Latest, model)
		})
	}
}

// A restored backup of a standby is a primary of its own: a promotion in the pair does not fence
// it, and neither it nor its standby is taken for one of the pair.
func TestARestoredBackupOfAStandbyIsAPrimary(t *testing.T) {
	dir := t.TempDir()
	place, restored := filepath.Join(dir, "backups"), filepath.Join(dir, "restored")
	a := startServer(t, "--db", filepath.Join(dir, "a"))
	tell(t, "--addr", a.addr, "-c", "create table fleet family meta; put fleet k meta:x=pair")
	b := startServer(t, "--db", filepath.Join(dir, "b"), "--standby-of", a.addr)
	await(t, "standby of "+a.addr+": connected", "replicas", "--addr", b.addr)
	caughtUp(t, a, b)
	tell(t, "--addr", b.addr, "backup", place)
	if _, err := archiveAt(t, place).Restore(t.Context(), archive.Latest, restored, archive.RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{plumbing.StandbyFile, plumbing.FencedFile, plumbing.PromotedFile} {
		if _, err := os.Stat(filepath.Join(restored, name)); err == nil {
			t.Errorf("the restored directory has a file %s", name)
		}
	}
	r := startServer(t, "--db", restored)
	s := startServer(t, "--db", filepath.Join(dir, "s"), "--standby-of", r.addr)
	await(t, "standby of "+r.addr+": connected", "replicas", "--addr", s.addr)
	if got := tell(t, "switchover", "--to", s.addr, "--addr", a.addr); !strings.Contains(got, "does not follow this server") {
		t.Errorf("a switchover to the standby of the restored database: %q", got)
	}
	if got := tell(t, "promote", "--addr", b.addr); !strings.Contains(got, "is the primary: epoch 2") {
		t.Errorf("promote: %q", got)
	}
	if got := tell(t, "--addr", r.addr, "-c", "put fleet k meta:x=restored; get fleet k"); !strings.Contains(got, "restored") {
		t.Errorf("a write to the restored database: %q", got)
	}
	if got := tell(t, "replicas", "--addr", r.addr); !strings.Contains(got, "is a primary: epoch 1") {
		t.Errorf("the restored database is: %q", got)
	}
	caughtUp(t, r, s)
	for server, want := range map[*served]string{b: "pair", s: "restored"} {
		if got := tell(t, "--addr", server.addr, "-c", "get fleet k"); !strings.Contains(got, want) {
			t.Errorf("%s has %q; want %s", server.addr, got, want)
		}
	}
	if err := b.end(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if text := tell(t, "serve", "--db", filepath.Join(dir, "b"), "--addr", "127.0.0.1:0", "--standby-of", r.addr); !strings.Contains(text, "another database") {
		t.Errorf("a primary of the pair as a standby of the restored database: %q", text)
	}
}

func TestWrongFlagsOfBackups(t *testing.T) {
	dir := t.TempDir()
	for args, want := range map[string]string{
		"--backup-from standby":                            "--backup-from goes with --backup TARGET",
		"--backup x --backup-from replica":                 `--backup-from is "replica"; want primary, standby or any`,
		"--backup x --backup-from standby --standby-log 0": "leave one of them out",
		"--backup x --standby-of 127.0.0.1:1":              "unless --backup-from says so",
	} {
		if got := tell(t, append([]string{"serve", "--db", filepath.Join(dir, "none"), "--addr", "127.0.0.1:0"}, strings.Fields(args)...)...); !strings.Contains(got, want) {
			t.Errorf("serve %s: %q; want %q", args, got, want)
		}
	}
}
