package rocks

// #include "cursor.h"
// #include "write.h"
import "C"

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/linxGnu/grocksdb"
)

// grocksdb keeps its C pointers to itself, in a field named c. The functions
// here read it; they panic when the field is renamed, and a test pins it, so
// that an update of grocksdb cannot break this quietly.

func handleOf(v any) unsafe.Pointer { return fieldOf(v, "c") }

func fieldOf(v any, name string) unsafe.Pointer {
	f := reflect.ValueOf(v).Elem().FieldByName(name)
	if f.Kind() != reflect.Pointer {
		panic(fmt.Sprintf("grocksdb: %T has no pointer field %s", v, name))
	}
	return f.UnsafePointer()
}

func dbHandle(db *grocksdb.DB) *C.rocksdb_t { return (*C.rocksdb_t)(handleOf(db)) }

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
	return familyPointer(handleOf(h))
}

func snapshotHandle(s *grocksdb.Snapshot) *C.rocksdb_snapshot_t {
	return (*C.rocksdb_snapshot_t)(handleOf(s))
}

func writeOptionsHandle(o *grocksdb.WriteOptions) *C.rocksdb_writeoptions_t {
	return (*C.rocksdb_writeoptions_t)(handleOf(o))
}

// overlayHandle is NULL for a nil batch.
func overlayHandle(b *grocksdb.WriteBatchWI) *C.rocksdb_writebatch_wi_t {
	if b == nil {
		return nil
	}
	return (*C.rocksdb_writebatch_wi_t)(handleOf(b))
}

// setRowPrefix gives a family's options the C prefix extractor.
func setRowPrefix(o *grocksdb.Options) {
	C.rocksdb_options_set_prefix_extractor((*C.rocksdb_options_t)(handleOf(o)), C.smolwc_row_prefix())
}
