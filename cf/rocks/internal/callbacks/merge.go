// Package callbacks has the functions that RocksDB calls about cells: the merge
// operator, the prefix extractor and the compaction filter.
package callbacks

// #cgo CFLAGS: -O2 -Wall -Wextra
// #cgo LDFLAGS: -lrocksdb
// #include <stdlib.h>
// #include "merge.h"
// #include "prefix.h"
import "C"

import (
	"unsafe"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

// MaxPendingMerges is how many merges of one cell a write buffer holds before a
// write carries them out: without it a read of a counter that was just
// incremented a million times would add up a million operands.
const MaxPendingMerges = 100

// SetMergeOperator gives a family's options the C merge operator. All families
// have it; it does nothing where nothing is merged.
func SetMergeOperator(o *grocksdb.Options) {
	C.rocksdb_options_set_merge_operator((*C.rocksdb_options_t)(native.Handle(o)), C.smolwc_merge_operator())
	o.SetMaxSuccessiveMerges(MaxPendingMerges)
}

// Merge merges operands of one cell into one. It fails when they have no kind in
// common, or when there are none.
func Merge(operands [][]byte) ([]byte, bool) {
	var data []byte
	ends := make([]uint32, len(operands))
	for i, o := range operands {
		data = append(data, o...)
		ends[i] = uint32(len(data))
	}
	if len(data) == 0 {
		return nil, false
	}
	var n C.size_t
	out := C.smolwc_merge_all((*C.char)(unsafe.Pointer(unsafe.SliceData(data))), (*C.uint32_t)(unsafe.Pointer(unsafe.SliceData(ends))), C.size_t(len(ends)), &n)
	if out == nil {
		return nil, false
	}
	defer C.free(unsafe.Pointer(out))
	return C.GoBytes(unsafe.Pointer(out), C.int(n)), true
}

// SetRowPrefix gives a family's options the C prefix extractor.
func SetRowPrefix(o *grocksdb.Options) {
	C.rocksdb_options_set_prefix_extractor((*C.rocksdb_options_t)(native.Handle(o)), C.smolwc_row_prefix())
}
