//go:build cgo && linux && !norocksdb

package rocks

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks/internal/callbacks"
	"github.com/smolwc/smolwc/cf/rocks/internal/scan"
)

// catalogFamily is RocksDB's own column family; it holds the catalog.
const catalogFamily = "default"

// A family is an open column family.
type family struct {
	scan.Family
	id     uint32
	expiry callbacks.Expiry          // of a declared family
	tuning atomic.Pointer[cf.Tuning] // nil is the zero one
	period atomic.Int64              // in seconds, after which the engine rewrites files; 0 is never
	noted  atomic.Int64              // the Before of the expiry that standbys know
	given  atomic.Pointer[cf.Expiry] // by SetExpiry; nil before
	most   atomic.Int64              // the largest Before that was given since the open
	told   atomic.Bool               // standbys know that it exists
	sums   atomic.Pointer[tableSums] // as Stats found them; nil before
}

// families is the set of open families by name. A change replaces the set, so that a
// snapshot keeps the set of its time.
type families map[string]*family

func newFamily(name string, h *grocksdb.ColumnFamilyHandle, e callbacks.Expiry) *family {
	f := &family{id: h.ID(), expiry: e}
	f.Open(name, h)
	return f
}

func (f families) get(name string) (*family, error) {
	if fam, ok := f[name]; ok {
		return fam, nil
	}
	return nil, fmt.Errorf("family %s %w", name, cf.ErrNotExist)
}

// Families implements cf.Store.
func (s *Store) Families() []string {
	names := slices.Collect(maps.Keys(*s.families.Load()))
	slices.Sort(names)
	return slices.DeleteFunc(names, func(n string) bool { return n == catalogFamily })
}

var _ cf.DropTeller = (*Store)(nil)

// Dropped implements cf.DropTeller, from the manifest as it was before the open.
func (s *Store) Dropped() []string {
	if s.engine.found == nil {
		return nil
	}
	return s.engine.found.Dropped
}

// CreateFamily implements cf.Store.
func (s *Store) CreateFamily(ctx context.Context, names ...string) error {
	if len(names) > 0 {
		if err := s.createFamilies(ctx, names); err != nil {
			return err
		}
	}
	return s.noteCreated(ctx)
}

func (s *Store) createFamilies(ctx context.Context, names []string) error {
	return s.changeFamilies(ctx, names, func(to families, name string) error {
		if _, ok := to[name]; ok {
			return nil
		}
		e, opts, err := s.engine.familyOption()
		if err != nil {
			return err
		}
		defer opts.Destroy()
		var h *grocksdb.ColumnFamilyHandle
		err = s.changeManifest(func() (err error) {
			h, err = s.db.CreateColumnFamily(opts, name)
			return err
		})
		if err != nil {
			e.Free()
			return err
		}
		to[name] = newFamily(name, h, e)
		return nil
	})
}

// DropFamily implements cf.Store.
func (s *Store) DropFamily(ctx context.Context, names ...string) error {
	if err := s.dropFamilies(ctx, names); err != nil {
		return err
	}
	return s.noteDropped(ctx, names)
}

func (s *Store) dropFamilies(ctx context.Context, names []string) error {
	return s.changeFamilies(ctx, names, func(to families, name string) error {
		f, ok := to[name]
		if !ok {
			return nil
		}
		if err := s.changeManifest(func() error { return s.db.DropColumnFamily(f.Handle) }); err != nil {
			return err
		}
		f.ClearKept()
		delete(to, name)
		s.dropped.add(f)
		s.history.AddRange([]string{name}, cf.Range{})
		return nil
	})
}

// changeFamilies changes one family after the other, up to an error. After each change
// RocksDB writes the options of all families to a file, and reads it back to compare.
// That takes quadratic time, and only the last file is needed: changeFamilies holds
// back the others.
func (s *Store) changeFamilies(ctx context.Context, names []string, change func(to families, name string) error) error {
	if err := s.shaping.Lock(ctx); err != nil {
		return err
	}
	defer s.shaping.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writable(); err != nil {
		return err
	}
	changed := maps.Clone(*s.families.Load())
	defer func() {
		s.families.Store(&changed)
		s.dropped.next()
	}()
	defer s.engine.logs.HoldOptions(false)
	for i, name := range names {
		s.engine.logs.HoldOptions(i < len(names)-1)
		if err := change(changed, name); err != nil {
			return err
		}
	}
	return nil
}

// sweep clears the cursors that families keep.
func (s *Store) sweep() {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return
	}
	s.scans.Swept()
	for _, f := range *s.families.Load() {
		f.ClearKept()
	}
}

// free frees a family's memory, and its files if it was dropped. The family must not be
// in use.
func (f *family) free() {
	f.Family.Free()
	f.expiry.Free()
}

// droppedFamilies frees a dropped family after the last use of a set of families with
// it. Snapshots, with their cursors, and maintenance count as uses of a set; a caller
// that holds Store.mu needs no use. The store must not be closed while a method runs.
type droppedFamilies struct {
	mu   sync.Mutex
	set  uint64         // the number of the set in force
	uses map[uint64]int // of sets, by their numbers
	all  []droppedFamily
}

type droppedFamily struct {
	*family
	last uint64 // the last set that contains it
}

// add says that a family is not in the next set and later ones.
func (d *droppedFamilies) add(f *family) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, droppedFamily{f, d.set})
}

// next puts another set in force.
func (d *droppedFamilies) next() {
	d.mu.Lock()
	d.set++
	d.freeAndUnlock()
}

// use begins a use of the set in force. The caller holds Store.mu.
func (d *droppedFamilies) use() (set uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.uses == nil {
		d.uses = map[uint64]int{}
	}
	d.uses[d.set]++
	return d.set
}

// unuse ends a use.
func (d *droppedFamilies) unuse(set uint64) {
	d.mu.Lock()
	if d.uses[set]--; d.uses[set] == 0 {
		delete(d.uses, set)
	}
	d.freeAndUnlock()
}

// freeAndUnlock frees the families that are in no used set. It unlocks first, because
// the engine removes the families' files, which can take long.
func (d *droppedFamilies) freeAndUnlock() {
	oldest := d.set
	for set := range d.uses {
		oldest = min(oldest, set)
	}
	n := 0 // families are in the order of their sets
	for n < len(d.all) && d.all[n].last < oldest {
		n++
	}
	free := d.all[:n:n]
	d.all = d.all[n:]
	d.mu.Unlock()
	for _, f := range free {
		f.free()
	}
}
