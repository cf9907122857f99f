//go:build cgo && linux && !norocksdb

package rocks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/isolation"
	"github.com/smolwc/smolwc/cf/rocks/internal/files"
	"github.com/smolwc/smolwc/cf/rocks/internal/recovery"
	"github.com/smolwc/smolwc/cf/rocks/internal/tablefile"
)

// The engine takes files for one family at a time, so a marker and tokens make an
// ingestion atomic. The marker is an entry of the catalog that names all files; it is
// written before the first family takes its files. A token is a key beside the cells;
// it enters a family together with the family's files. When an open finds a marker, the
// tokens show which families have their files. The open gives the remaining families
// their files, and then removes the marker and the tokens in one batch. docs/format.md
// shows their bytes.

// tokenKey is the key of a token: a zero byte, which sorts it before all cells, and the
// key of the marker.
func tokenKey(id string) []byte { return append([]byte{0}, recovery.MarkerPrefix+id...) }

// A marker describes the rest of an ingestion that must be finished.
type marker struct {
	// Files are the names of each family's files in the ingestion's directory.
	Files map[string][]string `json:"files"`
	// Meta are catalog entries to write when the cells are visible.
	Meta map[string][]byte `json:"meta,omitempty"`

	id, dir string
	noted   bool // standbys know that the cells are visible
}

// Commit implements cf.Ingestion.
func (in *ingestion) Commit(ctx context.Context, rows cf.Range, fn func(cf.Snapshot, *cf.Batch) error) (cf.Position, error) {
	if err := in.begin(ctx); err != nil {
		return 0, err
	}
	s := in.store
	if err := s.ingesting.Lock(ctx); err != nil { // one at a time
		return 0, err
	}
	defer s.ingesting.Unlock()
	m, err := in.prepare(ctx)
	if err != nil {
		return 0, err
	}
	if err := s.keepLoad(m, 0); err != nil {
		s.changes.kept.ForgetLoad(m.id)
		return 0, err
	}
	pos, err := s.gate.LetIn(ctx, func() (cf.Position, int, error) {
		pos, err := in.handOver(ctx, m, rows, fn)
		return pos, 0, err
	})
	if err != nil {
		if !in.keep {
			s.changes.kept.ForgetLoad(m.id)
		}
		return 0, err
	}
	late := !m.noted
	// The cells are visible. The remaining write may have to wait, since the new cells
	// can stall the store. It waits without locks.
	if err := s.finished(m); err != nil {
		in.keep = true
		return 0, err
	}
	if late || len(m.Meta) > 0 { // a standby gets the load with its note, and the entries, which came after
		pos = s.Latest()
	}
	return pos, nil
}

// handOver passes the files to the engine. If the engine takes no writes, handOver
// changes nothing and returns gate.ErrStalled.
func (in *ingestion) handOver(ctx context.Context, m *marker, rows cf.Range, fn func(cf.Snapshot, *cf.Batch) error) (pos cf.Position, err error) {
	s := in.store
	hold := isolation.Hold{All: true} // not between the read and the write of an update
	if err := s.locks.Lock(ctx, &hold); err != nil {
		return 0, err
	}
	defer s.locks.Unlock(&hold)
	if m.Meta, err = in.entries(ctx, fn); err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil { // from here on the context is not checked
		return 0, err
	}
	s.mu.Lock() // no snapshot sees the new files of some families only
	defer s.mu.Unlock()
	if err := cmp.Or(s.writable(), s.gate.Ending(), s.engine.logs.TakesFiles()); err != nil {
		return 0, err
	}
	defer s.noteLoaded()
	if err := s.ingest(m); err != nil {
		in.keep = s.broken != nil
		return 0, err
	}
	s.history.AddRange(slices.Collect(maps.Keys(m.Files)), rows)
	return cf.Position(s.db.GetLatestSequenceNumber()), nil
}

// begin checks that the ingestion can be committed.
func (in *ingestion) begin(ctx context.Context) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case in.ended:
		return cf.ErrClosed
	case in.open > 0:
		return fmt.Errorf("ingestion committed while %d of its runs are open", in.open)
	}
	return nil
}

// prepare does the work that takes long or can fail before the locks are taken: it
// writes the tokens, flushes the families and syncs the directories. Without the
// flushes here, the engine would flush while writes wait.
func (in *ingestion) prepare(ctx context.Context) (*marker, error) {
	m := &marker{Files: map[string][]string{}, id: in.id, dir: in.dir}
	for _, name := range slices.Sorted(maps.Keys(in.files)) {
		var token string
		err := in.store.maintain(name, func(*family) (err error) { // the store is not closed meanwhile
			if err := in.store.engine.logs.TakesFiles(); err != nil {
				return err
			}
			token, err = in.writeToken(len(m.Files))
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, path := range append(in.files[name], token) {
			m.Files[name] = append(m.Files[name], filepath.Base(path))
		}
		if err := in.store.Flush(ctx, name); err != nil {
			return nil, err
		}
	}
	if in.store.options.InMemory {
		return m, nil
	}
	for _, dir := range []string{in.dir, filepath.Dir(in.dir), in.store.dir} {
		if err := syncDir(dir); err != nil {
			return nil, fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
		}
	}
	return m, nil
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// writeToken makes a file with only the token. A token in a file with cells would keep
// that file from the lowest level that the cells fit in.
func (in *ingestion) writeToken(n int) (string, error) {
	path := filepath.Join(in.dir, fmt.Sprintf("token-%d.sst", n))
	return path, tablefile.WriteKey(in.store.engine.tableOptions(), path, tokenKey(in.id))
}

// entries are the catalog entries that fn puts.
func (in *ingestion) entries(ctx context.Context, fn func(cf.Snapshot, *cf.Batch) error) (map[string][]byte, error) {
	if fn == nil {
		return nil, nil
	}
	snap, err := in.store.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	var b cf.Batch
	if err := fn(snap, &b); err != nil {
		return nil, err
	}
	meta := map[string][]byte{}
	for i := range b.Ops() {
		op := &b.Ops()[i]
		if op.Kind != cf.OpPutMeta {
			return nil, fmt.Errorf("an ingestion's batch cannot carry operation %d", op.Kind)
		}
		meta[string(b.Key(op))] = slices.Clone(b.Value(op))
	}
	return meta, nil
}

// ingest makes all files part of the database. After an error either no file is part of
// it, or the store is stopped. The caller holds s.mu exclusively.
func (s *Store) ingest(m *marker) error {
	if err := s.changes.kept.DateLoad(m.id, s.db.GetLatestSequenceNumber()+1); err != nil {
		return err
	}
	if err := s.mark(m); err != nil {
		return err
	}
	marked := s.db.GetLatestSequenceNumber()
	if err := s.step("marked"); err != nil {
		return s.stopped(err)
	}
	for i, family := range slices.Sorted(maps.Keys(m.Files)) {
		err := s.ingestFamily(family, m)
		if err != nil && i == 0 && s.unmark(m, nil) == nil {
			return err // nothing is visible
		}
		if err = errors.Join(err, s.step("ingested "+family)); err != nil {
			return s.stopped(err)
		}
	}
	// If the new cells stall the store, finished writes the note. Standbys are copied
	// anew if other writes come before it.
	m.noted = s.noteLoad(m, int(s.db.GetLatestSequenceNumber()-marked)) == nil
	s.unnoted.Store(!m.noted)
	return nil
}

// finished ends an ingestion whose cells are all visible. It waits until the engine
// takes writes.
func (s *Store) finished(m *marker) error {
	_, err := s.gate.LetIn(context.Background(), func() (cf.Position, int, error) {
		if err := s.noteLate(m); err != nil {
			return 0, 0, err
		}
		s.mu.RLock()
		defer s.mu.RUnlock()
		if err := s.usable(); err != nil {
			return 0, 0, err
		}
		return 0, 0, s.unmark(m, m.Meta)
	})
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.stopped(err)
	}
	return s.step("unmarked")
}

// stopped makes the store refuse all reads and writes, so that no read sees a part of
// an ingestion. The caller holds s.mu exclusively.
func (s *Store) stopped(cause error) error {
	s.broken = fmt.Errorf("%w: a load stopped half-way (%w); opening the database again finishes it", cf.ErrUnavailable, cause)
	return fmt.Errorf("%w: %w", cf.ErrUnknownOutcome, s.broken)
}

// mark writes the marker.
func (s *Store) mark(m *marker) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	batch := grocksdb.NewWriteBatch()
	defer batch.Destroy()
	batch.Put([]byte(recovery.MarkerPrefix+m.id), text)
	return s.writeSynced(batch)
}

// unmark removes the marker and the tokens, and writes catalog entries.
func (s *Store) unmark(m *marker, meta map[string][]byte) error {
	batch := grocksdb.NewWriteBatch()
	defer batch.Destroy()
	for key, value := range meta {
		batch.Put([]byte(key), value)
	}
	batch.Delete([]byte(recovery.MarkerPrefix + m.id))
	for family := range m.Files {
		f, err := s.families.Load().get(family)
		if err != nil {
			return err
		}
		batch.DeleteCF(f.Handle, tokenKey(m.id))
	}
	return s.writeSynced(batch)
}

// writeSynced writes a batch and syncs it, even if Options.Async is set: the files of a
// load are synced too. It returns gate.ErrStalled when the engine refuses the write
// because it stalls.
func (s *Store) writeSynced(batch *grocksdb.WriteBatch) error {
	opts := grocksdb.NewDefaultWriteOptions()
	defer opts.Destroy()
	opts.SetSync(!s.options.InMemory)
	opts.SetNoSlowdown(true)
	_, err := s.tryPut(files.NewWriter(s.engine.logs, s.db, opts), batch.Data(), nil)
	s.changes.kept.Tell()
	return err
}

// ingestFamily passes a family's files to the engine, which takes all of them or none.
func (s *Store) ingestFamily(name string, m *marker) error {
	f, err := s.families.Load().get(name)
	if err != nil {
		return err
	}
	paths := make([]string, len(m.Files[name]))
	for i, file := range m.Files[name] {
		paths[i] = filepath.Join(m.dir, file)
	}
	opts := grocksdb.NewDefaultIngestExternalFileOptions()
	defer opts.Destroy()
	opts.SetMoveFiles(true)
	return s.changeManifest(func() error { return s.db.IngestExternalFileCF(f.Handle, paths, opts) })
}

// step lets tests stop an ingestion.
func (s *Store) step(name string) error {
	if s.onStep == nil {
		return nil
	}
	return s.onStep(name)
}
