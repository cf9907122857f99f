//go:build cgo

package rocks

import (
	"strconv"
	"time"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks/internal/callbacks"
)

// familyOption makes the options of one family from those of all, with a
// compaction filter of its own. The caller destroys them once the family is
// open.
func (e *engine) familyOption() (callbacks.Expiry, *grocksdb.Options, error) {
	opts := e.data.Clone()
	x, err := callbacks.NewExpiry(opts)
	if err != nil {
		opts.Destroy()
		return x, nil, err
	}
	return x, opts, nil
}

// familyOptions are the options of families that are about to be opened, with
// an expiry for each but the catalog's, and a function that destroys them.
func (e *engine) familyOptions(names []string) (all []callbacks.Expiry, opts []*grocksdb.Options, destroy func(), err error) {
	all, opts = make([]callbacks.Expiry, len(names)), make([]*grocksdb.Options, len(names))
	destroy = func() {
		for i, o := range opts {
			if o != nil && names[i] != catalogFamily {
				o.Destroy()
			}
		}
	}
	for i, n := range names {
		if n == catalogFamily {
			opts[i] = e.db
			continue
		}
		if all[i], opts[i], err = e.familyOption(); err != nil {
			destroy()
			for _, x := range all {
				x.Free()
			}
			return nil, nil, nil, err
		}
	}
	return all, opts, destroy, nil
}

// SetExpiry implements cf.Store.
func (s *Store) SetExpiry(name string, e cf.Expiry) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return err
	}
	f, err := s.families.Load().get(name)
	if err != nil {
		return err
	}
	f.expiry.Set(e.Before)
	return s.setPeriod(f, e.Period)
}

// setPeriod has the engine rewrite files of this age. It writes the engine's
// options to the disk, so it is done only for a change.
func (s *Store) setPeriod(f *family, period time.Duration) error {
	seconds := int64(period / time.Second)
	if f.period.Swap(seconds) == seconds {
		return nil
	}
	err := s.changeManifest(func() error {
		return s.db.SetOptionsCF(f.handle, []string{"periodic_compaction_seconds"}, []string{strconv.FormatInt(seconds, 10)})
	})
	if err != nil {
		f.period.Store(unknownPeriod)
	}
	return err
}

const unknownPeriod = -1
