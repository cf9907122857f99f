//go:build cgo && linux && !norocksdb

#include "write.h"

#include <rocksdb/write_batch.h>

#include <cstring>
#include <string>
#include <utility>

#include "../native/handles.h"

namespace {

// Puts a batch together, in one copy of its large values.
rocksdb::WriteBatch Joined(const char* rep, size_t len, const smolwc_part* parts, size_t count) {
  size_t total = len;
  for (size_t i = 0; i < count; i++) total += parts[i].len;
  std::string all;
  all.reserve(total);
  size_t at = 0;
  for (size_t i = 0; i < count; i++) {
    all.append(rep + at, parts[i].at - at);
    all.append(parts[i].data, parts[i].len);
    at = parts[i].at;
  }
  all.append(rep + at, len - at);
  return rocksdb::WriteBatch(std::move(all));
}

}  // namespace

extern "C" char* smolwc_write(smolwc_files* files, rocksdb_t* db, const rocksdb_writeoptions_t* options,
                              const char* rep, size_t len, const smolwc_part* parts, size_t count,
                              uint64_t* sequence) {
  char* err = smolwc_files_ready_log(files, db);
  if (err != nullptr) return err;
  // The engine's counters of a thread cost some percent of a write, and are on by default.
  rocksdb_set_perf_level(rocksdb_disable);
  {
    rocksdb::WriteBatch batch = Joined(rep, len, parts, count);
    rocksdb::Status s = db->rep->Write(options->rep, &batch);
    if (!s.ok()) err = strdup(s.ToString().c_str());
  }
  rocksdb_set_perf_level(rocksdb_enable_count);
  *sequence = rocksdb_get_latest_sequence_number(db);
  return err;
}

extern "C" uint64_t smolwc_memtable_bytes(rocksdb_t* db) {
  uint64_t n = 0;
  db->rep->GetAggregatedIntProperty(rocksdb::DB::Properties::kCurSizeAllMemTables, &n);
  return n;
}
