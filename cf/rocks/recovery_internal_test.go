package rocks

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/smolwc/smolwc/cf"
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
		state, err := checkLog(path)
		if err != nil && !errors.Is(err, cf.ErrCorrupt) {
			t.Fatal(err)
		}
		if err != nil || state.torn || int(cut) > len(b) {
			return
		}
		if err := os.Truncate(path, int64(len(b)-int(cut))); err != nil {
			t.Fatal(err)
		}
		if shorter, err := checkLog(path); err != nil || shorter.records > state.records {
			t.Fatalf("cut off by %d: %+v, %v; it was %+v", cut, shorter, err, state)
		}
	})
}
