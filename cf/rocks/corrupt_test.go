//go:build cgo && linux && !norocksdb

package rocks

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
)

// TestGarbageKeysAreReported puts keys that are not cells' keys between the cells of a
// family, and reads past them in every way. A scan that reads the whole row must report
// such a key, and no scan may hang.
func TestGarbageKeysAreReported(t *testing.T) {
	for _, test := range []struct{ key, why string }{
		{"01 6b", "row not terminated"},
		{"01 6b 00", "a row prefix alone"},
		{"01 6b 00 00", "behind the row comes a lower tag"},
		{"01 6b 00 05", "behind the row comes a higher tag"},
		{"01 6b 00 | 01", "nothing behind the qualifier's tag"},
		{"01 6b 00 | 01 71", "qualifier not terminated"},
		{"01 6b 00 | 01 71 00", "no version"},
		{"01 6b 00 | 01 71 00 00", "behind the qualifier comes a lower tag"},
		{"01 6b 00 | 01 71 00 | 1b 7fffffffffffffff", "another kind of integer"},
		{"01 6b 00 | 01 71 00 | 1c 7fffffff", "version too short"},
		{"01 6b 00 | 01 71 00 | 1c 7fffffffffffffff 00", "version too long"},
		{"01 6b 00 | 01 71 00 | 1c 8000000000000000", "timestamp -1"},
		{"01 6b 00 | 01 71 00 | 1c ffffffffffffffff", "timestamp -2^63"},
		{"01 6b 00 | 01 71 00 | 1d", "behind the qualifier comes a higher tag"},
		{"01 6b 00 | 01 72 00", "a column alone"},
		{"01 6b 00 | 02", "behind the cells"},
	} {
		t.Run(test.why, func(t *testing.T) {
			garbage := unhex(t, test.key)
			for _, cells := range []string{"", "k q@5=v", "j q@1=v | k q@5=v q@0=v r@1=v | l q@1=v"} {
				expectGarbage(t, cells, garbage)
			}
		})
	}
}

func expectGarbage(t *testing.T, cells string, garbage []byte) {
	s, snap := storeWith(t, cells, garbage)
	defer s.Close()
	for _, reverse := range []bool{false, true} {
		_, err := scanFor(t, snap, cf.Scan{Rows: []cf.Range{{}}, Reverse: reverse})
		var cell *cf.CorruptCell
		if !errors.As(err, &cell) || !errors.Is(err, cf.ErrCorrupt) || !errors.Is(err, cf.ErrMalformedKey) {
			t.Errorf("cells %s, reverse %t: error %v, want a CorruptCell", cells, reverse, err)
			continue
		}
		if cell.Family != "t" || string(cell.Key) != string(garbage) {
			t.Errorf("cells %s, reverse %t: error names family %s, key %x", cells, reverse, cell.Family, cell.Key)
		}
	}
	// These scans need not find the key, but they must end.
	for _, f := range []cf.Filter{
		{KeysOnly: true}, {CellsPerRow: 1}, {Versions: 1}, {Since: 3}, {Retention: []cf.Retention{{UpTo: 2}}},
		{Qualifiers: []cf.Range{cf.Single("a")}},
		{Qualifiers: []cf.Range{cf.Single("q")}},
		{Qualifiers: []cf.Range{{Start: "q\x00"}}},
	} {
		for _, rows := range [][]cf.Range{{{}}, {cf.Single("k")}, {cf.Single("j"), cf.Single("k"), cf.Single("l")}} {
			for _, reverse := range []bool{false, true} {
				_, err := scanFor(t, snap, cf.Scan{Rows: rows, Filter: f, Reverse: reverse})
				if err != nil && !errors.Is(err, cf.ErrCorrupt) {
					t.Errorf("cells %s, filter %+v, reverse %t: %v", cells, f, reverse, err)
				}
			}
		}
	}
}

// storeWith makes a store in memory with a family t of cells and one raw key.
func storeWith(t *testing.T, cells string, raw []byte) (*Store, cf.Snapshot) {
	t.Helper()
	ctx := context.Background()
	s, err := Open("", Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CreateFamily(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	putCells(t, s, cells)
	if err := s.db.PutCF(s.write, (*s.families.Load())["t"].Handle, raw, []byte("?")); err != nil {
		t.Fatal(err)
	}
	snap, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return s, snap
}

func putCells(t *testing.T, s *Store, cells string) {
	t.Helper()
	_, err := s.Write(context.Background(), nil, func(b *cf.Batch) error {
		for _, r := range cftest.ParseRows(cells) {
			b.Row(cf.RowID{Space: "t", Row: r.Key})
			for _, c := range r.Cells {
				b.Put("t", c.Qualifier, c.Timestamp, []byte(c.Value))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// scanFor scans the family t, for five minutes at most.
func scanFor(t *testing.T, snap cf.Snapshot, s cf.Scan) (cftest.Rows, error) {
	t.Helper()
	s.Family = "t"
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	late := time.AfterFunc(6*time.Minute, func() { panic("the scan never returned") })
	defer late.Stop()
	rows, _, err := cftest.Collect(ctx, snap, s)
	return rows, err
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.NewReplacer(" ", "", "|", "").Replace(s))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestAnErrorStaysTheAnswerOfItsCursor: Next after an error returns the error again,
// and not the end.
func TestAnErrorStaysTheAnswerOfItsCursor(t *testing.T) {
	s, snap := storeWith(t, "a q@1=v", unhex(t, "01 6b 00 05"))
	defer s.Close()
	c, err := snap.Scan(context.Background(), cf.Scan{Family: "t", Rows: []cf.Range{{}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 3 {
		if b, err := c.Next(context.Background()); b != nil || !errors.Is(err, cf.ErrCorrupt) {
			t.Errorf("block %v, error %v, want none and %v", b, err, cf.ErrCorrupt)
		}
	}
}

// TestInvertedRangesDoNotBreakTheStore: RocksDB logs a range deletion that
// ends before it begins, refuses it, and then refuses every further write.
func TestInvertedRangesDoNotBreakTheStore(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CreateFamily(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	if err := s.DropRange(ctx, []string{"t"}, cf.Range{Start: "b", End: "a"}); err != nil {
		t.Errorf("DropRange: %v", err)
	}
	putCells(t, s, "p q@1=v") // writes still succeed
	if _, err := s.Write(ctx, nil, func(b *cf.Batch) error {
		b.Row(cf.RowID{Row: "r"})
		b.DeleteVersions("t", "q", 5, 3)
		b.Put("t", "q", 4, []byte("v"))
		return nil
	}); err != nil {
		t.Errorf("Update: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(dir, Options{}); err != nil {
		t.Fatalf("reopening: %v", err)
	}
	defer s.Close()
	snap, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := scanFor(t, snap, cf.Scan{Rows: []cf.Range{{}}}); err != nil || rows.String() != "p q@1=v | r q@4=v" {
		t.Errorf("after reopening: %s, %v", rows, err)
	}
}
