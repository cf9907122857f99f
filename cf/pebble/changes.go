package pebble

import (
	"context"
	"slices"
	"time"

	"github.com/smolwc/smolwc/cf"
)

// KeepsChanges implements [cf.ChangeLog].
func (s *Store) KeepsChanges() bool { return s.fs.keep.Load() }

// ChangeStarts implements [cf.ChangeLog].
func (s *Store) ChangeStarts() ([]cf.Position, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(); err != nil {
		return nil, err
	}
	starts, err := s.begins()
	s.log.mu.Lock()
	from := s.log.from
	s.log.mu.Unlock()
	acked := cf.Position(s.acked.Load())
	for i := range starts {
		starts[i] = max(starts[i], from)
	}
	starts = slices.DeleteFunc(slices.Compact(starts), func(p cf.Position) bool { return p >= acked })
	return append(starts, acked), err
}

// Changes implements [cf.ChangeLog].
func (s *Store) Changes(after cf.Position) (cf.Changes, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(); err != nil {
		return nil, err
	}
	c := &changes{reading: reading{store: s, at: after}}
	return c, c.reaches()
}

// A changes reads commits out of the records.
type changes struct {
	reading
	families *families // those in names
	names    map[uint32]string
}

// Position implements [cf.Changes].
func (c *changes) Position() cf.Position { return c.at }

// Close implements [cf.Changes].
func (c *changes) Close() { c.log = nil }

// Next implements [cf.Changes].
func (c *changes) Next(ctx context.Context) (*cf.Commit, error) {
	for {
		r, err := c.read(ctx)
		if r == nil || err != nil {
			return nil, err
		}
		next, err := commitOf(r.ops, c.known())
		if err != nil {
			return nil, err
		}
		c.took(r)
		if next != nil {
			next.Before, next.At = r.first-1, r.last
			return next, nil
		}
	}
}

// known are the names of the families by their numbers.
func (c *changes) known() map[uint32]string {
	if all := c.store.families.Load(); all != c.families {
		c.families, c.names = all, map[uint32]string{}
		for name, f := range *all {
			c.names[f.id] = name
		}
	}
	return c.names
}

// commitOf is the commit of a batch with notes, nil for one without.
func commitOf(ops []byte, names map[uint32]string) (*cf.Commit, error) {
	k, notes := new(cf.Commit), 0
	err := eachOp(ops, func(id uint32, op *cf.LoggedOp) error {
		if op.Kind == cf.OpNote {
			if op.Value[0] == logNote {
				k.Ops = append(k.Ops, cf.LoggedOp{Kind: cf.OpNote, Value: op.Value[1:]})
				notes++
			}
			return nil
		}
		name, known := names[id]
		if known { // otherwise the catalog, or a family that was dropped
			op.Family = name
			k.Ops = append(k.Ops, *op)
		}
		return nil
	})
	if err != nil || notes == 0 {
		return nil, err
	}
	return k, nil
}

// KeepChanges implements [cf.ChangeLog].
func (s *Store) KeepChanges(from time.Time) error {
	s.log.keeping.Lock()
	defer s.log.keeping.Unlock()
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return err
	}
	if from.IsZero() && s.kept.Ships() == "" {
		s.fs.keep.Store(false)
		s.log.mu.Lock()
		s.log.from = cf.Position(s.acked.Load())
		s.log.mu.Unlock()
		s.fs.shelving.Lock()
		defer s.fs.shelving.Unlock()
		return wrap(s.fs.RemoveAll(s.fs.archive()))
	}
	if err := s.keepLogs(); err != nil {
		return err
	}
	return s.trim(func(modified time.Time) bool { return from.IsZero() || modified.Before(from) })
}
