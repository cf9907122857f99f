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

// MaxPendingMerges is the number of merges of one cell in a write buffer from which on
// a write merges them. Without it, a read of a counter that was just incremented a
// million times would add up a million operands.
const MaxPendingMerges = 100

// SetMergeOperator sets the C merge operator in a family's options. All families have
// it; it has no effect on families without merges.
func SetMergeOperator(o *grocksdb.Options) {
	C.rocksdb_options_set_merge_operator((*C.rocksdb_options_t)(native.Handle(o)), C.smolwc_merge_operator())
	o.SetMaxSuccessiveMerges(MaxPendingMerges)
}

// Merge merges operands of one cell into one operand. It fails when their kinds differ,
// or when there are no operands.
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

// SetRowPrefix sets the C prefix extractor in a family's options.
func SetRowPrefix(o *grocksdb.Options) {
	C.rocksdb_options_set_prefix_extractor((*C.rocksdb_options_t)(native.Handle(o)), C.smolwc_row_prefix())
}
