// RocksDB's cache can be told how much of it is for what is read again and again,
// and its C interface cannot.

#include "cache.h"

#include <rocksdb/cache.h>

#include <memory>

// As in RocksDB's c.cc, in all versions from 7.8 to 11.
struct rocksdb_cache_t {
  std::shared_ptr<rocksdb::Cache> rep;
};

void smolwc_cache_keep(rocksdb_cache_t* cache, double part) {
  rocksdb::LRUCacheOptions o;
  o.capacity = cache->rep->GetCapacity();
  o.high_pri_pool_ratio = part;
  cache->rep = rocksdb::NewLRUCache(o);
}
