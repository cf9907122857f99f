//go:build cgo && linux && !norocksdb

#include "retention.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "../native/key.h"

// A family uses an expiry, and so do the factories in copies of its options; uses
// counts them.
struct smolwc_expiry {
  _Atomic int64_t before;
  atomic_int uses;
};

smolwc_expiry* smolwc_expiry_new(void) {
  smolwc_expiry* e = malloc(sizeof *e);
  if (e == NULL) return NULL;
  atomic_init(&e->before, 0);
  atomic_init(&e->uses, 1);
  return e;
}

void smolwc_expiry_free(smolwc_expiry* e) {
  if (atomic_fetch_sub(&e->uses, 1) == 1) free(e);
}

void smolwc_expiry_set(smolwc_expiry* e, int64_t before) { atomic_store(&e->before, before); }

// Whether the bytes in front of a key's version are a row and a qualifier.
static int is_cell(const char* key, size_t len) {
  size_t elements = len - SMOLWC_VERSION_LEN;
  size_t row = smolwc_element_len(key, elements);
  return row != 0 && smolwc_element_len(key + row, elements - row) == elements - row;
}

// Whether a cell is expired. A key that is not a cell's is kept, so that reads report
// it. The state is the compaction's own copy of the bound: one compaction uses one
// bound.
static unsigned char drops(void* state, int level, const char* key, size_t len, const char* value,
                           size_t value_len, char** new_value, size_t* new_value_len,
                           unsigned char* value_changed) {
  (void)level, (void)value, (void)value_len, (void)new_value, (void)new_value_len,
      (void)value_changed;
  if (len < SMOLWC_VERSION_LEN + 4) return 0;
  const char* version = key + len - SMOLWC_VERSION_LEN;
  return smolwc_is_version(version) && smolwc_timestamp(version) < *(const int64_t*)state &&
         is_cell(key, len);
}

static const char* filter_name(void* state) {
  (void)state;
  return "smolwc.Expired";
}

// The engine makes a filter for each compaction after choosing the files. Cells that
// are written after the bound was lowered are not in these files.
static rocksdb_compactionfilter_t* new_filter(void* state,
                                              rocksdb_compactionfiltercontext_t* context) {
  (void)context;
  smolwc_expiry* e = state;
  int64_t before = atomic_load(&e->before);
  if (before <= 0) return NULL;  // nothing to drop: no filter
  int64_t* own = malloc(sizeof *own);
  if (own == NULL) return NULL;
  *own = before;
  return rocksdb_compactionfilter_create(own, free, drops, filter_name);
}

static const char* factory_name(void* state) {
  (void)state;
  return "smolwc.Expired";
}

static void unuse(void* state) { smolwc_expiry_free(state); }

void smolwc_expiry_attach(smolwc_expiry* e, rocksdb_options_t* options) {
  atomic_fetch_add(&e->uses, 1);
  rocksdb_options_set_compaction_filter_factory(
      options, rocksdb_compactionfilterfactory_create(e, unuse, new_filter, factory_name));
}
