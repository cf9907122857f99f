#include <string.h>

#include "yardstick.h"

size_t row_prefix_len(const char* key, size_t len) {
  const char* end = key + len;
  const char* p = key;
  while ((p = memchr(p, 0, end - p)) != NULL) {
    if (p + 1 == end || (unsigned char)p[1] != 0xff) return p + 1 - key;
    p += 2;
  }
  return len;
}

uint64_t load_be64(const char* p) {
  uint64_t v;
  memcpy(&v, p, 8);
  return __builtin_bswap64(v);
}

void store_be64(char* p, uint64_t v) {
  v = __builtin_bswap64(v);
  memcpy(p, &v, 8);
}

size_t put_version(char* key, size_t len, uint64_t timestamp) {
  key[len] = 0x1c;
  store_be64(key + len + 1, INT64_MAX - timestamp);
  return len + 9;
}

void end_iterator(sum_t* sum, rocksdb_iterator_t* it) {
  if (sum->err == NULL) rocksdb_iter_get_error(it, &sum->err);
}
