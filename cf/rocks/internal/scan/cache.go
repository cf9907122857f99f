package scan

// #include "cache.h"
import "C"

import (
	"unsafe"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

// keptPart is the part of the cache for blocks that were read again, and for indexes
// and filters. Blocks of files that a compaction has replaced stay there until other
// blocks that are read again push them out. With half of the cache, the engine's
// default, that takes long, and a repeated scan that does not fit into the other half
// finds nothing in the cache.
const keptPart = 0.25

// BlockRefused is smolwc_large_refused, for the file system of a database.
func BlockRefused() unsafe.Pointer { return unsafe.Pointer(C.smolwc_large_refused) }

func NewCache(capacity uint64) *grocksdb.Cache {
	c := grocksdb.NewLRUCache(capacity)
	C.smolwc_cache_keep((*C.rocksdb_cache_t)(native.Handle(c)), keptPart)
	return c
}
