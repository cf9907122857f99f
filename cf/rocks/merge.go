package rocks

// #include "merge.h"
import "C"

import (
	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

// maxPendingMerges is how many merges of one cell a write buffer holds before a
// write carries them out: without it a read of a counter that was just
// incremented a million times would add up a million operands.
const maxPendingMerges = 100

// setMergeOperator gives a family's options the C merge operator. All families
// have it; it does nothing where nothing is merged.
func setMergeOperator(o *grocksdb.Options) {
	C.rocksdb_options_set_merge_operator((*C.rocksdb_options_t)(native.Handle(o)), C.smolwc_merge_operator())
	o.SetMaxSuccessiveMerges(maxPendingMerges)
}
