#ifndef SMOLWC_CACHE_H
#define SMOLWC_CACHE_H

#include <rocksdb/c.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// Makes a new, empty cache of the same capacity, a part of which is for what has been
// read again, and for indexes and filters. Large blocks are read into it a few at a time
// by threads that say so:
void smolwc_cache_keep(rocksdb_cache_t* cache, double part);

// From here on this thread waits before it reads a block of a MiB or more while others
// have read 64 MiB of them that nobody has counted.
void smolwc_large_begin(void);
// The bytes of the largest such block since then, 0 when there was none. They are to be
// given to smolwc_large_counted.
size_t smolwc_large_end(void);
void smolwc_large_counted(rocksdb_cache_t* cache, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
