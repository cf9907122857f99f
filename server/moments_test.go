package server_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/archive/moments"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/server"
)

// backedUp is a server whose own backups go to a target, with a backup of four large rows. Clients may name no place.
func backedUp(t *testing.T) (r *rig, db *query.DB, target string) {
	db, target = onDisk(t), t.TempDir()
	value := make([]byte, 1<<20) // that does not compress
	_, _ = rand.Read(value)
	for i := range 4 {
		m := write.NewMutation()
		m.Set("left", "q", cells.Bytes(value))
		if err := db.Table("t").Apply(t.Context(), fmt.Sprint(i), m); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := (archive.Local{DB: db}).BackUp(t.Context(), target, archive.BackupOptions{}); err != nil {
		t.Fatal(err)
	}
	schedule, err := archive.NewSchedule(db, target, archive.ScheduleOptions{Every: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, db, server.Options{Backups: schedule}), db, target
}

func countRows(t *testing.T, db *query.DB, table string) (n int) {
	t.Helper()
	for _, err := range db.Table(table).ReadRows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// noCopy fails if a restored copy is left.
func noCopy(t *testing.T, db *query.DB) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(db.Dir(), "restoring")); !os.IsNotExist(err) {
		t.Errorf("a restored copy is left: %v", err)
	}
}

// A server brings a table back from its own target, which clients need not be allowed to name, and leaves nothing beside it.
func TestAServerBringsATableBack(t *testing.T) {
	r, db, target := backedUp(t)
	c := r.remotely("")
	m := write.NewMutation()
	m.DeleteRow()
	r.must(db.Table("t").Apply(r.ctx(), "2", m))
	var planned moments.Plan
	var reported archive.Progress
	o := moments.RestoreOptions{RestoreOptions: archive.RestoreOptions{Options: archive.Options{Report: func(p archive.Progress) { reported = p }}}}
	o.Planned = func(p moments.Plan) error { planned = p; return nil }
	res, err := c.RestoreTable(r.ctx(), "", moments.TableRestore{Table: "t", As: "t2"}, o)
	r.must(err)
	if n := countRows(t, db, "t2"); n != 4 || planned.Backup.ID != 1 || reported.Total == 0 || res.Until.IsZero() {
		t.Errorf("%d rows; planned %+v, reported %+v, %+v", n, planned, reported, res)
	}
	noCopy(t, db)
	for _, c := range []struct {
		restore moments.TableRestore
		target  string
		want    string
	}{
		{moments.TableRestore{Table: "t", As: "t2"}, "", `already exists; it is left alone`},
		{moments.TableRestore{Table: "u", As: "t3"}, target, `has no table "u"`},
		{moments.TableRestore{Table: "t", As: "t3", Backup: 7}, "", "no such backup"},
		{moments.TableRestore{Table: "t", As: "t3", Backup: -1}, "", "backups are counted from 1"},
		{moments.TableRestore{Table: "t", As: "t3", At: &moments.Moment{Position: 7}}, "", "there are no segments of the log in the archive"},
		{moments.TableRestore{Table: "t", As: "t3"}, filepath.Join(target, "..", "x"), "may not use"},
		{moments.TableRestore{Table: "t", As: "../t3"}, "", "table"},
	} {
		_, err := r.remotely("").RestoreTable(r.ctx(), c.target, c.restore, moments.RestoreOptions{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v from %q: %v; want %q", c.restore, c.target, err, c.want)
		}
		noCopy(t, db)
	}
	if _, there := db.LookupTable("t3"); there {
		t.Error("a refused restore made a table")
	}
	report, err := c.Moments(r.ctx(), "")
	if err != nil || report.Segments != 0 {
		t.Errorf("%+v, %v", report, err)
	}
	if list, err := c.ListBackups(r.ctx(), ""); err != nil || len(list) == 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

// A restore ends with its client: it leaves no table and no copy, and the next one can begin.
func TestAClientLeavesItsRestore(t *testing.T) {
	r, db, _ := backedUp(t)
	c := r.remotely("")
	ctx, leave := context.WithCancel(r.ctx())
	defer leave()
	slow := moments.RestoreOptions{RestoreOptions: archive.RestoreOptions{Options: archive.Options{Rate: 64 << 10, Report: func(p archive.Progress) {
		if p.Done == 0 {
			return
		}
		_, err := r.remotely("").RestoreTable(r.ctx(), "", moments.TableRestore{Table: "t", As: "t3"}, moments.RestoreOptions{})
		if err == nil || !strings.Contains(err.Error(), "another restore or verification is at work") {
			t.Errorf("a second one at once: %v", err)
		}
		leave()
	}}}}
	if _, err := c.RestoreTable(ctx, "", moments.TableRestore{Table: "t", As: "t2"}, slow); query.KindOf(err) != query.KindCanceled {
		t.Fatalf("after the client left: %v", err)
	}
	for { // the server notices it with a delay
		_, err := c.RestoreTable(r.ctx(), "", moments.TableRestore{Table: "t", As: "t2"}, moments.RestoreOptions{})
		if err == nil {
			break
		}
		if !strings.Contains(err.Error(), "another restore or verification is at work") {
			t.Fatal(err)
		}
	}
	noCopy(t, db)
	if _, there := db.LookupTable("t3"); there {
		t.Error("the refused restore made a table")
	}
}

// An object store that does not answer holds up a restore and nothing else, until its client leaves.
func TestARestoreFromAStoreThatHangs(t *testing.T) {
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"} {
		t.Setenv(name, value)
	}
	asked, ended := make(chan bool), make(chan struct{})
	store := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case asked <- true:
		case <-ended:
		}
		select {
		case <-r.Context().Done():
		case <-ended:
		}
	}))
	defer store.Close()
	defer close(ended)
	db := onDisk(t)
	r := serve(t, db, server.Options{BackupTo: archive.Places{archive.AnyPlace}})
	target := "s3://bucket/fleet?endpoint=" + store.URL
	for range 2 {
		ctx, leave := context.WithCancel(r.ctx())
		failed := make(chan error, 1)
		go func() {
			_, err := r.remotely("").RestoreTable(ctx, target, moments.TableRestore{Table: "t", As: "t2"}, moments.RestoreOptions{})
			failed <- err
		}()
		select {
		case <-asked:
		case err := <-failed:
			t.Fatal(err)
		}
		m := write.NewMutation()
		m.Set("left", "q", cells.String("v"))
		began := time.Now()
		r.must(r.remotely("").Table("t").Apply(r.ctx(), "while it hangs", m))
		r.must(db.Table("t").Flush(r.ctx()))
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("a write took %v", took)
		}
		leave()
		if err := <-failed; query.KindOf(err) != query.KindCanceled {
			t.Errorf("after the client left: %v", err)
		}
		for { // the server notices it with a delay
			_, err := r.remotely("").RestoreTable(r.ctx(), "/nowhere", moments.TableRestore{Table: "t", As: "t2"}, moments.RestoreOptions{})
			if err != nil && !strings.Contains(err.Error(), "another restore or verification is at work") {
				break
			}
		}
	}
	noCopy(t, db)
}

// What a server that was killed has left of a restore goes when it starts again.
func TestALeftCopyIsRemoved(t *testing.T) {
	db := onDisk(t)
	if err := os.MkdirAll(filepath.Join(db.Dir(), "restoring", "smolwc-restore-1", "backup.restoring-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := serve(t, db, server.Options{})
	_, _ = r.remotely("").ListBackups(r.ctx(), "") // it serves then
	noCopy(t, db)
}

// A plan for which the disk has no room is refused before anything is read.
func TestARestoreNeedsRoom(t *testing.T) {
	p := moments.Plan{Backup: archive.Generation{Size: 100}, Bytes: 10}
	if err := p.Fits(200); err != nil {
		t.Error(err)
	}
	if err := p.Fits(150); query.KindOf(err) != query.KindFailedPrecondition || !strings.Contains(err.Error(), "it takes about 140 bytes, and 150 are free") {
		t.Error(err)
	}
}

// momentsCalls are the calls about moments, with their errors.
func (r *rig) momentsCalls(c *client.Client, target string) map[string]error {
	_, look := c.Moments(r.ctx(), target)
	_, verify := c.VerifyMoments(r.ctx(), target, moments.VerifyOptions{})
	_, restore := c.RestoreTable(r.ctx(), target, moments.TableRestore{Table: "t", As: "restored"}, moments.RestoreOptions{})
	return map[string]error{"moments": look, "verify moments": verify, "restore table": restore}
}
