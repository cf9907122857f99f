//go:build cgo && linux && !norocksdb

package rocks

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
)

// coldTable is a family of rows of two cells in files that are not in the cache: every
// third key has no row. The directory is opened anew.
func coldTable(t *testing.T, rows int) *Store {
	t.Helper()
	dir := t.TempDir()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CreateFamily(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	value := make([]byte, 1000)
	rng := rand.NewChaCha8([32]byte{1})
	for row := range rows {
		if row%3 == 0 {
			continue
		}
		_, _ = rng.Read(value)
		if _, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
			b.Row(cf.RowID{Space: "t", Row: coldRow(row)})
			b.Put("t", "a", 1, value)
			b.Put("t", "b", int64(row), value[:10])
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if row == rows/2 { // two levels
			if err := s.Compact(t.Context(), "t", cf.Range{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Flush(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func coldRow(row int) string { return fmt.Sprintf("row%06d", row) }

// Several goroutines read a list of rows that are not in the cache, also with one
// processor. When the rows are in the cache, one goroutine reads them.
func TestAListIsReadAheadFromFiles(t *testing.T) {
	for _, processors := range []int{1, 4} {
		t.Run(fmt.Sprint(processors), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
			s := coldTable(t, 3000)
			var rows []cf.Range
			for row := 1; row < 3000; row += 15 {
				rows = append(rows, cf.Single(coldRow(row)))
			}
			for _, cold := range []bool{true, false} {
				if got, ahead := collect(t, s, cf.Scan{Family: "t", Rows: rows}); ahead != cold || len(got) != len(rows) {
					t.Errorf("cold %v: %d rows, read ahead: %v", cold, len(got), ahead)
				}
			}
		})
	}
}

// Lists of rows from files give what the model gives: with rows of one cell and rows larger
// than a block, keys that are close to each other, absent rows, and every filter.
func TestListsFromFilesAreThoseOfTheModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	const n = 900
	key := func(i int) string { return fmt.Sprintf("r%05d", i/3) + []string{"", "\x00", "\x00\xff"}[i%3] }
	divided := 0
	for _, processors := range []int{1, 4} {
		restore := runtime.GOMAXPROCS(processors)
		dir, model := t.TempDir(), cftest.NewMemory()
		s := open(t, dir)
		fill := func(from, to int, seed uint64) {
			t.Helper()
			for _, st := range []cf.Store{s, model} {
				writeAny(t, st, from, to, key, seed)
			}
		}
		for _, st := range []cf.Store{s, model} {
			if err := st.CreateFamily(t.Context(), "t"); err != nil {
				t.Fatal(err)
			}
		}
		fill(0, n, 1)
		if err := s.Compact(t.Context(), "t", cf.Range{}); err != nil {
			t.Fatal(err)
		}
		fill(0, n/3, 5)
		for round := range 40 {
			if err := s.Close(); err != nil { // so that nothing is in the cache
				t.Fatal(err)
			}
			if s = open(t, dir); round%4 == 3 {
				fill(n/2, n/2+20, uint64(round)) // in memory
			}
			spec := cf.Scan{Family: "t", Rows: anyList(rng, n, key), Reverse: rng.IntN(2) == 0, Filter: cftest.AnyFilter(rng, "q1", "q3")}
			spec.Hint = rng.IntN(2) * len(spec.Rows)
			if rng.IntN(6) == 0 {
				spec.Sample = 1 << 63
			}
			if rng.IntN(8) == 0 {
				spec.Limit = 1 + rng.IntN(60)
			}
			got, ahead := collect(t, s, spec)
			want, _ := collect(t, model, spec)
			if !got.Equal(want) {
				t.Fatalf("%d processors, round %d: %d rows, want %d: %+v", processors, round, len(got), len(want), spec)
			}
			if ahead {
				divided++
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		runtime.GOMAXPROCS(restore)
	}
	if divided < 10 {
		t.Errorf("only %d of 80 lists were divided", divided)
	}
}

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// writeAny writes some of the rows, the same for the same seed.
func writeAny(t *testing.T, s cf.Store, from, to int, key func(int) string, seed uint64) {
	t.Helper()
	if _, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
		for i := from; i < to; i++ {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			cells, size := 1+rng.IntN(6), 1+rng.IntN(300)
			switch rng.IntN(60) {
			case 0:
				cells = 300
			case 1:
				size = 40_000
			default:
				if rng.IntN(4) == 0 {
					continue
				}
			}
			b.Row(cf.RowID{Space: "t", Row: key(i)})
			for c := range cells {
				value := make([]byte, size)
				for j := range value {
					value[j] = byte(rng.Uint32())
				}
				b.Put("t", fmt.Sprintf("q%d", c%7), int64(1+c), value)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// anyList is a list of rows, or sometimes of ranges of rows.
func anyList(rng *rand.Rand, n int, key func(int) string) (rows []cf.Range) {
	if rng.IntN(5) == 0 {
		for i := 0; i+8 < n; i += 10 + rng.IntN(10) {
			rows = append(rows, cf.Range{Start: key(i), End: key(i + 1 + rng.IntN(7))})
		}
		return rows
	}
	for i, every := 0, 1+rng.IntN(20); i < n; i += 1 + rng.IntN(every) {
		rows = append(rows, cf.Single(key(i)))
	}
	return rows
}

// collect reads a scan, and reports whether it was divided.
func collect(t *testing.T, s cf.Store, spec cf.Scan) (rows cftest.Rows, ahead bool) {
	t.Helper()
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	watched := &watchedSnapshot{Snapshot: snap}
	if rows, _, err = cftest.Collect(t.Context(), watched, spec); err != nil {
		t.Fatal(err)
	}
	return rows, watched.ahead
}

// A watchedSnapshot notes whether a scan was divided.
type watchedSnapshot struct {
	cf.Snapshot
	ahead bool
}

func (s *watchedSnapshot) Scan(ctx context.Context, spec cf.Scan) (cf.Cursor, error) {
	c, err := s.Snapshot.Scan(ctx, spec)
	return watchedCursor{c, s}, err
}

type watchedCursor struct {
	cf.Cursor
	snap *watchedSnapshot
}

func (c watchedCursor) Close() {
	if own, ok := c.Cursor.(*cursor); ok {
		c.snap.ahead = c.snap.ahead || own.Ahead()
	}
	c.Cursor.Close()
}

// With one processor, a scan never came to a value that was larger than its block: the block
// that had grown for it was given away empty.
func TestALargeValueWithOneProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := open(t, t.TempDir())
	defer s.Close()
	if err := s.CreateFamily(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	value := make([]byte, 100<<10)
	if _, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
		b.Row(cf.RowID{Space: "t", Row: "r"})
		b.Put("t", "q", 1, value)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if rows, _ := collect(t, s, cf.Scan{Family: "t", Rows: []cf.Range{{}}}); len(rows) != 1 || len(rows[0].Cells[0].Value) != len(value) {
		t.Errorf("%d rows", len(rows))
	}
}
