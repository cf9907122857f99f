#include <string.h>

#include "yardstick.h"

// An iterator over a whole family.
static rocksdb_iterator_t* first(rocksdb_t* db, family_t* f, rocksdb_readoptions_t* options) {
  rocksdb_readoptions_set_total_order_seek(options, 1);
  rocksdb_iterator_t* it = rocksdb_create_iterator_cf(db, options, f);
  rocksdb_iter_seek_to_first(it);
  return it;
}

static void done(sum_t* sum, rocksdb_iterator_t* it, rocksdb_readoptions_t* options) {
  end_iterator(sum, it);
  rocksdb_iter_destroy(it);
  rocksdb_readoptions_destroy(options);
}

sum_t yardstick_scan(rocksdb_t* db, family_t* f) {
  sum_t sum = {0};
  rocksdb_readoptions_t* options = rocksdb_readoptions_create();
  rocksdb_iterator_t* it = first(db, f, options);
  for (; rocksdb_iter_valid(it); rocksdb_iter_next(it)) count_entry(&sum, it);
  done(&sum, it, options);
  return sum;
}

sum_t yardstick_scan_newest(rocksdb_t* db, family_t* f) {
  sum_t sum = {0};
  char last[1 << 16]; // longer than the longest key
  size_t last_len = 0;
  rocksdb_readoptions_t* options = rocksdb_readoptions_create();
  rocksdb_iterator_t* it = first(db, f, options);
  for (; rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
    size_t len;
    const char* key = rocksdb_iter_key(it, &len);
    len = column_prefix_len(len);
    if (len == last_len && memcmp(key, last, len) == 0) continue;
    memcpy(last, key, len);
    last_len = len;
    count_entry(&sum, it);
  }
  done(&sum, it, options);
  return sum;
}

// The cells of a row are adjacent: the sum of each row is kept apart until its
// end shows whether the row is wanted.
sum_t yardstick_scan_where(rocksdb_t* db, family_t* f, const char* column, size_t column_len,
                           int64_t bound) {
  sum_t sum = {0}, row = {0};
  char last[1 << 16];
  size_t last_len = 0;
  int wanted = 0;
  rocksdb_readoptions_t* options = rocksdb_readoptions_create();
  rocksdb_iterator_t* it = first(db, f, options);
  for (; rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
    size_t len, value_len;
    const char* key = rocksdb_iter_key(it, &len);
    const char* value = rocksdb_iter_value(it, &value_len);
    if (last_len == 0 || len < last_len || memcmp(key, last, last_len) != 0) {
      if (wanted) sum.rows++, sum.cells += row.cells, sum.bytes += row.bytes;
      row.cells = row.bytes = 0;
      wanted = 0;
      last_len = row_prefix_len(key, len);
      memcpy(last, key, last_len);
    }
    count_entry(&row, it);
    if (len == last_len + column_len + 9 && memcmp(key + last_len, column, column_len) == 0)
      wanted = value_len == 9 && value[0] == 6 && (int64_t)load_be64(value + 1) >= bound;
  }
  if (wanted) sum.rows++, sum.cells += row.cells, sum.bytes += row.bytes;
  done(&sum, it, options);
  return sum;
}

sum_t yardstick_scan_ranges(rocksdb_t* db, family_t* f, const char* data, const uint64_t* starts,
                            const uint64_t* ends, uint64_t n) {
  sum_t sum = {0};
  rocksdb_readoptions_t* options = rocksdb_readoptions_create();
  rocksdb_readoptions_set_total_order_seek(options, 1);
  for (uint64_t i = 0; i < n && sum.err == NULL; i++) {
    rocksdb_readoptions_set_iterate_upper_bound(options, data + ends[2 * i], ends[2 * i + 1]);
    rocksdb_iterator_t* it = rocksdb_create_iterator_cf(db, options, f);
    rocksdb_iter_seek(it, data + starts[2 * i], starts[2 * i + 1]);
    for (; rocksdb_iter_valid(it); rocksdb_iter_next(it)) count_entry(&sum, it);
    end_iterator(&sum, it);
    rocksdb_iter_destroy(it);
  }
  rocksdb_readoptions_destroy(options);
  return sum;
}

sum_t yardstick_count_cells(rocksdb_t* db, family_t* f) {
  sum_t sum = {0};
  rocksdb_readoptions_t* options = rocksdb_readoptions_create();
  rocksdb_iterator_t* it = first(db, f, options);
  for (; rocksdb_iter_valid(it); rocksdb_iter_next(it)) sum.cells++;
  done(&sum, it, options);
  return sum;
}

sum_t yardstick_count_rows(rocksdb_t* db, family_t* f) {
  sum_t sum = {0};
  char last[1 << 16];
  size_t last_len = 0;
  rocksdb_readoptions_t* options = rocksdb_readoptions_create();
  rocksdb_iterator_t* it = first(db, f, options);
  for (; rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
    size_t len;
    const char* key = rocksdb_iter_key(it, &len);
    if (last_len != 0 && len >= last_len && memcmp(key, last, last_len) == 0) continue;
    last_len = row_prefix_len(key, len);
    memcpy(last, key, last_len);
    sum.rows++;
  }
  done(&sum, it, options);
  return sum;
}
