#include <stdlib.h>

#include "yardstick.h"

// Row prefixes are what the families' filters hold.
static rocksdb_readoptions_t* row_options(void) {
  rocksdb_readoptions_t* options = rocksdb_readoptions_create();
  rocksdb_readoptions_set_prefix_same_as_start(options, 1);
  return options;
}

static void get_row(sum_t* sum, rocksdb_iterator_t* it, const char* prefix, size_t len) {
  for (rocksdb_iter_seek(it, prefix, len); rocksdb_iter_valid(it); rocksdb_iter_next(it))
    count_entry(sum, it);
  end_iterator(sum, it);
}

sum_t yardstick_get_rows(rocksdb_t* db, family_t** fs, size_t families, const char* data,
                         const uint64_t* offsets, uint64_t n) {
  sum_t sum = {0};
  slices_t prefixes = {data, offsets, n};
  rocksdb_readoptions_t* options = row_options();
  for (uint64_t i = 0; i < n && sum.err == NULL; i++) {
    size_t len;
    const char* prefix = slice_at(&prefixes, i, &len);
    for (size_t f = 0; f < families; f++) {
      rocksdb_iterator_t* it = rocksdb_create_iterator_cf(db, options, fs[f]);
      get_row(&sum, it, prefix, len);
      rocksdb_iter_destroy(it);
    }
  }
  sum.rows = n;
  rocksdb_readoptions_destroy(options);
  return sum;
}

sum_t yardstick_get_rows_one_iterator(rocksdb_t* db, family_t** fs, size_t families,
                                      const char* data, const uint64_t* offsets, uint64_t n) {
  sum_t sum = {0};
  slices_t prefixes = {data, offsets, n};
  rocksdb_readoptions_t* options = row_options();
  for (size_t f = 0; f < families; f++) {
    rocksdb_iterator_t* it = rocksdb_create_iterator_cf(db, options, fs[f]);
    for (uint64_t i = 0; i < n && sum.err == NULL; i++) {
      size_t len;
      const char* prefix = slice_at(&prefixes, i, &len);
      get_row(&sum, it, prefix, len);
    }
    rocksdb_iter_destroy(it);
  }
  sum.rows = n;
  rocksdb_readoptions_destroy(options);
  return sum;
}

static void count_value(sum_t* sum, const char* value, size_t len) {
  sum->cells++;
  sum->bytes += len + (len > 0 ? (unsigned char)value[len - 1] : 0);
}

sum_t yardstick_get(rocksdb_t* db, family_t* f, const char* data, const uint64_t* offsets,
                    uint64_t n) {
  sum_t sum = {0};
  slices_t keys = {data, offsets, n};
  rocksdb_readoptions_t* options = rocksdb_readoptions_create();
  for (uint64_t i = 0; i < n && sum.err == NULL; i++) {
    size_t len, value_len;
    const char* key = slice_at(&keys, i, &len);
    char* value = rocksdb_get_cf(db, options, f, key, len, &value_len, &sum.err);
    if (value != NULL) count_value(&sum, value, value_len);
    rocksdb_free(value);
  }
  rocksdb_readoptions_destroy(options);
  return sum;
}

sum_t yardstick_get_pinned(rocksdb_t* db, family_t* f, const char* data, const uint64_t* offsets,
                           uint64_t n) {
  sum_t sum = {0};
  slices_t keys = {data, offsets, n};
  rocksdb_readoptions_t* options = rocksdb_readoptions_create();
  for (uint64_t i = 0; i < n && sum.err == NULL; i++) {
    size_t len, value_len;
    const char* key = slice_at(&keys, i, &len);
    rocksdb_pinnableslice_t* slice = rocksdb_get_pinned_cf(db, options, f, key, len, &sum.err);
    if (slice == NULL) continue;
    const char* value = rocksdb_pinnableslice_value(slice, &value_len);
    count_value(&sum, value, value_len);
    rocksdb_pinnableslice_destroy(slice);
  }
  rocksdb_readoptions_destroy(options);
  return sum;
}

sum_t yardstick_get_seek(rocksdb_t* db, family_t* f, const char* data, const uint64_t* offsets,
                         uint64_t n) {
  sum_t sum = {0};
  slices_t columns = {data, offsets, n};
  rocksdb_readoptions_t* options = row_options();
  for (uint64_t i = 0; i < n && sum.err == NULL; i++) {
    size_t len;
    const char* column = slice_at(&columns, i, &len);
    rocksdb_iterator_t* it = rocksdb_create_iterator_cf(db, options, f);
    rocksdb_iter_seek(it, column, len);
    if (rocksdb_iter_valid(it)) {
      size_t value_len;
      const char* value = rocksdb_iter_value(it, &value_len);
      count_value(&sum, value, value_len);
    }
    end_iterator(&sum, it);
    rocksdb_iter_destroy(it);
  }
  rocksdb_readoptions_destroy(options);
  return sum;
}

// The arguments and results of a call of multi_get, for a number of keys.
typedef struct {
  const char **keys, **values;
  size_t *key_lens, *value_lens;
  family_t** families;
  rocksdb_pinnableslice_t** slices;
  char** errs;
} multi_t;

static multi_t multi_create(uint64_t n, family_t* f) {
  multi_t m = {
      calloc(n, sizeof *m.keys),       calloc(n, sizeof *m.values),   calloc(n, sizeof *m.key_lens),
      calloc(n, sizeof *m.value_lens), calloc(n, sizeof *m.families), calloc(n, sizeof *m.slices),
      calloc(n, sizeof *m.errs)};
  for (uint64_t i = 0; i < n; i++) m.families[i] = f;
  return m;
}

static void multi_destroy(multi_t* m) {
  free(m->keys), free(m->values), free(m->key_lens), free(m->value_lens);
  free(m->families), free(m->slices), free(m->errs);
}

// Takes the keys from i on and returns how many.
static uint64_t multi_fill(multi_t* m, const slices_t* keys, uint64_t i, uint64_t at_once) {
  uint64_t got = keys->n - i < at_once ? keys->n - i : at_once;
  for (uint64_t j = 0; j < got; j++) m->keys[j] = slice_at(keys, i + j, &m->key_lens[j]);
  return got;
}

static void multi_error(sum_t* sum, char* err) {
  if (err == NULL) return;
  if (sum->err == NULL)
    sum->err = err;
  else
    rocksdb_free(err);
}

sum_t yardstick_multi_get(rocksdb_t* db, family_t* f, const char* data, const uint64_t* offsets,
                          uint64_t n, uint64_t at_once) {
  sum_t sum = {0};
  slices_t keys = {data, offsets, n};
  multi_t m = multi_create(at_once, f);
  rocksdb_readoptions_t* options = rocksdb_readoptions_create();
  for (uint64_t i = 0; i < n && sum.err == NULL; i += at_once) {
    uint64_t got = multi_fill(&m, &keys, i, at_once);
    rocksdb_multi_get_cf(db, options, (const family_t* const*)m.families, got, m.keys, m.key_lens,
                         (char**)m.values, m.value_lens, m.errs);
    for (uint64_t j = 0; j < got; j++) {
      multi_error(&sum, m.errs[j]);
      if (m.values[j] != NULL) count_value(&sum, m.values[j], m.value_lens[j]);
      rocksdb_free((char*)m.values[j]);
    }
  }
  rocksdb_readoptions_destroy(options);
  multi_destroy(&m);
  return sum;
}

sum_t yardstick_batched_multi_get(rocksdb_t* db, family_t* f, const char* data,
                                  const uint64_t* offsets, uint64_t n, uint64_t at_once) {
  sum_t sum = {0};
  slices_t keys = {data, offsets, n};
  multi_t m = multi_create(at_once, f);
  rocksdb_readoptions_t* options = rocksdb_readoptions_create();
  for (uint64_t i = 0; i < n && sum.err == NULL; i += at_once) {
    uint64_t got = multi_fill(&m, &keys, i, at_once);
    rocksdb_batched_multi_get_cf(db, options, f, got, m.keys, m.key_lens, m.slices, m.errs, 0);
    for (uint64_t j = 0; j < got; j++) {
      multi_error(&sum, m.errs[j]);
      if (m.slices[j] == NULL) continue;
      size_t value_len;
      const char* value = rocksdb_pinnableslice_value(m.slices[j], &value_len);
      count_value(&sum, value, value_len);
      rocksdb_pinnableslice_destroy(m.slices[j]);
    }
  }
  rocksdb_readoptions_destroy(options);
  multi_destroy(&m);
  return sum;
}
