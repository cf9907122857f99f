//go:build cgo && linux && !norocksdb

// Refreshing an iterator and estimating sizes with memtables. RocksDB's C interface
// offers the first only from version 9 on, and lacks the second.
//
// This is the package's only C++ file; as in ../files, another part is a header.

#include "kept.h"
#include "../native/handles.h"
#include "cache.hh"

int smolwc_iterator_refresh(rocksdb_iterator_t* it) { return it->rep->Refresh().ok(); }

uint64_t smolwc_size(rocksdb_t* db, rocksdb_column_family_handle_t* family, const char* start,
                                size_t start_len, const char* end, size_t end_len) {
  rocksdb::SizeApproximationOptions options;
  options.include_memtables = true;
  rocksdb::Range range(rocksdb::Slice(start, start_len), rocksdb::Slice(end, end_len));
  uint64_t size = 0;
  return db->rep->GetApproximateSizes(options, family->rep, &range, 1, &size).ok() ? size : 0;
}
