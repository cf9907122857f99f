package pebble

import (
	"context"
	"fmt"
	"strings"

	engine "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/blob"

	"github.com/smolwc/smolwc/cf"
)

var (
	_ cf.Checker     = (*Store)(nil)
	_ cf.EntryReader = (*snapshot)(nil)
)

// CheckFiles implements [cf.Checker]: each table file is opened again and read to its end.
func (s *Store) CheckFiles(ctx context.Context, fn func(cf.CheckedFile) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(); err != nil {
		return err
	}
	ctx, done := s.until(ctx)
	defer done()
	tables, err := s.db.SSTables()
	if err != nil {
		return wrap(err)
	}
	var names []string
	for _, level := range tables {
		for _, t := range level {
			names = append(names, fmt.Sprintf("%s.sst", t.BackingSSTNum))
		}
	}
	all, err := s.fs.List(s.dir)
	if err != nil {
		return wrap(err)
	}
	for _, name := range all {
		if strings.HasSuffix(name, ".blob") {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		size, err := s.checkFile(name)
		if notExist(err) { // a compaction removed it
			continue
		}
		if err := fn(cf.CheckedFile{Name: name, Bytes: size, Err: wrap(err)}); err != nil {
			return err
		}
	}
	return nil
}

// checkFile reads all blocks of a file, whose size it returns.
func (s *Store) checkFile(name string) (int64, error) {
	f, err := s.fs.FS.Open(s.fs.PathJoin(s.dir, name))
	if err != nil {
		return 0, err
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return 0, err
	}
	size, ctx, o := readable.Size(), context.Background(), s.settings.MakeReaderOptions()
	if strings.HasSuffix(name, ".blob") {
		r, err := blob.NewFileReader(ctx, readable, blob.FileReaderOptions{ReaderOptions: o.ReaderOptions})
		if err != nil {
			_ = readable.Close()
			return size, err
		}
		defer r.Close()
		_, err = r.Layout() // reads all blocks
		return size, err
	}
	r, err := sstable.NewReader(ctx, readable, o)
	if err != nil {
		_ = readable.Close()
		return size, err
	}
	defer r.Close()
	return size, r.ValidateBlockChecksums()
}

// Entries implements [cf.EntryReader].
func (s *snapshot) Entries(ctx context.Context, name string, fn func(key, value []byte) error) error {
	f, err := s.families.get(name)
	if err != nil {
		return err
	}
	s.store.mu.RLock() // the store stays open
	defer s.store.mu.RUnlock()
	ctx, done := s.store.until(ctx)
	defer done()
	var it *engine.Iterator
	err = s.with(func(from source) error {
		it, err = from.NewIter(&engine.IterOptions{LowerBound: f.prefix, UpperBound: appendID(nil, f.id+1)})
		return wrap(err)
	})
	if err != nil {
		return err
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return wrap(err)
		}
		if err := fn(it.Key()[idLen:], plain(value)); err != nil {
			return err
		}
	}
	return wrap(it.Error())
}
