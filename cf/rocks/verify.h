#ifndef SMOLWC_VERIFY_H
#define SMOLWC_VERIFY_H

#include <rocksdb/c.h>

#ifdef __cplusplus
extern "C" {
#endif

// Reads a table file to its end and compares checksums, those of its filters,
// properties and ranges of deletions too. What is wrong, NULL when nothing is, is
// to be freed with free.
char* smolwc_verify_table(const rocksdb_options_t* options, const char* path);

#ifdef __cplusplus
}
#endif

#endif
