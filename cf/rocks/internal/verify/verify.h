#ifndef SMOLWC_VERIFY_H
#define SMOLWC_VERIFY_H

#include <rocksdb/c.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Opens a table file. With all, reads it to its end and compares checksums, also of its
// filters, properties and range tombstones. Returns the fault, to be freed with free,
// or NULL.
char* smolwc_verify_table(const rocksdb_options_t* options, const char* path, uint8_t all);

typedef struct {
  uint64_t number;
  uint64_t bytes;
} smolwc_blob_file;

// Returns the number of blob files that a family uses. *list is to be freed with free;
// it is NULL when there are no files or memory is out.
size_t smolwc_blob_files(rocksdb_t* db, rocksdb_column_family_handle_t* family, smolwc_blob_file** list);

#ifdef __cplusplus
}
#endif

#endif
