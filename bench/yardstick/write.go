package yardstick

// #include <stdlib.h>
// #include "yardstick.h"
import "C"

import (
	"time"
	"unsafe"
)

// Write puts pairs in write batches of atOnce pairs. times gets the time of each batch; it
// may be nil.
func (f Family) Write(keys, values Slices, atOnce int, sync bool, times []time.Duration) (Sum, error) {
	keyData, keyOffsets, n := keys.c()
	valueData, valueOffsets, _ := values.c()
	var synced C.uchar
	if sync {
		synced = 1
	}
	return sumOf(C.yardstick_write(f.db, f.family, keyData, keyOffsets, valueData, valueOffsets, n, C.uint64_t(atOnce), synced,
		(*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(times)))))
}

// BulkLoad sorts pairs, writes them to table files of about fileBytes in dir and
// ingests these files.
func (f Family) BulkLoad(keys, values Slices, dir string, fileBytes int) (Sum, error) {
	keyData, keyOffsets, n := keys.c()
	valueData, valueOffsets, _ := values.c()
	path := C.CString(dir)
	defer C.free(unsafe.Pointer(path))
	return sumOf(C.yardstick_bulk_load(f.db, f.family, f.options, keyData, keyOffsets, valueData, valueOffsets, n, path, C.uint64_t(fileBytes)))
}
