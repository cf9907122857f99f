//go:build cgo && linux && !norocksdb

package rocks

import (
	"strconv"
	"sync"
	"unsafe"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

// Raw is the engine under a store, in the types of grocksdb and of C, for benchmarks,
// tests and tools. It is valid until the store is closed. Writes through it are not
// checked.
type Raw struct {
	DB           *grocksdb.DB
	Family       *grocksdb.ColumnFamilyHandle
	DBHandle     unsafe.Pointer // rocksdb_t*
	FamilyHandle unsafe.Pointer // rocksdb_column_family_handle_t*
	// OptionsHandle is the families' options, rocksdb_options_t*, for table files that
	// are made outside of the database.
	OptionsHandle unsafe.Pointer
}

// Raw returns the engine under a family.
func (s *Store) Raw(name string) (Raw, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return Raw{}, cf.ErrClosed
	}
	f, err := s.families.Load().get(name)
	if err != nil {
		return Raw{}, err
	}
	return Raw{
		DB:            s.db,
		Family:        f.Handle,
		DBHandle:      native.Handle(s.db),
		FamilyHandle:  native.Handle(f.Handle),
		OptionsHandle: native.Handle(s.engine.data),
	}, nil
}

// Put sets any key of the family to any value. It is for tests that need malformed keys
// and values.
func (r *Raw) Put(key, value []byte) error {
	opts := grocksdb.NewDefaultWriteOptions()
	defer opts.Destroy()
	return r.DB.PutCF(opts, r.Family, key, value)
}

// Stall makes the engine stop writes once this many files of the family are not
// compacted. Until release, no database of the process compacts. Tests use it to see
// which calls wait.
func (r *Raw) Stall(files int) (release func(), err error) {
	env := grocksdb.NewDefaultEnv()
	env.SetBackgroundThreads(0)
	n := strconv.Itoa(files)
	err = r.DB.SetOptionsCF(r.Family,
		[]string{"level0_file_num_compaction_trigger", "level0_slowdown_writes_trigger", "level0_stop_writes_trigger"}, []string{n, n, n})
	return sync.OnceFunc(func() { env.SetBackgroundThreads(2); env.Destroy() }), err
}
