package archive

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
)

// blobbed is a database with a large blob file, and backup 1 of it.
func blobbed(t *testing.T) (db *query.DB, a *Archive, blob string) {
	t.Helper()
	dir := t.TempDir()
	db, a = openTestDB(t, filepath.Join(dir, "db")), archiveIn(filepath.Join(dir, "backups"))
	m := write.NewMutation()
	for i := range 4 {
		m.Set("big", string(rune('a'+i)), cells.Bytes(bytesOf(rand.New(rand.NewPCG(1, uint64(i))), 512<<10)))
	}
	if err := db.Table("t").Apply(t.Context(), "row", m); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Backup(t.Context(), db, BackupOptions{}); err != nil {
		t.Fatal(err)
	}
	blobs, err := filepath.Glob(filepath.Join(db.Dir(), "*.blob"))
	if err != nil || len(blobs) != 1 {
		t.Fatalf("blob files %v, %v", blobs, err)
	}
	return db, a, blobs[0]
}

// sumIn is the sum of a file in a generation.
func sumIn(t *testing.T, a *Archive, id int, name string) Sum {
	t.Helper()
	m, err := a.manifest(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range m.Files {
		if f.Name == name {
			return f.Sum
		}
	}
	t.Fatalf("generation %d has no %s", id, name)
	return Sum{}
}

// A blob file that was backed up is neither sent nor read again: a byte of it that was
// damaged meanwhile does not get into the backup. A file that was written again, with
// the same name and the same end, is another file.
func TestABlobFileIsBackedUpOnce(t *testing.T) {
	db, a, blob := blobbed(t)
	want := visible(t, db)
	info, err := os.Stat(blob)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(blob)
	if err != nil {
		t.Fatal(err)
	}
	change := func(written time.Time) {
		t.Helper()
		text[1000] ^= 1
		if err := errors.Join(os.WriteFile(blob, text, 0o644), os.Chtimes(blob, time.Time{}, written)); err != nil {
			t.Fatal(err)
		}
	}
	change(info.ModTime())
	res, err := a.Backup(t.Context(), db, BackupOptions{})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(blob)
	if res.SentBytes > info.Size()/10 || sumIn(t, a, 2, name) != sumIn(t, a, 1, name) {
		t.Errorf("the blob file was read again: %+v", res)
	}
	to := filepath.Join(t.TempDir(), "restored")
	if _, err := a.Restore(t.Context(), 2, to, RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	if contentOf(t, to) != want {
		t.Error("another content was restored")
	}
	text[2000] ^= 1
	change(info.ModTime().Add(time.Nanosecond))
	if res, err = a.Backup(t.Context(), db, BackupOptions{}); err != nil {
		t.Fatal(err)
	}
	if res.SentBytes < info.Size() || sumIn(t, a, 3, name) == sumIn(t, a, 1, name) {
		t.Errorf("a blob file that was written anew was taken for the old one: %+v", res)
	}
}

// Two servers of a pair write files with the same names: a blob file of another directory is read,
// also if it has the same name, size, time and end.
func TestABlobFileOfAnotherDirectoryIsAnotherFile(t *testing.T) {
	db, a, blob := blobbed(t)
	info, err := os.Stat(blob)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := errors.Join(db.Close(), os.CopyFS(other, os.DirFS(filepath.Dir(blob))), os.RemoveAll(filepath.Join(other, "IDENTITY"))); err != nil {
		t.Fatal(err)
	}
	there := filepath.Join(other, filepath.Base(blob))
	text, err := os.ReadFile(there)
	if err != nil {
		t.Fatal(err)
	}
	text[1000] ^= 1
	if err := errors.Join(os.WriteFile(there, text, 0o644), os.Chtimes(there, time.Time{}, info.ModTime())); err != nil {
		t.Fatal(err)
	}
	res, err := a.Backup(t.Context(), openTestDB(t, other), BackupOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if name := filepath.Base(blob); res.SentBytes < info.Size() || sumIn(t, a, 2, name) == sumIn(t, a, 1, name) {
		t.Errorf("a blob file of another directory was taken for one that was backed up: %+v", res)
	}
}

// Two table files of Pebble can have one name, one size and one end, and differ before it:
// the time and the directory tell them apart.
func TestTableFilesOfPebbleAreNotKnownByTheirEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "000010.sst")
	tail := func(first byte, at time.Time, dir string, named bool) Sum {
		t.Helper()
		text := make([]byte, 2*tailSize)
		text[0] = first
		if err := errors.Join(os.WriteFile(path, text, 0o644), os.Chtimes(path, time.Time{}, at)); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		sum, err := tailOf(f, int64(len(text)), dir, named)
		if err != nil || sum == nil {
			t.Fatal(sum, err)
		}
		return *sum
	}
	at := time.Unix(1000, 0)
	was := tail(1, at, "1 2", true)
	if tail(1, at, "1 2", true) != was {
		t.Error("one file has two identities")
	}
	if tail(2, at.Add(time.Nanosecond), "1 2", true) == was || tail(2, at, "1 3", true) == was {
		t.Error("two files have one identity")
	}
	if tail(1, at, "1 2", false) != tail(1, at.Add(time.Hour), "1 3", false) {
		t.Error("a table file of RocksDB is known by more than its end")
	}
}

// Older manifests, which identify only table files, can be listed, verified and
// restored; the next backup reads the blob file and does not send it.
func TestManifestsWithoutTheEndsOfBlobFiles(t *testing.T) {
	db, a, blob := blobbed(t)
	ctx := t.Context()
	m, err := a.manifest(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.Files {
		if strings.HasSuffix(m.Files[i].Name, ".blob") {
			m.Files[i].Tail = nil
		}
	}
	text, err := m.encode()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(a.target, filepath.FromSlash(manifestKey(1)))
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if report, err := a.Verify(ctx, Options{}); err != nil || report.Generations != 1 || report.Unused != 0 {
		t.Errorf("verify %+v, %v", report, err)
	}
	to := filepath.Join(t.TempDir(), "restored")
	if _, err := a.Restore(ctx, Latest, to, RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	if contentOf(t, to) != visible(t, db) {
		t.Error("another content was restored")
	}
	res, err := a.Backup(ctx, db, BackupOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(blob); err != nil || res.SentBytes > info.Size()/10 {
		t.Errorf("the blob file was sent again: %+v, %v", res, err)
	}
	if report, err := a.Verify(ctx, Options{}); err != nil || report.Generations != 2 {
		t.Errorf("verify %+v, %v", report, err)
	}
}
