//go:build cgo && linux && !norocksdb

// Package callbacks implements the functions that RocksDB calls about cells: the merge
// operator, the prefix extractor and the compaction filter.
package callbacks

// #cgo CFLAGS: -O2 -Wall -Wextra
// #cgo LDFLAGS: -lrocksdb
// #include "merge.h"
// #include "prefix.h"
import "C"

import (
	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

// MaxPendingMerges is the number of merges of one cell in a write buffer from which on
// a write merges them. Without it, a read of a counter that was just incremented a
// million times would add up a million operands.
const MaxPendingMerges = 100

// SetMergeOperator sets the C merge operator in a family's options. Every family gets
// it; it does nothing in families without merges.
func SetMergeOperator(o *grocksdb.Options) {
	C.rocksdb_options_set_merge_operator((*C.rocksdb_options_t)(native.Handle(o)), C.smolwc_merge_operator())
	o.SetMaxSuccessiveMerges(MaxPendingMerges)
}

// SetRowPrefix sets the C prefix extractor in a family's options.
func SetRowPrefix(o *grocksdb.Options) {
	C.rocksdb_options_set_prefix_extractor((*C.rocksdb_options_t)(native.Handle(o)), C.smolwc_row_prefix())
}
