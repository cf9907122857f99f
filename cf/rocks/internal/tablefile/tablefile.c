//go:build cgo && linux && !norocksdb

#include "tablefile.h"

#include <stdlib.h>
#include <string.h>

// The upper bit of the length of a value that is an operand to merge.
#define OPERAND UINT32_C(0x80000000)

enum { SIZE_EVERY = 1 << 16 };  // bytes of cells after which the file's size is checked

static uint32_t load32(const char* p) {
  uint32_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

// The current key: a row prefix, and room for the rest.
typedef struct {
  char* data;
  size_t cap;
} buffer;

static int reserve(buffer* b, size_t len) {
  if (len <= b->cap) return 1;
  char* grown = realloc(b->data, 2 * len);
  if (grown == NULL) return 0;
  b->data = grown;
  b->cap = 2 * len;
  return 1;
}

// Writes a group; returns the bytes of its cells, 0 on failure.
static size_t write_group(rocksdb_sstfilewriter_t* writer, const char* p, buffer* key, char** err) {
  uint32_t prefix = load32(p), cells = load32(p + 4);
  size_t bytes = 0;
  const char* row = p + 8;
  p = row + prefix;
  if (!reserve(key, prefix)) return 0;
  memcpy(key->data, row, prefix);
  for (uint32_t i = 0; i < cells; i++) {
    uint32_t rest = load32(p), value = load32(p + 4);
    uint32_t len = value & ~OPERAND;
    p += 8;
    if (!reserve(key, prefix + rest)) return 0;
    memcpy(key->data + prefix, p, rest);
    if (value & OPERAND)
      rocksdb_sstfilewriter_merge(writer, key->data, prefix + rest, p + rest, len, err);
    else
      rocksdb_sstfilewriter_put(writer, key->data, prefix + rest, p + rest, len, err);
    if (*err != NULL) return 0;
    p += rest + len;
    bytes += prefix + rest + len;
  }
  return bytes;
}

size_t smolwc_write_groups(rocksdb_sstfilewriter_t* writer, const char* data, const uint32_t* at,
                         size_t n, uint64_t file_size, char** err) {
  buffer key = {malloc(1024), 1024};
  size_t done = 0, since = 0;
  while (key.data != NULL && done < n) {
    size_t bytes = write_group(writer, data + at[done], &key, err);
    if (bytes == 0) break;
    done++;
    if ((since += bytes) < SIZE_EVERY) continue;
    since = 0;
    uint64_t size = 0;
    rocksdb_sstfilewriter_file_size(writer, &size);
    if (size >= file_size) break;
  }
  free(key.data);
  return done;
}
