//go:build cgo && linux && !norocksdb

// Package verify reads table files and blob files to their ends, and compares checksums.
package verify

// #cgo CXXFLAGS: -O2 -g1 -Wall -Wextra -std=c++20 -fno-rtti
// #cgo LDFLAGS: -lrocksdb
// #include <stdlib.h>
// #include "verify.h"
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

// Table opens a table file. With all, it also reads the file to its end and compares
// checksums. o are the options of its family.
func Table(o *grocksdb.Options, path string, all bool) error {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	msg := C.smolwc_verify_table((*C.rocksdb_options_t)(native.Handle(o)), text, C.uint8_t(native.Flag(all)))
	if msg == nil {
		return nil
	}
	defer C.free(unsafe.Pointer(msg))
	return errors.New(C.GoString(msg))
}

// A BlobFile is a blob file that a family uses.
type BlobFile struct {
	Name  string
	Bytes int64
}

// Blobs lists the blob files that a family uses.
func Blobs(db *grocksdb.DB, family *grocksdb.ColumnFamilyHandle) []BlobFile {
	var list *C.smolwc_blob_file
	n := C.smolwc_blob_files((*C.rocksdb_t)(native.Handle(db)), (*C.rocksdb_column_family_handle_t)(native.Handle(family)), &list)
	defer C.free(unsafe.Pointer(list))
	files := make([]BlobFile, 0, n)
	for _, b := range unsafe.Slice(list, n) {
		files = append(files, BlobFile{fmt.Sprintf("%06d.blob", b.number), int64(b.bytes)})
	}
	return files
}
