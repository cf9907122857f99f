//go:build cgo && linux && !norocksdb

package rocks

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/merge"
	"github.com/smolwc/smolwc/cf/rocks/internal/tablefile"
)

// An ingestion implements cf.Ingestion. Its runs are table files in its own directory;
// Commit passes them to the engine.
type ingestion struct {
	store *Store
	id    string
	dir   string

	mu    sync.Mutex
	count int                 // the number of files begun
	files map[string][]string // the finished files, by family
	open  int                 // the number of open runs
	ended bool
	keep  bool // the next open needs the files to finish a Commit that stopped
}

const (
	bulkDir  = "bulk"   // in the database's directory; a directory for each ingestion
	bulkFile = 64 << 20 // bytes of a run's file, without Options.FileSize
)

// Ingest implements cf.Store.
func (s *Store) Ingest(ctx context.Context) (cf.Ingestion, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return nil, err
	}
	id := rand.Text()
	in := &ingestion{store: s, id: id, dir: filepath.Join(s.dir, bulkDir, id), files: map[string][]string{}}
	if s.options.InMemory {
		return in, nil
	}
	if err := s.inPlace(); err != nil {
		return nil, err
	}
	s.bulkDirs.Lock()
	defer s.bulkDirs.Unlock()
	if err := os.MkdirAll(in.dir, 0o755); err != nil {
		return nil, fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	return in, nil
}

// TempDir implements cf.Ingestion.
func (in *ingestion) TempDir() string {
	if in.store.options.InMemory {
		return ""
	}
	return in.dir
}

// A run implements cf.Run. It writes one table file after another.
type run struct {
	in     *ingestion
	family string
	writer *tablefile.Writer
	path   string // of the open file, "" when no file is open
	closed bool
}

// Run implements cf.Ingestion.
func (in *ingestion) Run(ctx context.Context, family string) (cf.Run, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := in.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return nil, err
	}
	f, err := s.families.Load().get(family)
	if err != nil {
		return nil, err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended {
		return nil, cf.ErrClosed
	}
	opts := s.engine.tableOptions()
	if err := s.tune(opts, f); err != nil {
		opts.Destroy()
		return nil, err
	}
	in.open++
	return &run{in: in, family: family, writer: tablefile.NewWriter(opts)}, nil
}

// tableOptions are the options for writing a family's files. The caller destroys them.
func (e *engine) tableOptions() *grocksdb.Options { return e.data.Clone() }

// Write implements cf.Run.
func (r *run) Write(ctx context.Context, c cf.CellGroups) error {
	size := cmp.Or(r.in.store.options.FileSize, bulkFile)
	for len(c.At) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		if r.path == "" {
			if err := r.begin(); err != nil {
				return err
			}
		}
		left, full, err := r.writer.Add(c, size)
		if err != nil {
			return err
		}
		if c = left; full {
			if err := r.finish(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) begin() error {
	r.in.mu.Lock()
	r.in.count++
	path := filepath.Join(r.in.dir, fmt.Sprintf("%06d.sst", r.in.count))
	r.in.mu.Unlock()
	if err := r.writer.Open(path); err != nil {
		return err
	}
	r.path = path
	return nil
}

// finish ends and syncs the open file.
func (r *run) finish() error {
	if err := r.writer.Finish(); err != nil {
		return err
	}
	r.in.mu.Lock()
	defer r.in.mu.Unlock()
	r.in.files[r.family] = append(r.in.files[r.family], r.path)
	r.path = ""
	return nil
}

// Close implements cf.Run.
func (r *run) Close() (err error) {
	if r.closed {
		return nil
	}
	r.closed = true
	if r.path != "" {
		err = r.finish()
	}
	r.writer.Close()
	r.in.mu.Lock()
	defer r.in.mu.Unlock()
	r.in.open--
	return err
}

// Merge implements cf.Ingestion.
func (in *ingestion) Merge(operands [][]byte) ([]byte, bool) {
	return merge.Operands(operands...)
}

// Close implements cf.Ingestion. In a database in memory, the files of an ingestion
// without a Commit stay until the database is closed.
func (in *ingestion) Close() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended {
		return nil
	}
	if in.open > 0 {
		return fmt.Errorf("ingestion closed while %d of its runs are open", in.open)
	}
	in.ended = true
	return in.remove()
}

func (in *ingestion) remove() error {
	if in.store.options.InMemory || in.keep {
		return nil
	}
	if err := os.RemoveAll(in.dir); err != nil {
		return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	in.store.bulkDirs.Lock()
	defer in.store.bulkDirs.Unlock()
	_ = os.Remove(filepath.Dir(in.dir)) // fails unless this was the last ingestion
	return nil
}
