package query

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
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
	copied, done := filepath.Join(db.state.Dir, frozenDir, "CURRENT"), make(chan error, 1)
	go func() {
		done <- db.Freeze(ctx, func(f Frozen) error {
			marker, err := os.ReadFile(filepath.Join(f.Dir, "SMOLWC"))
			if want := "smolwc database, format 2\n"; f.Format != 2 || string(marker) != want {
				t.Errorf("the copy has format %d and the marker %q, want %q", f.Format, marker, want)
			}
			return err
		})
	}()
	for _, err := os.Stat(copied); len(done) == 0 && errors.Is(err, os.ErrNotExist); _, err = os.Stat(copied) {
		time.Sleep(time.Millisecond)
	}
	db.state.Format.Store(2)
	db.state.Raising.Unlock()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
