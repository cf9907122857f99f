#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "yardstick.h"

sum_t yardstick_write(rocksdb_t* db, family_t* f, const char* key_data, const uint64_t* keys,
                      const char* value_data, const uint64_t* values, uint64_t n, uint64_t at_once,
                      unsigned char sync, uint64_t* times) {
  sum_t sum = {0};
  struct timespec before, after;
  slices_t ks = {key_data, keys, n}, vs = {value_data, values, n};
  rocksdb_writeoptions_t* options = rocksdb_writeoptions_create();
  rocksdb_writeoptions_set_sync(options, sync);
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  for (uint64_t i = 0; i < n && sum.err == NULL; i++) {
    size_t key_len, value_len;
    const char* key = slice_at(&ks, i, &key_len);
    const char* value = slice_at(&vs, i, &value_len);
    rocksdb_writebatch_put_cf(batch, f, key, key_len, value, value_len);
    if ((i + 1) % at_once == 0 || i + 1 == n) {
      if (times != NULL) clock_gettime(CLOCK_MONOTONIC, &before);
      rocksdb_write(db, options, batch, &sum.err);
      rocksdb_writebatch_clear(batch);
      if (times == NULL) continue;
      clock_gettime(CLOCK_MONOTONIC, &after);
      times[i / at_once] =
          (after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec;
    }
  }
  sum.cells = n;
  rocksdb_writebatch_destroy(batch);
  rocksdb_writeoptions_destroy(options);
  return sum;
}

// A pair to sort. The first bytes of the key, as a number, decide most
// comparisons without a look at the key.
typedef struct {
  uint64_t head;
  const char* key;
  uint32_t key_len, value_len;
  const char* value;
} pair_t;

static int by_key(const void* a, const void* b) {
  const pair_t *x = a, *y = b;
  if (x->head != y->head) return x->head < y->head ? -1 : 1;
  size_t len = x->key_len < y->key_len ? x->key_len : y->key_len;
  int order = memcmp(x->key, y->key, len);
  return order != 0 ? order : (x->key_len > y->key_len) - (x->key_len < y->key_len);
}

// Length of what the first and the last of all keys have in common is of no use
// to the head: it starts after it.
static size_t common_prefix(const slices_t* keys) {
  size_t common = SIZE_MAX;
  const char* first = keys->data;
  for (uint64_t i = 0; i < keys->n; i++) {
    size_t len, at = 0;
    const char* key = slice_at(keys, i, &len);
    if (len < common) common = len;
    while (at < common && key[at] == first[at]) at++;
    common = at;
  }
  return common;
}

static pair_t* sorted_pairs(const slices_t* keys, const slices_t* values) {
  pair_t* pairs = malloc(keys->n * sizeof *pairs);
  size_t skip = common_prefix(keys);
  for (uint64_t i = 0; i < keys->n; i++) {
    size_t key_len, value_len;
    const char* key = slice_at(keys, i, &key_len);
    const char* value = slice_at(values, i, &value_len);
    char head[8] = {0};
    memcpy(head, key + skip, key_len - skip < 8 ? key_len - skip : 8);
    pairs[i] = (pair_t){load_be64(head), key, key_len, value_len, value};
  }
  qsort(pairs, keys->n, sizeof *pairs, by_key);
  return pairs;
}

enum { max_files = 4096, path_max = 4096 };

sum_t yardstick_bulk_load(rocksdb_t* db, family_t* f, const rocksdb_options_t* options,
                          const char* key_data, const uint64_t* keys, const char* value_data,
                          const uint64_t* values, uint64_t n, const char* dir,
                          uint64_t file_bytes) {
  sum_t sum = {0};
  if (n == 0) return sum;
  slices_t ks = {key_data, keys, n}, vs = {value_data, values, n};
  pair_t* pairs = sorted_pairs(&ks, &vs);
  rocksdb_envoptions_t* env = rocksdb_envoptions_create();
  char** files = calloc(max_files, sizeof *files);
  size_t made = 0;
  for (uint64_t i = 0; i < n && sum.err == NULL && made < max_files;) {
    rocksdb_sstfilewriter_t* w = rocksdb_sstfilewriter_create(env, options);
    files[made] = malloc(path_max);
    snprintf(files[made], path_max, "%s/%06zu.sst", dir, made);
    rocksdb_sstfilewriter_open(w, files[made], &sum.err);
    for (uint64_t bytes = 0; i < n && sum.err == NULL && bytes < file_bytes; i++) {
      pair_t* p = &pairs[i];
      rocksdb_sstfilewriter_put(w, p->key, p->key_len, p->value, p->value_len, &sum.err);
      bytes += p->key_len + p->value_len;
      sum.cells++;
    }
    if (sum.err == NULL) rocksdb_sstfilewriter_finish(w, &sum.err);
    rocksdb_sstfilewriter_destroy(w);
    made++;
  }
  if (sum.err == NULL) {
    rocksdb_ingestexternalfileoptions_t* ingest = rocksdb_ingestexternalfileoptions_create();
    rocksdb_ingestexternalfileoptions_set_move_files(ingest, 1);
    rocksdb_ingest_external_file_cf(db, f, (const char* const*)files, made, ingest, &sum.err);
    rocksdb_ingestexternalfileoptions_destroy(ingest);
  }
  for (size_t i = 0; i < made; i++) free(files[i]);
  free(files);
  free(pairs);
  rocksdb_envoptions_destroy(env);
  return sum;
}
