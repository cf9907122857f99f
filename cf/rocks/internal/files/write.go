package files

// #cgo CFLAGS: -O2 -Wall -Wextra
// #include <stdlib.h>
// #include "write.h"
//
// #cgo noescape smolwc_write
// #cgo nocallback smolwc_write
import "C"

import (
	"strings"
	"unsafe"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

// A Writer writes batches, each in one call of C. It replaces a log that has failed. It is
// valid as long as the file system, the database and the options are.
type Writer struct {
	files *C.smolwc_files
	db    *C.rocksdb_t
	opts  *C.rocksdb_writeoptions_t
}

// NewWriter makes a writer.
func NewWriter(l *System, db *grocksdb.DB, opts *grocksdb.WriteOptions) Writer {
	return Writer{l.c, (*C.rocksdb_t)(native.Handle(db)), (*C.rocksdb_writeoptions_t)(native.Handle(opts))}
}

// Write writes a batch given in RocksDB's representation. It returns the database's
// latest sequence number after the write, and the text of the error, "" without
// an error.
func (w Writer) Write(rep []byte) (sequence uint64, fault string) {
	var seq C.uint64_t
	msg := C.smolwc_write(w.files, w.db, w.opts, (*C.char)(unsafe.Pointer(unsafe.SliceData(rep))), C.size_t(len(rep)), &seq)
	if msg == nil {
		return uint64(seq), ""
	}
	defer C.free(unsafe.Pointer(msg))
	// RocksDB was told that a failed log is busy.
	return uint64(seq), strings.TrimPrefix(C.GoString(msg), "Resource busy: ")
}
