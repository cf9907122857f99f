//go:build cgo && linux && !norocksdb

package recovery_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/smolwc/smolwc/cf/internal/wal"
	"github.com/smolwc/smolwc/cf/rocks"
	"github.com/smolwc/smolwc/cf/rocks/internal/recovery"
)

// Any bytes of SYNCED or of a record of the manifest are read or refused. The lengths
// that are read from SYNCED are those in its lines.
func FuzzRecovery(f *testing.F) {
	dir := f.TempDir()
	s, err := rocks.Open(dir, rocks.Options{})
	if err != nil {
		f.Fatal(err)
	}
	if err := errors.Join(s.CreateFamily(f.Context(), "t"), s.DropFamily(f.Context(), "t"), s.Close()); err != nil {
		f.Fatal(err)
	}
	said, err := recovery.ReadSynced(dir)
	if err != nil || len(said.Files) == 0 {
		f.Fatal(said, err)
	}
	f.Add(said.Text)
	for name := range said.Files {
		state := wal.State{Path: filepath.Join(dir, name), Synced: -1, Take: func(record []byte) { f.Add(slices.Clone(record)) }}
		if err := state.Check(); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if names, dropped := recovery.NoteFamilies(b, b); len(dropped) > names {
			t.Errorf("%d families, and %q were dropped", names, dropped)
		}
		files, err := wal.ParseSynced(b)
		for name, size := range files {
			if err != nil || !bytes.Contains(b, fmt.Appendf(nil, "%s ", name)) || size < 0 {
				t.Errorf("%q: %d, %v", name, size, err)
			}
		}
	})
}

// TestTheManifestNamesDroppedFamilies: those that were dropped and not created again.
func TestTheManifestNamesDroppedFamilies(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	s, err := rocks.Open(dir, rocks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.CreateFamily(ctx, "gone", "back", "kept"), s.DropFamily(ctx, "gone", "back"), s.CreateFamily(ctx, "back"), s.Close()); err != nil {
		t.Fatal(err)
	}
	found, err := recovery.Check(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(found.Dropped, []string{"gone"}) {
		t.Errorf("dropped: %q", found.Dropped)
	}
}
