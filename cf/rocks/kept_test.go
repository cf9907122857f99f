//go:build cgo && linux && !norocksdb

package rocks

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
)

// readRow reads a row of family t as a point read does.
func readRow(t *testing.T, s *Store, key string) string {
	t.Helper()
	rows, err := cftest.Read(context.Background(), s, cf.Scan{Family: "t", Rows: []cf.Range{cf.Single(key)}})
	if err != nil {
		t.Fatal(err)
	}
	return rows.String()
}

// TestKeptCursorsSeeWhatChanged: a cursor that was made before a change sees it, for
// each kind of change.
func TestKeptCursorsSeeWhatChanged(t *testing.T) {
	s, err := Open(shm(t), Options{Memory: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.CreateFamily(ctx, "t"))
	for _, step := range []struct {
		name   string
		change func() error
		want   string
	}{
		{"nothing", func() error { return nil }, ""},
		{"put", func() error { putCells(t, s, "r a@1=x"); return nil }, "r a@1=x"},
		{"flush", func() error { return s.Flush(ctx, "t") }, "r a@1=x"},
		{"put over a file", func() error { putCells(t, s, "r a@2=y"); return nil }, "r a@2=y a@1=x"},
		{"drop range", func() error { return s.DropRange(ctx, []string{"t"}, cf.Range{Start: "q", End: "s"}) }, ""},
		{"put over a range", func() error { putCells(t, s, "r a@3=z"); return nil }, "r a@3=z"},
		{"second range", func() error { return s.DropRange(ctx, []string{"t"}, cf.Range{}) }, ""},
		{"put and flush", func() error { putCells(t, s, "r b@1=x"); return s.Flush(ctx, "t") }, "r b@1=x"},
		{"compact", func() error { return s.Compact(ctx, "t", cf.Range{}) }, "r b@1=x"},
		{"drop family", func() error { return s.DropFamily(ctx, "t") }, "none"},
		{"create it again", func() error { return s.CreateFamily(ctx, "t") }, ""},
		{"ingest where nothing is", func() error { return cftest.LoadCell(ctx, s, "t", "r", "a", "x") }, "r a@1=x"},
		{"ingest over it", func() error { return cftest.LoadCell(ctx, s, "t", "r", "a", "y") }, "r a@1=y"},
	} {
		must(step.change())
		if step.want == "none" {
			continue
		}
		for range 2 { // the second time with the cursor of the first
			if got := readRow(t, s, "r"); got != step.want {
				t.Errorf("after %s the row is %q, want %q", step.name, got, step.want)
			}
		}
	}
}

// TestReadsSeeWhatWasAcknowledged: also beside other writes, flushes and drops.
func TestReadsSeeWhatWasAcknowledged(t *testing.T) {
	s, err := Open(shm(t), Options{Memory: 8 << 20, Async: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := t.Context()
	if err := s.CreateFamily(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	const writers, writes = 4, 400
	var acknowledged [writers]atomic.Int64
	var done atomic.Bool
	var writing, reading sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := range writes {
				row := fmt.Sprintf("r%d", w)
				if i%50 == 49 {
					if err := s.DropRange(ctx, []string{"t"}, cf.Single(row)); err != nil {
						t.Error(err)
					}
				}
				_, err := s.Write(ctx, nil, func(b *cf.Batch) error {
					b.Row(cf.RowID{Space: "t", Row: row})
					b.Put("t", "n", 0, strconv.AppendInt(nil, int64(i), 10))
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				acknowledged[w].Store(int64(i))
				if i%97 == 96 {
					if err := s.Flush(ctx, "t"); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	for r := range 4 {
		reading.Go(func() {
			for i := r; !done.Load(); i++ {
				w := i % writers
				before := acknowledged[w].Load()
				rows, err := cftest.Read(ctx, s, cf.Scan{Family: "t", Rows: []cf.Range{cf.Single(fmt.Sprintf("r%d", w))}})
				if err != nil {
					t.Error(err)
					return
				}
				if len(rows) == 0 {
					continue // before the first write, or between a drop and the next write
				}
				if n, _ := strconv.ParseInt(rows[0].Cells[0].Value, 10, 64); n < before {
					t.Errorf("row %d was read as written %d times after %d were acknowledged", w, n, before)
					return
				}
			}
		})
	}
	writing.Wait()
	done.Store(true)
	reading.Wait()
}

// TestKeptCursorsLetFilesGo: files that a compaction replaced are removed even if no
// further read comes.
func TestKeptCursorsLetFilesGo(t *testing.T) {
	dir := shm(t)
	s, err := Open(dir, Options{Memory: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := t.Context()
	if err := s.CreateFamily(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		putCells(t, s, "r a@1=x")
		if err := s.Flush(ctx, "t"); err != nil {
			t.Fatal(err)
		}
		readRow(t, s, "r")
	}
	if err := s.Compact(ctx, "t", cf.Range{}); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(files) > 2 {
		t.Errorf("files after a compaction: %v, %v", files, err)
	}
}
