package rocks_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cf/rocks"
)

// Families that are created or dropped together are all in the file of options
// that is written once, behind the last, and come back when it is opened again.
func TestOptionsAreWrittenOnce(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, rocks.Options{})
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprintf("t/%02d", i))
	}
	written := func() string {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(dir, "OPTIONS-*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("options %v, %v", files, err)
		}
		return slices.Max(files)
	}
	check := func(want []string) {
		t.Helper()
		text, err := os.ReadFile(written())
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), `[CFOptions "t/`); n != len(want) {
			t.Errorf("%d families in the options, want %d", n, len(want))
		}
		if got := s.Families(); !slices.Equal(got, want) {
			t.Errorf("families %q, want %q", got, want)
		}
	}
	if err := s.CreateFamily(t.Context(), names...); err != nil {
		t.Fatal(err)
	}
	check(names)
	if err := s.DropFamily(t.Context(), names[5:]...); err != nil {
		t.Fatal(err)
	}
	check(names[:5])
	before := written()
	if err := s.CreateFamily(t.Context(), "t/one"); err != nil || written() == before {
		t.Errorf("options are not written any more: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, rocks.Options{})
	defer s.Close()
	if got, want := s.Families(), append(names[:5:5], "t/one"); !slices.Equal(got, want) {
		t.Errorf("opened again: families %q, want %q", got, want)
	}
}
