//go:build cgo && linux && !norocksdb

#include "prefix.h"

#include <string.h>

#include "../native/key.h"

// The extractor's results and its name are in the filters of table files: a change of
// the extractor needs a new name.

static char* prefix_transform(void* state, const char* key, size_t len, size_t* out_len) {
  (void)state;
  *out_len = smolwc_element_len(key, len);
  return (char*)key;
}

static unsigned char prefix_in_domain(void* state, const char* key, size_t len) {
  (void)state;
  return smolwc_element_len(key, len) != 0;
}

static unsigned char prefix_in_range(void* state, const char* key, size_t len) {
  (void)state;
  return len != 0 && smolwc_element_len(key, len) == len;
}

static const char* prefix_name(void* state) {
  (void)state;
  return "smolwc.RowPrefix.1";
}

static void prefix_destroy(void* state) { (void)state; }

// RocksDB 11 removed the argument in_range. c.h states no version number, so the code
// asks for the type of the declared function.
typedef rocksdb_slicetransform_t* create_with_range(
    void*, void (*)(void*), char* (*)(void*, const char*, size_t, size_t*),
    unsigned char (*)(void*, const char*, size_t), unsigned char (*)(void*, const char*, size_t),
    const char* (*)(void*));
typedef rocksdb_slicetransform_t* create_without_range(
    void*, void (*)(void*), char* (*)(void*, const char*, size_t, size_t*),
    unsigned char (*)(void*, const char*, size_t), const char* (*)(void*));

rocksdb_slicetransform_t* smolwc_row_prefix(void) {
  void (*create)(void) = (void (*)(void))rocksdb_slicetransform_create;
  if (__builtin_types_compatible_p(__typeof__(rocksdb_slicetransform_create), create_with_range))
    return ((create_with_range*)create)(NULL, prefix_destroy, prefix_transform, prefix_in_domain,
                                        prefix_in_range, prefix_name);
  return ((create_without_range*)create)(NULL, prefix_destroy, prefix_transform, prefix_in_domain,
                                         prefix_name);
}
