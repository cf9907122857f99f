package query

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/plumbing"
)

// A copy that is made while the format is raised has the marker of its own catalog's
// format.
func TestACopyMadeInTheMidstOfARaise(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	db, err := Open(filepath.Join(dir, "db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.state.Raising.Lock(ctx); err != nil {
		t.Fatal(err)
	}
	err = db.state.WriteCatalog(ctx, func(b *cf.Batch) error { b.PutMeta(catalog.KeyFormat, []byte("2")); return nil })
	if err != nil {
		t.Fatal(err)
	}
	// Freeze copies to a directory, so another process can see the copy before it is
	// complete.
	want := "smolwc database, format 2\n"
	if DefaultEngine() == EnginePebble {
		want += "engine pebble\n"
	}
	copied, done := filepath.Join(db.state.Dir, frozenDir, "MANIFEST-*"), make(chan error, 1)
	go func() {
		done <- db.Plumbing().Freeze(ctx, func(f plumbing.Frozen) error {
			marker, err := os.ReadFile(filepath.Join(f.Dir, "SMOLWC"))
			if f.Format != 2 || string(marker) != want {
				t.Errorf("the copy has format %d and the marker %q, want %q", f.Format, marker, want)
			}
			return err
		})
	}()
	for found, _ := filepath.Glob(copied); len(done) == 0 && len(found) == 0; found, _ = filepath.Glob(copied) {
		time.Sleep(time.Millisecond)
	}
	db.state.Format.Store(2)
	db.state.Raising.Unlock()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
