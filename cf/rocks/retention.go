package rocks

// #include "retention.h"
import "C"

import (
	"errors"
	"strconv"
	"time"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

// An expiry is what the compactions of one family may drop. The memory is C's,
// and the engine keeps it for as long as a compaction may read it.
type expiry struct{ c *C.smolwc_expiry }

// newExpiry makes the options of one family from those of all, with a
// compaction filter of its own. The caller destroys them once the family is
// open.
func (e *engine) newExpiry() (expiry, *grocksdb.Options, error) {
	x := expiry{C.smolwc_expiry_new()}
	if x.c == nil {
		return x, nil, errors.New("out of memory for a family")
	}
	opts := e.data.Clone()
	C.smolwc_expiry_attach(x.c, (*C.rocksdb_options_t)(native.Handle(opts)))
	return x, opts, nil
}

// familyOptions are the options of families that are about to be opened, with
// an expiry for each but the catalog's, and a function that destroys them.
func (e *engine) familyOptions(names []string) (all []expiry, opts []*grocksdb.Options, destroy func(), err error) {
	all, opts = make([]expiry, len(names)), make([]*grocksdb.Options, len(names))
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
		if all[i], opts[i], err = e.newExpiry(); err != nil {
			destroy()
			for _, x := range all {
				x.free()
			}
			return nil, nil, nil, err
		}
	}
	return all, opts, destroy, nil
}

// free ends the use of the expiry by the family.
func (x expiry) free() {
	if x.c != nil {
		C.smolwc_expiry_free(x.c)
	}
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
	C.smolwc_expiry_set(f.expiry.c, C.int64_t(e.Before))
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
