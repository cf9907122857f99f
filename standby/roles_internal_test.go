package standby

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/smolwc/smolwc/query/plumbing"
)

// A bit that changes in a file which says what a directory is leads to an error, and to no
// other directory.
func TestAFlippedBitInTheFileOfARole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	flipEach(t, plumbing.StandbyFile, role{Primary: "db1:8086", WasPrimary: true, Differs: "row", Verified: 1}, dir)
	begun := promotion{"history", epoch{Number: 2, ID: "ID", After: 51204, Leader: "db2:8086"}, "db1:8086"}
	flipEach(t, plumbing.PromotedFile, begun, dir)
	flipEach(t, begun.pendingFile(), begun, dir)
	flipEach(t, plumbing.FencedFile, fence{"history", epoch{Number: 2, ID: "ID", After: 51204, Leader: "db2:8086"}}, dir)
	flipEach(t, divergedFile, tail{51204, "a reason"}, dir)
}

// flipEach flips each bit of a file.
func flipEach[T comparable](t *testing.T, name string, content T, dir string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(writeFile(dir, name, content))
	path := filepath.Join(dir, name)
	text, err := os.ReadFile(path)
	must(err)
	for bit := range 8 * len(text) {
		var got T
		if ok, err := readFile(dir, name, &got); !ok || err != nil || got != content {
			t.Fatalf("%s is read as %v (%v)", text, got, err)
		}
		flipped := slices.Clone(text)
		flipped[bit/8] ^= 1 << (bit % 8)
		must(os.WriteFile(path, flipped, 0o644))
		got = *new(T)
		if _, err := readFile(dir, name, &got); err == nil && got != content {
			t.Errorf("%s is read as %v", flipped, got)
		}
		must(os.WriteFile(path, text, 0o644))
	}
}

// A file that got another name by hand is no note.
func TestNamesOfNotes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"UNTOLD-2", "UNTOLD-3.bak", "UNTOLD-4~", "UNTOLD-"} {
		if err := writeFile(dir, name, promotion{"history", epoch{Number: 2}, name}); err != nil {
			t.Fatal(err)
		}
	}
	if all, unread, err := pendingFencesIn(dir); err != nil || len(unread) > 0 || len(all) != 1 || all[0].OldPrimary != "UNTOLD-2" {
		t.Errorf("%v, %v", all, err)
	}
}
