#ifndef SMOLWC_VERIFY_H
#define SMOLWC_VERIFY_H

#include <rocksdb/c.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Opens a table file, and, where all of it is asked for, reads it to its end and
// compares checksums, those of its filters, properties and ranges of deletions
// too. What is wrong, NULL when nothing is, is to be freed with free.
char* smolwc_verify_table(const rocksdb_options_t* options, const char* path, uint8_t all);

typedef struct {
  uint64_t number;
  uint64_t bytes;
} smolwc_blob_file;

// How many blob files a family uses. The list, NULL when there are none or no
// memory, is to be freed with free.
size_t smolwc_blob_files(rocksdb_t* db, rocksdb_column_family_handle_t* family, smolwc_blob_file** list);

#ifdef __cplusplus
}
#endif

#endif
