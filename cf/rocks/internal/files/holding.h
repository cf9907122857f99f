#ifndef SMOLWC_HOLDING_H
#define SMOLWC_HOLDING_H

#include <rocksdb/c.h>

#ifdef __cplusplus
extern "C" {
#endif

// A file system that still finds the files that it holds after their names have been
// removed.
typedef struct smolwc_holding smolwc_holding;

// Makes one for a database that is opened with these options. It must outlive the
// database.
smolwc_holding* smolwc_holding_new(rocksdb_options_t* options);
void smolwc_holding_free(smolwc_holding* h);

// Holds the file at path. Returns 0 or an errno.
int smolwc_holding_add(smolwc_holding* h, const char* path);

#ifdef __cplusplus
}
#endif

#endif
