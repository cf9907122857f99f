package pebble

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/bulk"
	"github.com/smolwc/smolwc/cf/isolation"
	"github.com/smolwc/smolwc/cf/merge"
)

// An ingestion implements [cf.Ingestion]. All its files, of all families and one with the
// entries of the catalog, become visible in one call of Pebble, which is atomic also when
// the machine stops: there is nothing to finish at the next open.
type ingestion struct {
	store *Store
	dir   string
	temp  string // on the disk, for the caller
	mu    sync.Mutex
	files []string
	in    map[string]bool // families
	done  atomic.Bool
}

// Ingest implements [cf.Store].
func (s *Store) Ingest(ctx context.Context) (cf.Ingestion, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return nil, err
	}
	n := s.loads.Add(1)
	in := &ingestion{store: s, dir: s.fs.PathJoin(s.dir, loadsDir, fmt.Sprint(n)), in: map[string]bool{}}
	s.loading.Lock()
	defer s.loading.Unlock()
	if err := s.fs.MkdirAll(in.dir, 0o755); err != nil {
		return nil, wrap(err)
	}
	if !s.options.InMemory && s.options.FS == nil {
		in.temp = in.dir
	}
	return in, nil
}

func (in *ingestion) TempDir() string { return in.temp }

func (in *ingestion) ready() error {
	if in.store.life.Err() != nil || in.done.Load() {
		return cf.ErrClosed
	}
	return nil
}

// Merge implements [cf.Ingestion].
func (in *ingestion) Merge(operands [][]byte) ([]byte, bool) { return merge.Operands(operands...) }

// Run implements [cf.Ingestion].
func (in *ingestion) Run(ctx context.Context, name string) (cf.Run, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := in.ready(); err != nil {
		return nil, err
	}
	f, err := (*in.store.families.Load()).get(name)
	if err != nil {
		return nil, err
	}
	return &run{in: in, family: f}, nil
}

// A run writes table files of up to fileSize bytes.
type run struct {
	in     *ingestion
	family *family
	w      *sstable.Writer
	key    []byte
	value  []byte
}

func (in *ingestion) writer() (*sstable.Writer, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	path := in.store.fs.PathJoin(in.dir, fmt.Sprintf("%06d.sst", len(in.files)))
	f, err := in.store.fs.Create(path, loadCategory)
	if err != nil {
		return nil, wrap(err)
	}
	in.files = append(in.files, path)
	last := len(in.store.settings.Levels) - 1
	o := in.store.settings.MakeWriterOptions(last, in.store.db.TableFormat())
	o.DisableValueBlocks = true
	o.Compression = sstable.BalancedCompression // zstd too, and quicker than at the level of compactions
	return sstable.NewWriter(objstorageprovider.NewFileWritable(f), o), nil
}

// Write implements [cf.Run].
func (r *run) Write(ctx context.Context, c cf.CellGroups) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.in.ready(); err != nil {
		return err
	}
	return bulk.EachCell(c, func(key, value []byte, operand bool) error {
		r.key = append(append(r.key[:0], r.family.prefix...), key...)
		return r.add(value, operand)
	})
}

func (r *run) add(value []byte, operand bool) (err error) {
	if r.w != nil && r.w.Raw().EstimatedSize() > fileSize {
		if err := r.Close(); err != nil {
			return err
		}
	}
	if r.w == nil {
		if r.w, err = r.in.writer(); err != nil {
			return err
		}
	}
	if operand {
		r.value = appendOperand(r.value[:0], value)
		return wrap(r.w.Merge(r.key, r.value))
	}
	if escaped(value) {
		r.value = append(append(r.value[:0], markEscape), value...)
		value = r.value
	}
	return wrap(r.w.Set(r.key, value))
}

// Close implements [cf.Run].
func (r *run) Close() error {
	if r.w == nil {
		return nil
	}
	r.in.mu.Lock()
	r.in.in[r.family.name] = true
	r.in.mu.Unlock()
	err := r.w.Close()
	r.w = nil
	return wrap(err)
}

// Commit implements [cf.Ingestion].
func (in *ingestion) Commit(ctx context.Context, rows cf.Range, fn func(cf.Snapshot, *cf.Batch) error) (pos cf.Position, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := in.ready(); err != nil {
		return 0, err
	}
	s := in.store
	if err := s.gate.letIn(ctx); err != nil {
		return 0, err
	}
	if err := s.ingesting.Lock(ctx); err != nil {
		return 0, err
	}
	defer s.ingesting.Unlock()
	b := new(cf.Batch)
	if fn != nil {
		snap, err := s.snapshot(ctx, allRows)
		if err != nil {
			return 0, err
		}
		defer snap.Close()
		if err := fn(snap, b); err != nil {
			return 0, err
		}
	}
	written := len(in.files)
	l, err := in.entries(b)
	defer func() {
		if err == nil || in.done.Load() {
			return
		}
		in.files = in.files[:written] // another try writes the entries anew
		if l != nil {
			s.kept.ForgetLoad(l.id)
		}
	}()
	if err == nil && l != nil {
		err = s.kept.KeepLoad(l.id, 0, in.files)
	}
	if err != nil {
		return 0, err
	}
	hold := isolation.Hold{All: true}
	if err := s.locks.Lock(ctx, &hold); err != nil {
		return 0, err
	}
	defer s.locks.Unlock(&hold)
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return 0, err
	}
	names := slices.Collect(maps.Keys(in.in))
	check := func() error {
		for _, name := range names {
			if _, err := (*s.families.Load()).get(name); err != nil {
				return err
			}
		}
		return nil
	}
	if len(in.files) > 0 {
		files := in.files
		if err := s.do(ctx, func() error {
			return s.takeFiles(ctx, files, l, check, func() { s.history.AddRange(names, rows) })
		}); err != nil {
			in.done.Store(errors.Is(err, cf.ErrUnknownOutcome)) // the files may be there later
			return 0, err
		}
		in.files = nil
	}
	in.done.Store(true)
	if l == nil {
		_, err = s.apply(ctx, s.mark(), false, nil) // the load gets its position
	}
	return cf.Position(s.acked.Load()), err
}

// entries writes the changes of the catalog as a table file, and the token of a load that
// standbys have to learn of.
func (in *ingestion) entries(b *cf.Batch) (l *load, err error) {
	if in.store.Ships() != "" && len(in.files)+len(b.Ops()) > 0 {
		l = &load{id: rand.Text()}
	}
	if len(b.Ops()) == 0 && l == nil {
		return nil, nil
	}
	last := map[string]*cf.Op{}
	var keys []string
	for i := range b.Ops() {
		op := &b.Ops()[i]
		if op.Kind != cf.OpPutMeta && op.Kind != cf.OpDeleteMeta {
			return nil, fmt.Errorf("a load cannot carry operation %d", op.Kind)
		}
		key := string(b.Key(op))
		if last[key] == nil {
			keys = append(keys, key)
		}
		last[key] = op
	}
	slices.Sort(keys)
	w, err := in.writer()
	if err != nil {
		return nil, err
	}
	if l != nil {
		l.Files = fileNames(in.files)
		var text []byte
		if text, err = json.Marshal(l); err == nil {
			err = w.Set(tokenKey(l.id), text)
		}
		if err != nil {
			return nil, errors.Join(wrap(err), w.Close())
		}
	}
	for _, key := range keys {
		full := append(appendID(nil, spaceMeta), key...)
		if op := last[key]; op.Kind == cf.OpPutMeta {
			err = w.Set(full, b.Value(op))
		} else {
			err = w.Delete(full)
		}
		if err != nil {
			return nil, errors.Join(wrap(err), w.Close())
		}
	}
	return l, wrap(w.Close())
}

// Close implements [cf.Ingestion]. Once the store is lost, the directory may belong to
// another one.
func (in *ingestion) Close() error {
	in.done.Store(true)
	if in.store.lost() != nil {
		return nil
	}
	in.store.loading.Lock()
	defer in.store.loading.Unlock()
	if err := in.store.fs.RemoveAll(in.dir); err != nil && !notExist(err) {
		return wrap(err)
	}
	_ = in.store.fs.Remove(in.store.fs.PathDir(in.dir)) // unless there are other loads
	return nil
}
