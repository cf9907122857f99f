#include "yardstick.h"

yardstick_sum yardstick_scan(rocksdb_t* db, rocksdb_column_family_handle_t* family) {
  yardstick_sum sum = {0, 0};
  rocksdb_readoptions_t* options = rocksdb_readoptions_create();
  rocksdb_readoptions_set_total_order_seek(options, 1);
  rocksdb_iterator_t* it = rocksdb_create_iterator_cf(db, options, family);
  for (rocksdb_iter_seek_to_first(it); rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
    size_t key_len, value_len;
    const char* key = rocksdb_iter_key(it, &key_len);
    const char* value = rocksdb_iter_value(it, &value_len);
    sum.cells++;
    sum.bytes += key_len + value_len + (unsigned char)(key[key_len - 1] ^ value[value_len - 1]);
  }
  rocksdb_iter_destroy(it);
  rocksdb_readoptions_destroy(options);
  return sum;
}
