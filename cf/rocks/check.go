//go:build cgo && linux && !norocksdb

package rocks

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks/internal/native"
	"github.com/smolwc/smolwc/cf/rocks/internal/recovery"
	"github.com/smolwc/smolwc/cf/rocks/internal/steady"
	"github.com/smolwc/smolwc/cf/rocks/internal/verify"
)

var (
	_ cf.Checker     = (*Store)(nil)
	_ cf.Checker     = (*Follower)(nil)
	_ cf.EntryReader = (*snapshot)(nil)
)

// CheckFiles implements cf.Checker. It finds none of a database in memory.
func (s *Store) CheckFiles(ctx context.Context, fn func(cf.CheckedFile) error) error {
	if s.options.InMemory {
		return nil
	}
	done, err := s.use()
	if err != nil {
		return err
	}
	defer done()
	if err := s.checkLogFiles(ctx, fn); err != nil {
		return err
	}
	if err := s.checkBlobFiles(ctx, fn); err != nil {
		return err
	}
	files := s.db.GetLiveFilesMetaData()
	slices.SortFunc(files, func(a, b grocksdb.LiveFileMetadata) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range files {
		if err := cmp.Or(ctx.Err(), s.gate.Ending()); err != nil {
			return err
		}
		file := cf.CheckedFile{Name: strings.TrimPrefix(f.Name, "/"), Family: f.ColumnFamilyName, Bytes: f.Size}
		if f.ColumnFamilyName == catalogFamily {
			file.Family = ""
		}
		if file.Err = s.verify(file.Name); errors.Is(file.Err, fs.ErrNotExist) && s.replaced(f.Name) {
			continue
		}
		if err := fn(file); err != nil {
			return err
		}
	}
	return nil
}

// use keeps the store open until done is called.
func (s *Store) use() (done func(), err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, cf.ErrClosed
	}
	s.maintenance.Add(1)
	return s.maintenance.Done, nil
}

// checkLogFiles checks the manifest and the logs, and whether they fit together.
func (s *Store) checkLogFiles(ctx context.Context, fn func(cf.CheckedFile) error) error {
	var files []string
	for _, pattern := range []string{"MANIFEST-*", "*.log"} {
		names, err := filepath.Glob(filepath.Join(s.dir, pattern))
		if err != nil {
			return err
		}
		files = append(files, names...)
	}
	_, fault := steady.Read(ctx, s.dir, steady.OpenPatience, func() error {
		_, err := recovery.Check(s.dir)
		return err
	})
	if errors.Is(fault, steady.ErrTooBusy) || ctx.Err() != nil {
		return fault
	}
	for _, path := range files {
		info, err := os.Stat(path)
		if err != nil {
			continue // the engine removed it meanwhile
		}
		file := cf.CheckedFile{Name: filepath.Base(path), Bytes: info.Size()}
		if fault != nil && strings.Contains(fault.Error(), path) {
			file.Err, fault = fault, nil
		}
		if err := fn(file); err != nil {
			return err
		}
	}
	if fault == nil {
		return nil
	}
	return fn(cf.CheckedFile{Name: "CURRENT", Err: fault})
}

// verify reads a table file and compares its checksums.
func (s *Store) verify(name string) error {
	path := filepath.Join(s.dir, name)
	fault := verify.Table(s.engine.data, path, true)
	// A file that does not exist is reported as missing: a compaction may have removed
	// it.
	if _, err := os.Stat(path); fault != nil && err != nil {
		return fmt.Errorf("%w: %w", cf.ErrCorrupt, err)
	}
	return native.Wrap(fault)
}

// whichTable adds the damaged table file to the error of an open. RocksDB 7.8 names the
// manifest instead, which is sound.
func (e *engine) whichTable(dir string, err error) error {
	if !errors.Is(err, cf.ErrCorrupt) {
		return err
	}
	if table, _, ok := strings.Cut(err.Error(), " in file "+filepath.Join(dir, "MANIFEST")); ok && strings.Contains(table, ".sst") {
		return fmt.Errorf("%w%s", cf.ErrCorrupt, strings.TrimPrefix(table, cf.ErrCorrupt.Error()))
	}
	if strings.Contains(err.Error(), ".sst") {
		return err
	}
	if _, fault := recovery.Check(dir); fault != nil {
		return err
	}
	tables, _ := filepath.Glob(filepath.Join(dir, "*.sst")) // the pattern is sound
	for _, path := range tables {
		if fault := verify.Table(e.data, path, false); fault != nil && strings.HasPrefix(err.Error(), native.Wrap(fault).Error()) {
			return fmt.Errorf("%w: %s: %w", cf.ErrCorrupt, path, fault)
		}
	}
	return err
}

// replaced reports whether a missing file is no longer needed.
func (s *Store) replaced(name string) bool {
	return s.options.ReadOnly || !slices.ContainsFunc(s.db.GetLiveFilesMetaData(), func(f grocksdb.LiveFileMetadata) bool { return f.Name == name })
}

// entriesPause is the number of entries after which the context is checked.
const entriesPause = 4096

// Entries implements cf.EntryReader.
func (s *snapshot) Entries(ctx context.Context, family string, fn func(key, value []byte) error) error {
	f, err := s.families.get(family)
	if err != nil {
		return err
	}
	return s.read(func(opts *grocksdb.ReadOptions) error {
		opts.SetTotalOrderSeek(true)
		opts.SetFillCache(false)
		it := s.store.db.NewIteratorCF(opts, f.Handle)
		defer it.Close()
		n := 0
		for it.SeekToFirst(); it.Valid(); it.Next() {
			if n++; n%entriesPause == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if loading, err := s.isToken(ctx, it.Key().Data()); err != nil {
				return err
			} else if loading {
				continue
			}
			if err := fn(it.Key().Data(), it.Value().Data()); err != nil {
				return err
			}
		}
		if err := it.Err(); err != nil {
			return s.store.inFamily(&f.Family, native.Wrap(err))
		}
		return s.Engine.CheckStarts(&f.Family)
	})
}

// isToken reports whether a key is the token of an unfinished load.
func (s *snapshot) isToken(ctx context.Context, key []byte) (bool, error) {
	if !bytes.HasPrefix(key, tokenKey("")) {
		return false, nil
	}
	marker, err := s.Meta(ctx, string(key[1:]))
	return marker != nil, err
}
