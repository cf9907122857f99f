package server_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

// onDisk is a database with the table t of two families, in a directory.
func onDisk(t *testing.T) *query.DB {
	t.Helper()
	db, err := query.Open(filepath.Join(t.TempDir(), "db"), query.Options{
		Durability: query.DurabilityAsync,
		Schema:     &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "left"}, {Name: "right"}}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// remotely is the client of a shell.
func (r *rig) remotely(token string) *client.Client {
	r.t.Helper()
	c, err := client.Dial(r.addr, client.Options{Token: token})
	r.must(err)
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

// A served database is backed up by its server while clients write: the restored
// database is of one moment, with all writes acknowledged before the call.
func TestAServedDatabaseIsBackedUp(t *testing.T) {
	db := onDisk(t)
	place := t.TempDir()
	r := serve(t, db, server.Options{BackupTo: archive.Places{place}})
	ctx, stop := context.WithCancel(r.ctx())
	var acknowledged atomic.Int64
	done := make(chan error, 1)
	go func() {
		for i := int64(0); ctx.Err() == nil; i++ {
			m := write.NewMutation()
			m.Set("left", "n", cells.I64(i))
			m.Set("right", "n", cells.I64(i))
			if err := db.Table("t").Apply(context.Background(), fmt.Sprintf("%09d", i), m); err != nil {
				done <- err
				return
			}
			acknowledged.Store(i + 1)
		}
		done <- nil
	}()
	client, target := r.remotely(""), filepath.Join(place, "backups")
	var before [2]int64
	var reported archive.Progress
	for i := range before {
		for acknowledged.Load() < int64(1000*(i+1)) {
			if err := ctx.Err(); err != nil {
				t.Fatal(err)
			}
		}
		before[i] = acknowledged.Load()
		res, err := client.BackUp(r.ctx(), target, archive.BackupOptions{Options: archive.Options{Report: func(p archive.Progress) { reported = p }}})
		r.must(err)
		if res.ID != i+1 || res.SentFiles == 0 || res.Time.IsZero() || res.Elapsed <= 0 {
			t.Errorf("backup %d: %+v", i+1, res)
		}
		target = "" // where the last one went
	}
	stop()
	r.must(<-done)
	if reported.Total == 0 || reported.Done > reported.Total {
		t.Errorf("the client heard of %+v", reported)
	}
	list, err := client.ListBackups(r.ctx(), "")
	r.must(err)
	if len(list) != 2 || list[1].ID != 2 || list[1].Size == 0 {
		t.Errorf("the backups are %+v", list)
	}
	report, err := client.VerifyBackups(r.ctx(), "", archive.Options{})
	if err != nil || report.Generations != 2 || report.Bytes == 0 {
		t.Errorf("verified %+v: %v", report, err)
	}
	r.must(client.Checkpoint(r.ctx(), filepath.Join(place, "copy")))
	for i, least := range before {
		dir := filepath.Join(t.TempDir(), "restored")
		a, err := archive.Open(r.ctx(), filepath.Join(place, "backups"))
		r.must(err)
		_, err = a.Restore(r.ctx(), i+1, dir, archive.RestoreOptions{})
		r.must(err)
		if n := oneMoment(t, dir); n < least || n > acknowledged.Load() {
			t.Errorf("backup %d has %d rows; %d were acknowledged before it, and %d in the end", i+1, n, least, acknowledged.Load())
		}
	}
	if n := oneMoment(t, filepath.Join(place, "copy")); n < before[1] {
		t.Errorf("the copy has %d rows of at least %d", n, before[1])
	}
}

// oneMoment counts the rows of a database that was written row by row: there are no
// gaps, and each row is whole.
func oneMoment(t *testing.T, dir string) (n int64) {
	t.Helper()
	db, err := query.Open(dir, query.Options{MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for row, err := range db.Table("t").ReadRows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if row.Key() != fmt.Sprintf("%09d", n) || len(slices.Collect(row.Cells())) != 2 {
			t.Fatalf("row %d is %q with %d cells", n, row.Key(), len(slices.Collect(row.Cells())))
		}
		n++
	}
	return n
}

// A backup ends with its client: it leaves no generation, its lock is released, and the
// next backup does not send the same files again.
func TestAClientLeavesItsBackup(t *testing.T) {
	db := onDisk(t)
	value := make([]byte, 1<<20) // that does not compress
	_, _ = rand.Read(value)
	for i := range 4 {
		m := write.NewMutation()
		m.Set("left", "q", cells.Bytes(value))
		if err := db.Table("t").Apply(t.Context(), fmt.Sprint(i), m); err != nil {
			t.Fatal(err)
		}
	}
	place := t.TempDir()
	r := serve(t, db, server.Options{BackupTo: archive.Places{place}})
	client := r.remotely("")
	ctx, leave := context.WithCancel(r.ctx())
	defer leave()
	slow := archive.BackupOptions{Options: archive.Options{Rate: 64 << 10, Report: func(p archive.Progress) {
		if p.Done > 0 {
			leave()
		}
	}}}
	if _, err := client.BackUp(ctx, place, slow); query.KindOf(err) != query.KindCanceled {
		t.Fatalf("after the client left: %v", err)
	}
	for { // the server notices it with a delay
		_, err := client.BackUp(r.ctx(), place, archive.BackupOptions{})
		if err == nil {
			break
		}
		if !strings.Contains(err.Error(), archive.ErrLocked.Error()) {
			t.Fatal(err)
		}
	}
	list, err := client.ListBackups(r.ctx(), place)
	if err != nil || len(list) != 1 {
		t.Errorf("there are %+v: %v", list, err)
	}
}

// Calls about the whole database need a token that may administer all tables, and use
// only places that the server's operator allows.
func TestWhoMayHaveABackupAndWhere(t *testing.T) {
	db := onDisk(t)
	place := t.TempDir()
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(place, "out")); err != nil {
		t.Fatal(err)
	}
	tokens := server.OpenTokens(t.TempDir())
	var never time.Time
	owner := newToken(t, tokens, "owner", never, grant(server.Admin, "t"), grant(server.Write, "*"))
	operator := newToken(t, tokens, "operator", never, grant(server.Admin, "*"))
	r := serve(t, db, server.Options{Tokens: tokens, BackupTo: archive.Places{place, "s3://bucket/fleet"}})
	calls := func(c *client.Client, target string) map[string]error {
		_, backup := c.BackUp(r.ctx(), target, archive.BackupOptions{})
		_, list := c.ListBackups(r.ctx(), target)
		_, verify := c.VerifyBackups(r.ctx(), target, archive.Options{})
		all := r.momentsCalls(c, target)
		maps.Copy(all, map[string]error{"back up": backup, "list": list, "verify": verify, "checkpoint": c.Checkpoint(r.ctx(), target)})
		return all
	}
	for _, c := range []struct{ token, target, want string }{
		{"", place, "this server requires a token"},
		{owner, place, `token "owner" has no right to admin all tables; one that has is made with: smolwc --db DIR token create NAME --admin '*'`},
		{operator, "backups", "absolute"},
		{operator, outside, "smolwc serve --backup-to " + outside},
		{operator, place + "er", "may not use"},
		{operator, filepath.Join(place, "..", "x"), "may not use"},
		{operator, filepath.Join(place, "out", "x"), "may not use"},
		{operator, "/", "may not use"},
	} {
		for call, err := range calls(r.remotely(c.token), c.target) {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s at %s: %v; want %q", call, c.target, err, c.want)
			}
		}
	}
	for _, target := range []string{"s3://bucket", "s3://bucket/fleeting", "s3://bucket/fleet/../x", "s3://other/fleet", "s3://bucket/fleet?endpoint=http://127.0.0.1:1"} {
		if _, err := r.remotely(operator).BackUp(r.ctx(), target, archive.BackupOptions{}); err == nil || !strings.Contains(err.Error(), "may not use") {
			t.Errorf("backup to %s: %v", target, err)
		}
	}
	for _, dir := range []string{place, outside} {
		if entries, err := os.ReadDir(dir); err != nil || dir == place && len(entries) != 1 || dir == outside && len(entries) != 0 {
			t.Errorf("%s has %v: %v", dir, entries, err)
		}
	}
	if _, err := r.remotely(operator).BackUp(r.ctx(), filepath.Join(place, "backups"), archive.BackupOptions{Keep: -1}); query.KindOf(err) != query.KindInvalidArgument {
		t.Errorf("keep=-1: %v", err)
	}
	_, err := r.remotely(operator).BackUp(r.ctx(), filepath.Join(place, "backups"), archive.BackupOptions{Keep: 1})
	r.must(err)
}

// A server without allowed places makes no backups for clients, not even to the place
// of its operator's last backup.
func TestNoPlaceForBackups(t *testing.T) {
	db := onDisk(t)
	target := t.TempDir()
	if _, err := (archive.Local{DB: db}).BackUp(t.Context(), target, archive.BackupOptions{}); err != nil {
		t.Fatal(err)
	}
	r := serve(t, db, server.Options{})
	for _, named := range []string{"", target} {
		if _, err := r.remotely("").BackUp(r.ctx(), named, archive.BackupOptions{}); err == nil || !strings.Contains(err.Error(), "smolwc serve --backup-to "+target) {
			t.Errorf("backup to %q: %v", named, err)
		}
	}
}

// A verification names the damaged files, and fails.
func TestDamageIsReportedToTheClient(t *testing.T) {
	db := onDisk(t)
	target := t.TempDir()
	r := serve(t, db, server.Options{BackupTo: archive.Places{archive.AnyPlace}})
	client := r.remotely("")
	res, err := client.BackUp(r.ctx(), target, archive.BackupOptions{})
	r.must(err)
	objects, err := filepath.Glob(filepath.Join(target, "objects", "*", "*"))
	if err != nil || len(objects) == 0 {
		t.Fatal(objects, err)
	}
	r.must(os.WriteFile(objects[0], []byte("other"), 0o600))
	report, err := client.VerifyBackups(r.ctx(), "", archive.Options{})
	if query.KindOf(err) != query.KindCorruption || len(report.Damage) == 0 || report.Damage[0].Generation != res.ID || !strings.HasSuffix(objects[0], report.Damage[0].Object) {
		t.Errorf("%+v: %v", report.Damage, err)
	}
}
