//go:build cgo && linux && !norocksdb

package rocks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cf/rocks/internal/files"
)

func TestTheEngineKeepsItsLogBesideTheData(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "LOG")
	open := func(o Options) {
		t.Helper()
		s, err := Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	open(Options{})
	first, err := os.ReadFile(log)
	if err != nil || !strings.Contains(string(first), "Shutdown complete") {
		t.Fatalf("%v, a log of %d bytes", err, len(first))
	}
	if options, begun := strings.Index(string(first), "Options.comparator"), strings.Index(string(first), "Recovered from manifest"); options < 0 || begun < options {
		t.Errorf("the options of families are at %d and the opened manifest at %d; want them in this order", options, begun)
	}
	open(Options{ReadOnly: true})
	if again, _ := os.ReadFile(log); string(again) != string(first) {
		t.Error("a reader wrote to the log")
	}
	open(Options{})
	if again, _ := os.ReadFile(log); !strings.HasPrefix(string(again), string(first)) || len(again) == len(first) {
		t.Error("the next writer did not append to the log; RocksDB's own logger renames it") // and ours was not in use
	}
	if err := os.Truncate(log, files.MaxInfoLog+1); err != nil {
		t.Fatal(err)
	}
	open(Options{})
	old, err := os.Stat(log + ".old")
	if err != nil || old.Size() != files.MaxInfoLog+1 {
		t.Errorf("the log that had grown long: %v", err)
	}
	if now, err := os.Stat(log); err != nil || now.Size() > files.MaxInfoLog {
		t.Errorf("the log went on growing: %v", err)
	}
}

// The engine's own logger ends the process at the second line that does not fit on the
// disk.
func TestALogThatCannotBeWrittenIsNoFailure(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/dev/full", filepath.Join(dir, "LOG")); err != nil {
		t.Fatal(err)
	}
	if f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0); err != nil {
		t.Skip("there is no /dev/full here")
	} else {
		f.Close()
	}
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
