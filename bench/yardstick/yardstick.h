// Plain C over RocksDB's own API: the limit that smolwc is measured against.
//
// Lists of byte strings come as one array and n+1 offsets into it. A function
// that fails leaves RocksDB's message in err, for the caller to free.
#ifndef SMOLWC_YARDSTICK_H
#define SMOLWC_YARDSTICK_H

#include <rocksdb/c.h>
#include <stdint.h>

typedef rocksdb_column_family_handle_t family_t;

typedef struct {
  const char* data;
  const uint64_t* offsets;
  uint64_t n;
} slices_t;

// The result of reading. bytes depends on every key and value, so that the compiler
// cannot remove the reading.
typedef struct {
  uint64_t rows, cells, bytes;
  char* err;
} sum_t;

static inline const char* slice_at(const slices_t* s, uint64_t i, size_t* len) {
  *len = s->offsets[i + 1] - s->offsets[i];
  return s->data + s->offsets[i];
}

// Length of the row prefix of a cell's key: to the first 00 without an ff
// after it.
size_t row_prefix_len(const char* key, size_t len);

// Length of the column prefix: the row prefix and the qualifier's element. A
// key ends with the nine bytes of its timestamp.
static inline size_t column_prefix_len(size_t key_len) { return key_len < 9 ? 0 : key_len - 9; }

uint64_t load_be64(const char* p);
void store_be64(char* p, uint64_t v);

// Appends the nine bytes of a timestamp to a key and returns its length.
size_t put_version(char* key, size_t len, uint64_t timestamp);

// Adds the iterator's entry to the sum.
static inline void count_entry(sum_t* sum, rocksdb_iterator_t* it) {
  size_t key_len, value_len;
  const char* key = rocksdb_iter_key(it, &key_len);
  const char* value = rocksdb_iter_value(it, &value_len);
  sum->cells++;
  sum->bytes += key_len + value_len;
  if (key_len > 0 && value_len > 0)
    sum->bytes += (unsigned char)(key[key_len - 1] ^ value[value_len - 1]);
}

// Moves what is wrong with an iterator, if anything, to the sum.
void end_iterator(sum_t* sum, rocksdb_iterator_t* it);

// Scans: every entry; the newest version of every column; the rows whose cell
// under a qualifier, given as its key element, is an i64 not less than bound;
// the rows from each of starts to each of ends.
sum_t yardstick_scan(rocksdb_t* db, family_t* f);
sum_t yardstick_scan_newest(rocksdb_t* db, family_t* f);
sum_t yardstick_scan_where(rocksdb_t* db, family_t* f, const char* column, size_t column_len,
                           int64_t bound);
sum_t yardstick_scan_ranges(rocksdb_t* db, family_t* f, const char* data, const uint64_t* starts,
                            const uint64_t* ends, uint64_t n);

// Counts: entries, and rows.
sum_t yardstick_count_cells(rocksdb_t* db, family_t* f);
sum_t yardstick_count_rows(rocksdb_t* db, family_t* f);

// Gets of whole rows, by their prefixes, out of some families: with an iterator
// for each, and with one for all, which sees one moment only.
sum_t yardstick_get_rows(rocksdb_t* db, family_t** fs, size_t families, const char* data,
                         const uint64_t* offsets, uint64_t n);
sum_t yardstick_get_rows_one_iterator(rocksdb_t* db, family_t** fs, size_t families,
                                      const char* data, const uint64_t* offsets, uint64_t n);

// Gets of single cells: by their full keys, copied or pinned; by seeking to the
// newest version of a column prefix.
sum_t yardstick_get(rocksdb_t* db, family_t* f, const char* data, const uint64_t* offsets,
                    uint64_t n);
sum_t yardstick_get_pinned(rocksdb_t* db, family_t* f, const char* data, const uint64_t* offsets,
                           uint64_t n);
sum_t yardstick_get_seek(rocksdb_t* db, family_t* f, const char* data, const uint64_t* offsets,
                         uint64_t n);
// The same for at_once keys a call.
sum_t yardstick_multi_get(rocksdb_t* db, family_t* f, const char* data, const uint64_t* offsets,
                          uint64_t n, uint64_t at_once);
sum_t yardstick_batched_multi_get(rocksdb_t* db, family_t* f, const char* data,
                                  const uint64_t* offsets, uint64_t n, uint64_t at_once);

// Opens a database with all its families, and reads the first entry of one of them. On an
// error nothing is left to close.
typedef struct {
  rocksdb_options_t* options;
  rocksdb_t* db;
  family_t** families;
  size_t n;
  uint64_t cells;
  char* err;
} opened_t;
opened_t yardstick_open(const char* dir, const char* family);
void yardstick_close(opened_t o);

// Writes: pairs of keys and values, at_once a batch. times gets the nanoseconds of each
// batch; it may be NULL.
sum_t yardstick_write(rocksdb_t* db, family_t* f, const char* key_data, const uint64_t* keys,
                      const char* value_data, const uint64_t* values, uint64_t n, uint64_t at_once,
                      unsigned char sync, uint64_t* times);

// Bulk load of pairs in any order: sort, table files in dir of about
// file_bytes, ingestion.
sum_t yardstick_bulk_load(rocksdb_t* db, family_t* f, const rocksdb_options_t* options,
                          const char* key_data, const uint64_t* keys, const char* value_data,
                          const uint64_t* values, uint64_t n, const char* dir, uint64_t file_bytes);

// Mixed operations on rows of cells_per_row cells at timestamp 0, as in YCSB. An argument
// is the cell to write, or the number of rows to scan.
enum { op_read, op_update, op_insert, op_scan, op_read_modify_write };
sum_t yardstick_mixed(rocksdb_t* db, family_t* f, const unsigned char* kinds, const uint32_t* rows,
                      const uint32_t* args, uint64_t n, const char* prefix_data,
                      const uint64_t* prefixes, const char* column_data, const uint64_t* columns,
                      uint64_t cells_per_row, const char* value, size_t value_len);

// Sessions of users; see sessions.c.
sum_t yardstick_sessions(rocksdb_t* db, family_t* profile, family_t* stats, family_t* event,
                         family_t* history, const uint32_t* users, uint64_t n,
                         const char* prefix_data, const uint64_t* prefixes, const char* column_data,
                         const uint64_t* columns, uint64_t events, const char* value,
                         size_t value_len, uint64_t clock, uint64_t newest, uint64_t history_rows);

#endif
