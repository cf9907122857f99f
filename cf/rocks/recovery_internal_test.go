//go:build cgo && linux && !norocksdb

package rocks

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/wal"
	"github.com/smolwc/smolwc/cf/rocks/internal/recovery"
)

// A log of any bytes is sound, torn or damaged, and records that count as whole stay
// whole when more comes.
func FuzzLog(f *testing.F) {
	dir := f.TempDir()
	s, err := Open(dir, Options{})
	if err != nil {
		f.Fatal(err)
	}
	if err := errors.Join(s.CreateFamily(f.Context(), "t"), s.Close()); err != nil {
		f.Fatal(err)
	}
	for _, pattern := range []string{"MANIFEST-*", "*.log"} {
		files, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b, uint8(3))
			f.Add(b[:len(b)*2/3], uint8(0))
		}
	}
	f.Add([]byte{}, uint8(0))
	f.Add(make([]byte, 100), uint8(9))
	f.Fuzz(func(t *testing.T, b []byte, cut uint8) {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		state, err := wal.Check(path, recovery.MarkerPrefix)
		if err != nil && !errors.Is(err, cf.ErrCorrupt) {
			t.Fatal(err)
		}
		if err != nil || state.Torn || int(cut) > len(b) {
			return
		}
		if err := os.Truncate(path, int64(len(b)-int(cut))); err != nil {
			t.Fatal(err)
		}
		if shorter, err := wal.Check(path, recovery.MarkerPrefix); err != nil || shorter.Records > state.Records {
			t.Fatalf("cut off by %d: %+v, %v; it was %+v", cut, shorter, err, state)
		}
	})
}

// A process reads the files, and gets the lock only after another process has had the
// database open. It does not open the database with what it read.
func TestAnotherOpenedInBetween(t *testing.T) {
	dir := shm(t)
	s, err := Open(dir, Options{})
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(Options{})
	defer e.destroy()
	r, err := recovery.Check(dir)
	if err != nil {
		t.Fatal(err)
	}
	e.recovered(r)
	if s, err = Open(dir, Options{}); err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	late := &Store{engine: e, dir: dir}
	if err := late.openFamilies(dir, []string{catalogFamily}); !errors.Is(err, cf.ErrBusy) {
		t.Errorf("opened by what was read before: %v", err)
	}
}

// TestADatabaseBeingCreated: before the first manifest is in force, and before the
// catalog has an entry, the error asks a reader to try again, and a writer creates the
// database.
func TestADatabaseBeingCreated(t *testing.T) {
	dir := shm(t)
	if err := os.WriteFile(filepath.Join(dir, "MANIFEST-000001"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{ReadOnly: true}); !errors.Is(err, ErrCreating) {
		t.Errorf("reading: %v", err)
	}
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := OpenFollower(dir, Options{}); !errors.Is(err, ErrCreating) || !errors.Is(err, cf.ErrUnavailable) {
		t.Errorf("reading: %v", err)
	}
	if err := s.PutMeta(t.Context(), "k", []byte("v")); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFollower(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

// TestMaintenanceOfADroppedFamily: flushing a family that was dropped meanwhile is an
// error.
func TestMaintenanceOfADroppedFamily(t *testing.T) {
	s, err := Open("", Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.CreateFamily(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
		b.Row(cf.RowID{Row: "r"})
		b.Put("t", "q", 1, []byte("v"))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	err = s.maintain("t", func(f *family) error {
		if err := s.DropFamily(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		return s.flushAll([]*family{f})
	})
	if !errors.Is(err, cf.ErrNotExist) {
		t.Errorf("flushed: %v", err)
	}
}
