package native

// #cgo CFLAGS: -O2 -Wall -Wextra
// #include <stdlib.h>
// #include "write.h"
//
// #cgo noescape smolwc_write
// #cgo nocallback smolwc_write
import "C"

import (
	"unsafe"

	"github.com/linxGnu/grocksdb"
)

// A Writer writes batches, each in one call of C. It is valid as long as the database
// and the options are.
type Writer struct {
	db   *C.rocksdb_t
	opts *C.rocksdb_writeoptions_t
}

// NewWriter makes a writer.
func NewWriter(db *grocksdb.DB, opts *grocksdb.WriteOptions) Writer {
	return Writer{(*C.rocksdb_t)(Handle(db)), (*C.rocksdb_writeoptions_t)(Handle(opts))}
}

// Write writes a batch given in RocksDB's representation. It returns the sequence number
// up to which the database is written then, and the text of RocksDB's error, "" when
// there is none.
func (w Writer) Write(rep []byte) (sequence uint64, fault string) {
	var seq C.uint64_t
	msg := C.smolwc_write(w.db, w.opts, (*C.char)(unsafe.Pointer(unsafe.SliceData(rep))), C.size_t(len(rep)), &seq)
	if msg == nil {
		return uint64(seq), ""
	}
	defer C.rocksdb_free(unsafe.Pointer(msg))
	return uint64(seq), C.GoString(msg)
}

// SetOptions sets options by RocksDB's names, "a=1;b={c=2}".
func SetOptions(o *grocksdb.Options, pairs string) error {
	text := C.CString(pairs)
	defer C.free(unsafe.Pointer(text))
	c := (*C.rocksdb_options_t)(Handle(o))
	var msg *C.char
	C.rocksdb_get_options_from_string(c, text, c, &msg)
	return TakeError(unsafe.Pointer(msg))
}
