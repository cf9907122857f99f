//go:build cgo

package rocks

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks/internal/wal"
)

// Whatever bytes a log has, it is sound, torn or damaged, and what is called whole
// stays so when more comes.
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
		state, err := wal.Check(path, prefixIngest)
		if err != nil && !errors.Is(err, cf.ErrCorrupt) {
			t.Fatal(err)
		}
		if err != nil || state.Torn || int(cut) > len(b) {
			return
		}
		if err := os.Truncate(path, int64(len(b)-int(cut))); err != nil {
			t.Fatal(err)
		}
		if shorter, err := wal.Check(path, prefixIngest); err != nil || shorter.Records > state.Records {
			t.Fatalf("cut off by %d: %+v, %v; it was %+v", cut, shorter, err, state)
		}
	})
}

// Whatever bytes stand in SYNCED or in a record of the manifest, they are read or
// refused. What is read of SYNCED is what its lines say.
func FuzzRecovery(f *testing.F) {
	dir := f.TempDir()
	s, err := Open(dir, Options{})
	if err != nil {
		f.Fatal(err)
	}
	if err := errors.Join(s.CreateFamily(f.Context(), "t"), s.DropFamily(f.Context(), "t"), s.Close()); err != nil {
		f.Fatal(err)
	}
	said, err := readSynced(dir)
	if err != nil || len(said.files) == 0 {
		f.Fatal(said, err)
	}
	f.Add(said.text)
	for name := range said.files {
		state := wal.State{Path: filepath.Join(dir, name), Synced: -1, Take: func(record []byte) { f.Add(slices.Clone(record)) }}
		if err := state.Check(); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var families familyEdits
		families.note(b)
		families.note(b)
		if len(families.dropped()) > len(families.names) {
			t.Errorf("%+v", families)
		}
		files, err := parseSynced(b)
		for name, size := range files {
			if err != nil || !bytes.Contains(b, fmt.Appendf(nil, "%s ", name)) || size < 0 {
				t.Errorf("%q: %d, %v", name, size, err)
			}
		}
	})
}

// A process that reads the files, and gets the lock only after another one has had the
// database open, does not open it by what it read.
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
	r, err := checkLogs(dir)
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
