package tty_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/smolwc/smolwc/shell/internal/tty"
)

func openHistory(t *testing.T, file string) *tty.History {
	t.Helper()
	h, err := tty.OpenHistory(file)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHistoryLeavesOutWhatIsTooLongOrNoText(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deep", "history")
	if entries := openHistory(t, file).Entries; entries != nil {
		t.Errorf("a history from nowhere: %q", entries)
	}
	long := strings.Repeat("x", 60_000)
	os.MkdirAll(filepath.Dir(file), 0o700)
	os.WriteFile(file, []byte("one\n"+long+"\n"+strings.Repeat("y", 100_000)+"\n\xff\n\ntwo\r\nthree"), 0o644)
	h := openHistory(t, file)
	if want := []string{"one", long, "two", "three"}; !slices.Equal(h.Entries, want) {
		t.Errorf("history %.100q", h.Entries)
	}
	if info, _ := os.Stat(file); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

// Each entry is written to the file at once, so that concurrent sessions, also killed
// ones, keep all their entries.
func TestHistoriesOfSeveralSessionsKeepAllEntries(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history")
	var sessions sync.WaitGroup
	for i := range 4 {
		h := openHistory(t, file)
		sessions.Go(func() {
			for j := range 50 {
				if _, err := h.Add(fmt.Sprintf("session %d entry %d %s", i, j, strings.Repeat("z", 5000))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	sessions.Wait()
	entries := openHistory(t, file).Entries
	if slices.Sort(entries); len(entries) != 200 || len(slices.Compact(entries)) != 200 {
		t.Errorf("%d entries", len(entries))
	}
}

func TestHistoryIsCutWhenItHasGrownLong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history")
	var b bytes.Buffer
	for i := range 3 * tty.HistoryEntries {
		fmt.Fprintf(&b, "entry %d\n", i)
	}
	os.WriteFile(file, b.Bytes(), 0o600)
	openHistory(t, file)
	h := openHistory(t, file)
	if n := len(h.Entries); n != tty.HistoryEntries || h.Entries[n-1] != fmt.Sprintf("entry %d", 3*tty.HistoryEntries-1) {
		t.Errorf("%d entries", n)
	}
}

func TestHistoryKeepsNoLineThatBeginsWithASpace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history")
	h := openHistory(t, file)
	for _, line := range []string{"a", " secret", "a", "b", "", "   ", "a"} {
		if _, err := h.Add(line); err != nil {
			t.Fatal(err)
		}
	}
	if text, _ := os.ReadFile(file); string(text) != "a\nb\na\n" {
		t.Errorf("file %q", text)
	}
}
