package pebble

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/batchrepr"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/wal"
)

// Any bytes of a manifest are read without a panic, and a record that is not understood
// says so.
func FuzzEdits(f *testing.F) {
	f.Add([]byte{editMinLog, 7, editNewBlob, 1, 9, 100, 90, 0, editDeletedBlob, 1, 9})
	f.Add([]byte{editNewFile4, 6, 5, 10, 1, 'a', 1, 'b', 0, 0, tableBlobs, 1, 1, 9, 90, tableEnd})
	f.Add([]byte{editNewFile5, 6, 5, 10, 1, 1, 'a', 1, 'b', 0, 0, 0, 0, tableVirtual, 4, tableEnd})
	f.Fuzz(func(t *testing.T, record []byte) {
		e := newEdits()
		e.note(record)
		if e.unknown != (e.files() == nil) {
			t.Errorf("unknown %t, files %v", e.unknown, e.files())
		}
	})
}

// Any record of the log is read without a panic: it is a commit, none, or damage.
func FuzzCommit(f *testing.F) {
	s, err := Open("", Options{InMemory: true})
	if err != nil {
		f.Fatal(err)
	}
	defer s.Close()
	if err := s.CreateFamily(f.Context(), "t"); err != nil {
		f.Fatal(err)
	}
	fam := (*s.families.Load())["t"]
	b := s.db.NewBatch()
	defer b.Close()
	key := append(append([]byte{}, fam.prefix...), 'k')
	for _, err := range []error{
		b.LogData([]byte{logNote, 'n'}, nil), b.Set(key, []byte("v"), nil), b.Delete(key, nil),
		b.Merge(key, appendOperand(nil, []byte("o")), nil), b.DeleteRange(key, append(key, 'l'), nil),
	} {
		if err != nil {
			f.Fatal(err)
		}
	}
	names := map[uint32]string{fam.id: "t"}
	if k, err := commitOf(b.Repr()[wal.RepHeader:], names); err != nil || k == nil || len(k.Ops) != 5 {
		f.Fatalf("%+v, %v", k, err)
	}
	f.Add(b.Repr())
	for _, bad := range []func() error{
		func() error { return b.Merge(key, nil, nil) }, func() error { return b.DeleteRange(key, nil, nil) },
	} {
		b.Reset()
		if err := errors.Join(b.LogData([]byte{logNote}, nil), bad()); err != nil {
			f.Fatal(err)
		}
		if _, err := commitOf(b.Repr()[wal.RepHeader:], names); !errors.Is(err, cf.ErrCorrupt) {
			f.Errorf("%x: %v", b.Repr(), err)
		}
		f.Add(b.Repr())
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		if _, ok := batchrepr.ReadHeader(record); !ok {
			return // the reader of the log refuses it
		}
		r, err := recordOf(record)
		if err != nil {
			if !errors.Is(err, cf.ErrCorrupt) {
				t.Error(err)
			}
			return
		}
		if k, err := commitOf(r.ops, names); err != nil && (k != nil || !errors.Is(err, cf.ErrCorrupt)) {
			t.Errorf("%+v, %v", k, err)
		}
	})
}
