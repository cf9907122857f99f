//go:build cgo && linux && !norocksdb

package files

// #cgo CFLAGS: -O2 -Wall -Wextra
// #include <stdlib.h>
// #include "write.h"
//
// #cgo noescape smolwc_write
// #cgo nocallback smolwc_write
// #cgo noescape smolwc_memtable_bytes
// #cgo nocallback smolwc_memtable_bytes
import "C"

import (
	"runtime"
	"strings"
	"unsafe"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

// A Writer writes batches, each in one call of C. It replaces a failed log. It is valid as
// long as the file system, the database and the options are.
type Writer struct {
	files *C.smolwc_files
	db    *C.rocksdb_t
	opts  *C.rocksdb_writeoptions_t
}

// NewWriter makes a writer.
func NewWriter(l *System, db *grocksdb.DB, opts *grocksdb.WriteOptions) Writer {
	return Writer{l.c, (*C.rocksdb_t)(native.Handle(db)), (*C.rocksdb_writeoptions_t)(native.Handle(opts))}
}

// A Part is a part of a batch, before the byte At of the rest.
type Part struct {
	At   int
	Data string
}

// Write writes a batch given in RocksDB's representation: rep with the parts in it, which
// are in order. It copies the batch once. It returns the database's latest sequence number
// after the write, and the text of the error, "" without an error.
func (w Writer) Write(rep []byte, parts []Part) (sequence uint64, fault string) {
	var seq C.uint64_t
	var given []C.smolwc_part
	var pins runtime.Pinner
	defer pins.Unpin()
	for _, p := range parts {
		data := unsafe.StringData(p.Data)
		pins.Pin(data)
		given = append(given, C.smolwc_part{C.size_t(p.At), (*C.char)(unsafe.Pointer(data)), C.size_t(len(p.Data))})
	}
	msg := C.smolwc_write(w.files, w.db, w.opts, (*C.char)(unsafe.Pointer(unsafe.SliceData(rep))), C.size_t(len(rep)),
		unsafe.SliceData(given), C.size_t(len(given)), &seq)
	if msg == nil {
		return uint64(seq), ""
	}
	defer C.free(unsafe.Pointer(msg))
	// RocksDB was told that a failed log is busy.
	return uint64(seq), strings.TrimPrefix(C.GoString(msg), "Resource busy: ")
}

// MemtableBytes is the bytes of writes that are not in a table file yet.
func MemtableBytes(db *grocksdb.DB) int64 {
	return int64(C.smolwc_memtable_bytes((*C.rocksdb_t)(native.Handle(db))))
}
