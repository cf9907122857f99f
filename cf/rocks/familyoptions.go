//go:build cgo && linux && !norocksdb

package rocks

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks/internal/callbacks"
	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

// familyOption copies the options of all families for one family, and adds a compaction
// filter of its own. The caller destroys them once the family is open.
func (e *engine) familyOption() (callbacks.Expiry, *grocksdb.Options, error) {
	opts := e.data.Clone()
	x, err := callbacks.NewExpiry(opts)
	if err != nil {
		opts.Destroy()
		return x, nil, err
	}
	return x, opts, nil
}

// familyOptions are the options of families that are about to be opened, an expiry for
// each but the catalog's, and a function that destroys the options.
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
	if err := s.noteExpiry(name, e); err != nil {
		return err
	}
	return s.setExpiry(name, e)
}

func (s *Store) setExpiry(name string, e cf.Expiry) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return err
	}
	f, err := s.families.Load().get(name)
	if err != nil {
		return err
	}
	f.given.Store(&e)
	for was := f.most.Load(); e.Before > was && !f.most.CompareAndSwap(was, e.Before); was = f.most.Load() {
	}
	f.expiry.Set(e.Before)
	return s.setPeriod(f, e.Period)
}

// DroppedBefore implements cf.Shipper.
func (s *Store) DroppedBefore(name string) int64 {
	f, ok := (*s.families.Load())[name]
	if !ok {
		return math.MaxInt64
	}
	return max(f.most.Load(), f.noted.Load())
}

// setPeriod makes the engine rewrite files of this age. The engine then writes its
// options to the disk, so setPeriod does nothing if the period is the same.
func (s *Store) setPeriod(f *family, period time.Duration) error {
	seconds := int64(period / time.Second)
	if f.period.Swap(seconds) == seconds {
		return nil
	}
	err := s.changeManifest(func() error {
		return s.db.SetOptionsCF(f.Handle, []string{"periodic_compaction_seconds"}, []string{strconv.FormatInt(seconds, 10)})
	})
	if err != nil {
		f.period.Store(unknownPeriod)
	}
	return err
}

const unknownPeriod = -1

// engineCompression maps a compression to the engine's names: for all files, and for
// files at the last level.
var engineCompression = map[string][2]string{
	"":     {"kLZ4Compression", "kZSTD"},
	"none": {"kNoCompression", "kNoCompression"},
	"lz4":  {"kLZ4Compression", "kLZ4Compression"},
	"zstd": {"kZSTD", "kZSTD"},
}

// tuningOptions are a tuning's options by the engine's names. They fit an open family
// and options that are not in use yet.
func (s *Store) tuningOptions(t cf.Tuning) (names, values []string, err error) {
	set := func(name, value string) { names, values = append(names, name), append(values, value) }
	compression, ok := engineCompression[t.Compression]
	if !ok {
		return nil, nil, fmt.Errorf("unknown compression %q", t.Compression)
	}
	set("compression", compression[0])
	set("bottommost_compression", compression[1])
	block := int64(blockSize)
	if s.options.FileSize > 0 {
		block = min(block, int64(s.options.FileSize))
	}
	if t.BlockSize > 0 {
		block = t.BlockSize
	}
	set("block_based_table_factory", "{block_size="+strconv.FormatInt(block, 10)+"}")
	set("enable_blob_files", strconv.FormatBool(t.BlobMinSize > 0))
	set("min_blob_size", strconv.FormatInt(t.BlobMinSize, 10))
	set("blob_compression_type", compression[0])
	// Otherwise a blob file stays until its last value is gone.
	set("enable_blob_garbage_collection", "true")
	return names, values, nil
}

// SetTuning implements cf.Store.
func (s *Store) SetTuning(name string, t cf.Tuning) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return err
	}
	f, err := s.families.Load().get(name)
	if err != nil {
		return err
	}
	names, values, err := s.tuningOptions(t)
	if err != nil {
		return err
	}
	was := f.tuning.Swap(&t)
	if was == nil {
		was = &cf.Tuning{}
	}
	if *was == t {
		return nil // the engine would write its options to the disk for nothing
	}
	return s.changeManifest(func() error { return s.db.SetOptionsCF(f.Handle, names, values) })
}

// tune sets a family's tuning in options for its files.
func (s *Store) tune(o *grocksdb.Options, f *family) error {
	t := f.tuning.Load()
	if t == nil {
		return nil
	}
	names, values, err := s.tuningOptions(*t)
	if err != nil {
		return err
	}
	pairs := make([]string, len(names))
	for i := range names {
		pairs[i] = names[i] + "=" + values[i]
	}
	return native.SetOptions(o, strings.Join(pairs, ";"))
}
