#include <string.h>

#include "yardstick.h"

// State that the operations share. Rows have cells at timestamp 0, which the next write
// replaces.
typedef struct {
  rocksdb_t* db;
  family_t* family;
  rocksdb_readoptions_t *row, *rows;
  rocksdb_writeoptions_t* write;
  rocksdb_writebatch_t* batch;
  slices_t prefixes, columns;
  const char* value;
  size_t value_len;
  sum_t sum;
} mixed_t;

static void read_row(mixed_t* m, uint32_t row) {
  size_t len;
  const char* prefix = slice_at(&m->prefixes, row, &len);
  rocksdb_iterator_t* it = rocksdb_create_iterator_cf(m->db, m->row, m->family);
  for (rocksdb_iter_seek(it, prefix, len); rocksdb_iter_valid(it); rocksdb_iter_next(it))
    count_entry(&m->sum, it);
  end_iterator(&m->sum, it);
  rocksdb_iter_destroy(it);
}

static void put_cell(mixed_t* m, uint32_t row, uint32_t column) {
  char key[512];
  size_t prefix_len, column_len;
  const char* prefix = slice_at(&m->prefixes, row, &prefix_len);
  const char* qualifier = slice_at(&m->columns, column, &column_len);
  memcpy(key, prefix, prefix_len);
  memcpy(key + prefix_len, qualifier, column_len);
  size_t len = put_version(key, prefix_len + column_len, 0);
  rocksdb_writebatch_put_cf(m->batch, m->family, key, len, m->value, m->value_len);
}

static void commit(mixed_t* m) {
  rocksdb_write(m->db, m->write, m->batch, &m->sum.err);
  rocksdb_writebatch_clear(m->batch);
}

// Reads up to a number of rows from one on, to the end of the last.
static void scan_rows(mixed_t* m, uint32_t row, uint32_t rows) {
  char last[512];
  size_t len, last_len = 0;
  uint32_t begun = 0;
  const char* prefix = slice_at(&m->prefixes, row, &len);
  rocksdb_iterator_t* it = rocksdb_create_iterator_cf(m->db, m->rows, m->family);
  for (rocksdb_iter_seek(it, prefix, len); rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
    size_t key_len;
    const char* key = rocksdb_iter_key(it, &key_len);
    if (last_len == 0 || key_len < last_len || memcmp(key, last, last_len) != 0) {
      if (begun++ == rows) break;
      last_len = row_prefix_len(key, key_len);
      memcpy(last, key, last_len);
    }
    count_entry(&m->sum, it);
  }
  end_iterator(&m->sum, it);
  rocksdb_iter_destroy(it);
}

sum_t yardstick_mixed(rocksdb_t* db, family_t* f, const unsigned char* kinds, const uint32_t* rows,
                      const uint32_t* args, uint64_t n, const char* prefix_data,
                      const uint64_t* prefixes, const char* column_data, const uint64_t* columns,
                      uint64_t cells_per_row, const char* value, size_t value_len) {
  mixed_t m = {.db = db, .family = f, .value = value, .value_len = value_len};
  m.prefixes = (slices_t){prefix_data, prefixes, 0};
  m.columns = (slices_t){column_data, columns, cells_per_row};
  m.row = rocksdb_readoptions_create();
  rocksdb_readoptions_set_prefix_same_as_start(m.row, 1);
  m.rows = rocksdb_readoptions_create();
  rocksdb_readoptions_set_total_order_seek(m.rows, 1);
  m.write = rocksdb_writeoptions_create();
  m.batch = rocksdb_writebatch_create();
  for (uint64_t i = 0; i < n && m.sum.err == NULL; i++) {
    switch (kinds[i]) {
      case op_read_modify_write:
        read_row(&m, rows[i]);
        if (m.sum.err != NULL) break;
        // and then as an update
      case op_update:
        put_cell(&m, rows[i], args[i]);
        commit(&m);
        break;
      case op_insert:
        for (uint32_t c = 0; c < cells_per_row; c++) put_cell(&m, rows[i], c);
        commit(&m);
        break;
      case op_scan:
        scan_rows(&m, rows[i], args[i]);
        break;
      default:
        read_row(&m, rows[i]);
    }
  }
  rocksdb_writebatch_destroy(m.batch);
  rocksdb_writeoptions_destroy(m.write);
  rocksdb_readoptions_destroy(m.rows);
  rocksdb_readoptions_destroy(m.row);
  return m.sum;
}
