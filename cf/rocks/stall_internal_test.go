//go:build cgo && linux && !norocksdb

package rocks

import (
	"context"
	"testing"

	"github.com/smolwc/smolwc/cf"
)

func largeBatch(b *cf.Batch) {
	b.Row(cf.RowID{Space: "t", Row: "r"})
	b.Put("t", "q", 1, make([]byte, 2*largeWrite))
}

// All turns are free after a large write, and also after one whose function panics: without
// its turn, the other large writes would wait for ever.
func TestALargeWriteGivesBackItsTurn(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.Close()
	if err := s.CreateFamily(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	free := func() {
		t.Helper()
		if !s.large.TryAcquire(largeAtOnce) {
			t.Fatal("a turn is taken")
		}
		s.large.Release(largeAtOnce)
	}
	if _, err := s.Write(t.Context(), nil, func(b *cf.Batch) error { largeBatch(b); return nil }); err != nil {
		t.Fatal(err)
	}
	free()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("there was no panic")
			}
		}()
		_, _ = s.letIn(t.Context(), func(its *turn) (cf.Position, int, error) {
			var b cf.Batch
			largeBatch(&b)
			if err := s.takeTurn(t.Context(), its, &b); err != nil {
				t.Error(err)
			}
			panic("as a function of a later run can")
		})
	}()
	free()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	its := turn{wanted: largeAtOnce}
	if !s.large.TryAcquire(1) {
		t.Fatal("a turn is taken")
	}
	if err := s.awaitTurn(ended, &its); err == nil || its.bytes != 0 {
		t.Errorf("%v, with %d bytes", err, its.bytes)
	}
	s.large.Release(1)
	free()
}

// A flush of families with little in memory frees next to nothing, however often it is
// done: large writes would wait for ever where thousands of families have empty memtables.
func TestSmallMemtablesAreNotWorthAFlush(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.Close()
	for _, name := range []string{"t", "u"} {
		if err := s.CreateFamily(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(want string) {
		t.Helper()
		if name, err := s.largestMemtable(); err != nil || name != want {
			t.Errorf("%q is the largest, want %q; %v", name, want, err)
		}
	}
	expect("")
	if _, err := s.Write(t.Context(), nil, func(b *cf.Batch) error { largeBatch(b); return nil }); err != nil {
		t.Fatal(err)
	}
	expect("t")
	if err := s.Flush(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	expect("")
}
