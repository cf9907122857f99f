package pebble_test

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
)

// A cell that was written many times is read as the last write left it, also while all
// writes are in memory, and rows beside it as they are.
func TestACellThatIsWrittenOften(t *testing.T) {
	s := open(t, vfs.NewMem(), true)
	defer s.Close()
	create(t, s, "t/a")
	const rows, often, times = 90, 40, 300
	put := func(row, n int) {
		t.Helper()
		if _, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
			key := fmt.Sprintf("r%06d", row)
			b.Row(cf.RowID{Space: "t", Row: key})
			for _, q := range []string{"p", "q"} {
				b.Put("t/a", q, 1, fmt.Append(nil, n))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	look := func(when string, last int) {
		t.Helper()
		for what, s1 := range map[string]cf.Scan{
			"the row": {Rows: []cf.Range{cf.Single(fmt.Sprintf("r%06d", often))}}, "all rows": {Rows: []cf.Range{{}}},
		} {
			s1.Family = "t/a"
			got, err := cftest.Read(t.Context(), s, s1)
			if want := map[bool]int{true: 1, false: rows}[what == "the row"]; err != nil || len(got) != want {
				t.Fatalf("%s, %s: %d rows, %v", when, what, len(got), err)
			}
			for _, r := range got {
				want := "0"
				if r.Key == fmt.Sprintf("r%06d", often) {
					want = fmt.Sprint(last)
				}
				if len(r.Cells) != 2 || string(r.Cells[0].Value) != want || string(r.Cells[1].Value) != want {
					t.Errorf("%s, %s: row %s has %v", when, what, r.Key, r.Cells)
				}
			}
		}
	}
	for row := range rows {
		put(row, 0)
	}
	for n := range times {
		put(often, n)
	}
	look("in memory", times-1)
	put(often, times)
	look("after one more write", times)
	if err := s.Flush(t.Context(), "t/a"); err != nil {
		t.Fatal(err)
	}
	look("in a file", times)
}

// A scan counts the deleted keys that it passes, once each, if it is asked to: not the keys
// that were replaced, and not the keys of deletes that hide nothing.
func TestTombstonesAreCounted(t *testing.T) {
	s := open(t, vfs.NewMem(), true)
	defer s.Close()
	create(t, s, "t/a")
	const rows, deleted, ranged = 90, 30, 20
	key := func(row int) string { return fmt.Sprintf("r%06d", row) }
	write := func(row int, fn func(*cf.Batch)) {
		t.Helper()
		if _, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
			b.Row(cf.RowID{Space: "t", Row: key(row)})
			fn(b)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		for row := range rows {
			write(row, func(b *cf.Batch) { b.Put("t/a", "q", 1, []byte("v")); b.Put("t/a", "r", 1, []byte("v")) })
		}
	}
	for row := 10; row < 10+deleted; row++ {
		write(row, func(b *cf.Batch) { b.DeleteCell("t/a", "q", 1); b.DeleteCell("t/a", "r", 1) })
	}
	count := func(read func(*cf.Scan, *cf.Answer) error, scan cf.Scan) (rows, tombstones int64) {
		t.Helper()
		var a cf.Answer
		scan.Family = "t/a"
		if err := read(&scan, &a); err != nil {
			t.Fatal(err)
		}
		return a.Cost.Rows, a.Cost.Tombstones
	}
	direct := func(scan *cf.Scan, a *cf.Answer) error { return s.Read(t.Context(), scan, a) }
	within := func(scan *cf.Scan, a *cf.Answer) error {
		txn, err := s.Begin(t.Context())
		if err != nil {
			return err
		}
		defer txn.Close()
		if err := txn.Add(new(cf.Batch)); err != nil {
			return err
		}
		c, err := txn.Scan(t.Context(), *scan)
		if err != nil {
			return err
		}
		return a.ReadAll(t.Context(), c)
	}
	check := func(when string, gone int64) {
		t.Helper()
		for name, read := range map[string]func(*cf.Scan, *cf.Answer) error{"read": direct, "transaction": within} {
			for what, c := range map[string]struct {
				scan            cf.Scan
				rows, tombstone int64
			}{
				"all": {cf.Scan{Rows: []cf.Range{{}}}, rows - gone, 2 * gone},
				// It passes them on the way back, and after the row before them.
				"in reverse":      {cf.Scan{Rows: []cf.Range{{}}, Reverse: true}, rows - gone, 4 * gone},
				"a deleted row":   {cf.Scan{Rows: []cf.Range{cf.Single(key(12))}}, 0, 2},
				"a row":           {cf.Scan{Rows: []cf.Range{cf.Single(key(2))}}, 1, 0},
				"rows before any": {cf.Scan{Rows: []cf.Range{{End: key(5)}}}, 5, 0},
			} {
				if n, counted := count(read, c.scan); n != c.rows || counted != 0 {
					t.Errorf("%s, %s of %s: %d rows, %d tombstones that are not wanted", when, name, what, n, counted)
				}
				c.scan.CountTombstones = true
				if n, counted := count(read, c.scan); n != c.rows || counted != c.tombstone {
					t.Errorf("%s, %s of %s: %d rows and %d tombstones, want %d and %d", when, name, what, n, counted, c.rows, c.tombstone)
				}
			}
		}
	}
	check("in memory", deleted)
	if err := s.DropRange(t.Context(), []string{"t/a"}, cf.Range{Start: key(60), End: key(60 + ranged)}); err != nil {
		t.Fatal(err)
	}
	// Pebble passes what a range hides one by one, or by seeks.
	n, counted := count(direct, cf.Scan{Rows: []cf.Range{{}}, CountTombstones: true})
	if n != rows-deleted-ranged || counted < 2*deleted || counted > 2*deleted+3*2*ranged {
		t.Errorf("with a range that is dropped: %d rows, %d tombstones", n, counted)
	}
}
