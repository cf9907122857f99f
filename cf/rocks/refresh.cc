// RocksDB can refresh iterators, and its C interface cannot until version 9.

#include <rocksdb/iterator.h>

#include "kept.h"

// As in RocksDB's c.cc, in all versions from 7.8 to 11.
struct rocksdb_iterator_t {
  rocksdb::Iterator* rep;
};

int smolwc_iterator_refresh(rocksdb_iterator_t* it) { return it->rep->Refresh().ok(); }
