// What smolwc is measured against: plain C over RocksDB's own API.
#ifndef SMOLWC_BENCH_YARDSTICK_H
#define SMOLWC_BENCH_YARDSTICK_H

#include <rocksdb/c.h>
#include <stdint.h>

typedef struct {
  uint64_t cells, bytes;
} yardstick_sum;

// Reads every key and value of a column family.
yardstick_sum yardstick_scan(rocksdb_t* db, rocksdb_column_family_handle_t* family);

#endif
