#ifndef SMOLWC_HOLDING_H
#define SMOLWC_HOLDING_H

#include <rocksdb/c.h>

#ifdef __cplusplus
extern "C" {
#endif

// A file system that still finds the files that it holds after their names have been
// removed.
typedef struct smolwc_holding smolwc_holding;

// Has a database opened with these options use one. It outlives the database.
smolwc_holding* smolwc_holding_new(rocksdb_options_t* options);
void smolwc_holding_free(smolwc_holding* h);

// Holds the file at path. Returns 0, or the error as errno has it.
int smolwc_holding_add(smolwc_holding* h, const char* path);

#ifdef __cplusplus
}
#endif

#endif
