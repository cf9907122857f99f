package rocks

// #include "cursor.h"
// #include "write.h"
import "C"

import (
	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

func dbHandle(db *grocksdb.DB) *C.rocksdb_t { return (*C.rocksdb_t)(native.Handle(db)) }

// handles are the C pointers that reads and writes need, looked up once.
type handles struct {
	db    *C.rocksdb_t
	write *C.rocksdb_writeoptions_t
	read  *C.smolwc_reader
}

func newHandles(db *grocksdb.DB, write *grocksdb.WriteOptions) handles {
	return handles{db: dbHandle(db), write: writeOptionsHandle(write), read: C.smolwc_reader_new(dbHandle(db))}
}

func (h *handles) free() { C.smolwc_reader_free(h.read) }

// familyPointer is a type of C for files that do not import it.
type familyPointer = *C.rocksdb_column_family_handle_t

func familyHandle(h *grocksdb.ColumnFamilyHandle) familyPointer {
	return familyPointer(native.Handle(h))
}

func snapshotHandle(s *grocksdb.Snapshot) *C.rocksdb_snapshot_t {
	return (*C.rocksdb_snapshot_t)(native.Handle(s))
}

func writeOptionsHandle(o *grocksdb.WriteOptions) *C.rocksdb_writeoptions_t {
	return (*C.rocksdb_writeoptions_t)(native.Handle(o))
}

// overlayHandle is NULL for a nil batch.
func overlayHandle(b *grocksdb.WriteBatchWI) *C.rocksdb_writebatch_wi_t {
	if b == nil {
		return nil
	}
	return (*C.rocksdb_writebatch_wi_t)(native.Handle(b))
}
