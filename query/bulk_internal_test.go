package query

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A watched ingestion looks at the size of the database after each piece of a run.
type watched struct {
	cf.Ingestion
	mu   sync.Mutex
	dir  string
	peak int64
}

func (w *watched) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.peak = max(w.peak, bytesIn(w.dir))
}

func (w *watched) Run(ctx context.Context, family string) (cf.Run, error) {
	r, err := w.Ingestion.Run(ctx, family)
	return &watchedRun{r, w}, err
}

func (w *watched) Commit(ctx context.Context, rows cf.Range, fn func(cf.Snapshot, *cf.Batch) error) (cf.Position, error) {
	pos, err := w.Ingestion.Commit(ctx, rows, fn)
	w.look()
	return pos, err
}

type watchedRun struct {
	cf.Run
	w *watched
}

func (r *watchedRun) Write(ctx context.Context, c cf.CellGroups) error {
	err := r.Run.Write(ctx, c)
	r.w.look()
	return err
}

func (r *watchedRun) Close() error {
	err := r.Run.Close()
	r.w.look()
	return err
}

// bytesIn is the size of all files in a directory.
func bytesIn(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error { // files may be removed meanwhile
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			n += info.Size()
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	return n
}

// During a load the database is at most 1.6 times as large as after the load.
func TestDiskOfABulkLoad(t *testing.T) {
	value := func(r *rand.Rand, i int) cells.Value { // half of it compresses
		return cells.String(fmt.Sprintf("%016x%016x some text that each value has", r.Uint64(), i))
	}
	for name, families := range map[string][]string{"one family": {"a"}, "several": {"a", "b", "c"}} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "db")
			table := schema.Table{Name: "t"}
			for _, f := range families {
				table.Families = append(table.Families, schema.Family{Name: f})
			}
			db, err := Open(dir, Options{Memory: minMemory, Schema: &schema.Schema{Tables: []schema.Table{table}}})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			l, err := db.Table("t").BulkLoad(t.Context(), BulkOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			w := &watched{Ingestion: l.into, dir: dir}
			l.into = w
			m, r := write.NewMutation(), rand.New(rand.NewPCG(1, 2))
			for i := range 120_000 / len(families) {
				m.Reset()
				for _, f := range families {
					m.Set(f, "q", value(r, i))
				}
				if err := l.Apply(fmt.Sprintf("user%010d", uint32(i)*2654435761), m); err != nil {
					t.Fatal(err)
				}
				if i%10_000 == 0 {
					w.look()
				}
			}
			if l.sorter.Spilled() == 0 {
				t.Fatal("nothing was spilled")
			}
			if _, err := l.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			end := bytesIn(dir)
			t.Logf("%d bytes at most, %d in the end: %.2f", w.peak, end, float64(w.peak)/float64(end))
			if float64(w.peak) > 1.6*float64(end) {
				t.Errorf("%d bytes at most, and %d in the end", w.peak, end)
			}
		})
	}
}
