package scan

// #include "cache.h"
import "C"

import (
	"unsafe"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

// keptPart is the part of the cache that is for what has been read again, and for
// indexes and filters. Blocks of files that a compaction has replaced stay there until
// others that are read again push them out, which takes long when half of the cache, as
// the engine has it, is taken by them: a scan of what the other half does not hold finds
// none of it there the next time.
const keptPart = 0.25

// BlockRefused is smolwc_large_refused, for the file system of a database.
func BlockRefused() unsafe.Pointer { return unsafe.Pointer(C.smolwc_large_refused) }

func NewCache(capacity uint64) *grocksdb.Cache {
	c := grocksdb.NewLRUCache(capacity)
	C.smolwc_cache_keep((*C.rocksdb_cache_t)(native.Handle(c)), keptPart)
	return c
}
