package pebble

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	engine "github.com/cockroachdb/pebble/v2"

	"github.com/smolwc/smolwc/cf"
)

func tokenKey(id string) []byte {
	return append(append(appendID(nil, spaceSystem), entryLoad), id...)
}

// tokens are the loads that are visible, and have no note. The caller keeps the store open.
func (s *Store) tokens(ctx context.Context) (all []load, err error) {
	start := tokenKey("")
	it, err := s.db.NewIterWithContext(ctx, &engine.IterOptions{LowerBound: start, UpperBound: append(appendID(nil, spaceSystem), entryLoad+1)})
	if err != nil {
		return nil, wrap(err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		l, err := loadOf(string(it.Key()[len(start):]), it.Value())
		if err != nil {
			_ = it.Close() // it was only read
			return nil, err
		}
		all = append(all, l)
	}
	return all, wrap(it.Close())
}

// note is the note about a load.
func (s *Store) note(l load) (*engine.Batch, error) {
	text, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	b := s.newBatch(0)
	_ = b.LogData(append([]byte{logLoad}, text...), nil)
	_ = b.Delete(tokenKey(l.id), nil)
	return b, nil
}

// noteLoads writes the missing notes of loads that a crash interrupted.
func (s *Store) noteLoads(ctx context.Context) error {
	all, err := s.tokens(ctx)
	for _, l := range all {
		b, err := s.note(l)
		if err != nil {
			return err
		}
		if _, err := s.apply(ctx, b, true, nil); err != nil {
			return err
		}
	}
	return err
}

// loaded is an error if cells of a load are visible whose note the standby does not have yet.
// The caller keeps the store open.
func (s *Store) loaded(ctx context.Context) error {
	all, err := s.tokens(ctx)
	if err == nil && len(all) > 0 {
		err = fmt.Errorf("%w: a load becomes visible; try again", cf.ErrUnavailable)
	}
	return err
}

// takeFiles makes the files of a load part of the database, and notes that if there is a load
// to note. check looks at the families. None is dropped meanwhile.
func (s *Store) takeFiles(ctx context.Context, files []string, l *load, check func() error, taken func()) error {
	if l == nil {
		s.writing.RLock()
		defer s.writing.RUnlock()
		err := check()
		if err == nil {
			err = wrap(s.db.Ingest(ctx, files))
		}
		if err == nil {
			taken()
		}
		return err
	}
	defer s.hold()()
	if err := check(); err != nil {
		return err
	}
	if err := s.kept.DateLoad(l.id, s.acked.Load()+1); err != nil {
		return err
	}
	s.unnoted.Store(true)
	defer s.unnoted.Store(false)
	if err := s.db.Ingest(ctx, files); err != nil {
		return wrap(err)
	}
	taken()
	note, err := s.note(*l)
	if err == nil {
		_, err = s.put(note, false)
	}
	return err
}

// fileNames are the names of files.
func fileNames(paths []string) (all []string) {
	for _, path := range paths {
		all = append(all, filepath.Base(path))
	}
	slices.Sort(all)
	return all
}
