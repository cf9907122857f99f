#include <string.h>

#include "cursor.h"
#include "key.h"

// The extractor's results and its name are part of the files' filters: a
// change needs a new name.

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

rocksdb_slicetransform_t* smolwc_row_prefix(void) {
  return rocksdb_slicetransform_create(NULL, prefix_destroy, prefix_transform, prefix_in_domain,
                                       prefix_in_range, prefix_name);
}
