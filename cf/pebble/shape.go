package pebble

import (
	"cmp"
	"context"
	"maps"
	"slices"

	engine "github.com/cockroachdb/pebble/v2"
)

// CreateFamily implements [cf.Store].
func (s *Store) CreateFamily(ctx context.Context, names ...string) error {
	return s.reshape(ctx, func(all families, b *engine.Batch) {
		for _, name := range names {
			if all[name] != nil {
				continue
			}
			f := s.newFamily(name, s.next)
			s.next++
			all[name] = f
			_ = b.Set(familyKey(name), f.prefix, nil)
			_ = b.Set(append(appendID(nil, spaceSystem), entryNext), appendID(nil, s.next), nil)
		}
	})
}

// DropFamily implements [cf.Store].
func (s *Store) DropFamily(ctx context.Context, names ...string) error {
	return s.reshape(ctx, func(all families, b *engine.Batch) {
		for _, name := range names {
			if f := all[name]; f != nil {
				delete(all, name)
				_ = b.Delete(familyKey(name), nil)
				_ = b.DeleteRange(f.prefix, appendID(nil, f.id+1), nil)
			}
		}
	})
}

func familyKey(name string) []byte {
	return append(append(appendID(nil, spaceSystem), entryFamily), name...)
}

// reshape changes the families, in one batch. A new one is seen once it is on the disk; one
// that goes is gone before, so that no commit writes it after its range is deleted.
func (s *Store) reshape(ctx context.Context, fn func(families, *engine.Batch)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return err
	}
	if err := s.caughtUp(ctx); err != nil {
		return err
	}
	// A change that stays behind is made whole, or not at all.
	return s.do(ctx, func() error { return s.reshapeTo(fn) })
}

func (s *Store) reshapeTo(fn func(families, *engine.Batch)) error {
	s.shaping.Lock()
	defer s.shaping.Unlock()
	if err := s.fenced(); err != nil {
		return err
	}
	before := *s.families.Load()
	all := maps.Clone(before)
	b := s.newBatch(0)
	fn(all, b)
	if b.Count() == 0 {
		return b.Close()
	}
	left := maps.Clone(before)
	maps.DeleteFunc(left, func(name string, _ *family) bool { return all[name] == nil })
	if len(left) < len(before) {
		s.families.Store(&left)
		s.writing.Lock() // the commits that know the others have ended
		//lint:ignore SA2001 nothing is done between
		s.writing.Unlock()
	}
	_, err := s.put(b, !s.options.InMemory) // and not apply: its outcome must be known here
	if err = cmp.Or(s.lost(), err); err != nil {
		s.families.Store(&before)
		return err
	}
	s.families.Store(&all)
	return nil
}

// Families implements [cf.Store].
func (s *Store) Families() (names []string) {
	for name := range *s.families.Load() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
