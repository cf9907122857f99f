//go:build cgo && linux && !norocksdb

// What RocksDB's C interface lacks: refreshing an iterator (it has that from version 9
// on), where an iterator stopped, and estimating sizes with memtables.
//
// This is the package's only C++ file; as in ../files, another part is a header.

#include "kept.h"
#include "../native/handles.h"
#include "cache.hh"

#include <cstdlib>
#include <cstring>
#include <string>

int smolwc_iterator_refresh(rocksdb_iterator_t* it) { return it->rep->Refresh().ok(); }

char* smolwc_iterator_stopped(rocksdb_iterator_t* it, size_t* len) {
  std::string key;
  if (!it->rep->status().IsIncomplete() || !it->rep->GetProperty("rocksdb.iterator.internal-key", &key).ok()) return nullptr;
  char* copy = static_cast<char*>(malloc(key.size() + 1));
  if (copy != nullptr) memcpy(copy, key.data(), key.size());
  *len = key.size();
  return copy;
}

uint64_t smolwc_size(rocksdb_t* db, rocksdb_column_family_handle_t* family, const char* start,
                                size_t start_len, const char* end, size_t end_len) {
  rocksdb::SizeApproximationOptions options;
  options.include_memtables = true;
  rocksdb::Range range(rocksdb::Slice(start, start_len), rocksdb::Slice(end, end_len));
  uint64_t size = 0;
  return db->rep->GetApproximateSizes(options, family->rep, &range, 1, &size).ok() ? size : 0;
}
