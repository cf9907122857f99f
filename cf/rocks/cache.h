#ifndef SMOLWC_CACHE_H
#define SMOLWC_CACHE_H

#include <rocksdb/c.h>

#ifdef __cplusplus
extern "C" {
#endif

// Makes a new, empty cache of the same capacity, a part of which is for what has been
// read again, and for indexes and filters.
void smolwc_cache_keep(rocksdb_cache_t* cache, double part);

#ifdef __cplusplus
}
#endif

#endif
