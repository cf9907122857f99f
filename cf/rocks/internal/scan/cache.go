//go:build cgo && linux && !norocksdb

package scan

// #include "cache.h"
import "C"

import (
	"unsafe"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

// keptPart is the part of the cache for blocks that were read again, and for indexes
// and filters. Blocks of files that a compaction replaced stay in this part until
// other blocks that are read again replace them. With half of the cache, the engine's
// default, they would stay long, and a repeated scan that does not fit into the other
// half would find nothing in the cache.
const keptPart = 0.25

// BlockRefused is a pointer to the C function smolwc_reads_file, which the file
// system of a database calls.
func BlockRefused() unsafe.Pointer { return unsafe.Pointer(C.smolwc_reads_file) }

func NewCache(capacity uint64) *grocksdb.Cache {
	c := grocksdb.NewLRUCache(capacity)
	C.smolwc_cache_keep((*C.rocksdb_cache_t)(native.Handle(c)), keptPart)
	return c
}
