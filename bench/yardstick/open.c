#include <stdlib.h>
#include <string.h>

#include "yardstick.h"

opened_t yardstick_open(const char* dir, const char* family) {
  opened_t o = {0};
  o.options = rocksdb_options_create();
  char** names = rocksdb_list_column_families(o.options, dir, &o.n, &o.err);
  if (o.err != NULL) {
    rocksdb_options_destroy(o.options);
    return o;
  }
  const rocksdb_options_t** options = malloc(o.n * sizeof *options);
  for (size_t i = 0; i < o.n; i++) options[i] = o.options;
  o.families = calloc(o.n, sizeof *o.families);
  o.db = rocksdb_open_column_families(o.options, dir, (int)o.n, (const char* const*)names, options,
                                      o.families, &o.err);
  for (size_t i = 0; i < o.n && o.err == NULL; i++) {
    if (strcmp(names[i], family) != 0) continue;
    rocksdb_readoptions_t* read = rocksdb_readoptions_create();
    rocksdb_iterator_t* it = rocksdb_create_iterator_cf(o.db, read, o.families[i]);
    rocksdb_iter_seek_to_first(it);
    if (rocksdb_iter_valid(it)) o.cells++;
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(read);
  }
  free(options);
  rocksdb_list_column_families_destroy(names, o.n);
  if (o.err != NULL) {
    free(o.families);
    rocksdb_options_destroy(o.options);
  }
  return o;
}

void yardstick_close(opened_t o) {
  for (size_t i = 0; i < o.n; i++) rocksdb_column_family_handle_destroy(o.families[i]);
  rocksdb_close(o.db);
  free(o.families);
  rocksdb_options_destroy(o.options);
}
