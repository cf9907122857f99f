//go:build cgo && linux && !norocksdb

package rocks

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cf"
)

// A failed write may be in the log as a whole. The engine then begins another log and
// reuses its numbers. The failed write is not read.
func TestAFailedWriteInTheLogIsNotRead(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{Async: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.CreateFamily(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	if err := s.KeepChanges(time.Now()); err != nil {
		t.Fatal(err)
	}
	begin := cf.Position(s.db.GetLatestSequenceNumber())
	batch := func(text string) *cf.Batch {
		b := new(cf.Batch)
		b.Note([]byte(text))
		b.Row(cf.RowID{Space: "t", Row: "r"})
		b.Put("t", "q", 1, []byte(text))
		return b
	}
	write := func(text string) {
		t.Helper()
		if _, err := s.Write(t.Context(), nil, func(b *cf.Batch) error { b.Append(batch(text)); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	early, err := s.Changes(begin)
	if err != nil {
		t.Fatal(err)
	}
	defer early.Close()

	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	path := slices.Max(logs)
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	failed, err := new(rep).append(nil, batch("failed"), *s.families.Load(), 0)
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint64(failed, s.db.GetLatestSequenceNumber()+1)
	if err := os.WriteFile(path, appendLog(log, failed), 0o644); err != nil {
		t.Fatal(err)
	}
	// While it is the last in the log it has not been published.
	if got := notes(t, early); !slices.Equal(got, []string{"one"}) {
		t.Errorf("before the failure is over: %q", got)
	}
	if err := s.Flush(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	write("two")
	if got := notes(t, early); !slices.Equal(got, []string{"two"}) {
		t.Errorf("by a reading that was under way: %q", got)
	}
	late, err := s.Changes(begin)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if got := notes(t, late); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("by a reading that begins: %q", got)
	}
}

func notes(t *testing.T, c cf.Changes) (texts []string) {
	t.Helper()
	for {
		k, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if k == nil {
			return texts
		}
		texts = append(texts, string(k.Ops[0].Value))
	}
}

// The last record of a killed process may be cut off. The log of the next process
// continues after the record before it.
func TestChangesBehindATornLogAreRead(t *testing.T) {
	dir := t.TempDir()
	begin := cf.Position(0)
	for round := range 3 {
		s, err := Open(dir, Options{Async: true})
		if err != nil {
			t.Fatal(err)
		}
		if round == 0 {
			if err := s.CreateFamily(t.Context(), "t"); err != nil {
				t.Fatal(err)
			}
			if err := s.KeepChanges(time.Now()); err != nil {
				t.Fatal(err)
			}
			begin = cf.Position(s.db.GetLatestSequenceNumber())
		}
		_, err = s.Write(t.Context(), nil, func(b *cf.Batch) error {
			b.Note(fmt.Append(nil, round))
			b.Row(cf.RowID{Space: "t", Row: "r"})
			b.Put("t", "q", 1, make([]byte, 50_000))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.Changes(begin)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := notes(t, c), []string{"0", "1", "2"}[:round+1]; !slices.Equal(got, want) {
			t.Errorf("in round %d there are %q", round, got)
		}
		c.Close()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
		if err != nil || len(logs) == 0 {
			t.Fatal(logs, err)
		}
		log, err := os.ReadFile(slices.Max(logs))
		if err != nil {
			t.Fatal(err)
		}
		torn := appendLog(log, make([]byte, 60_000))
		if err := os.WriteFile(slices.Max(logs), torn[:len(log)+100+round*20_000], 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
