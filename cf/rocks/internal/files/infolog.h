#ifndef SMOLWC_INFOLOG_H
#define SMOLWC_INFOLOG_H

#include <rocksdb/c.h>

#ifdef __cplusplus
extern "C" {
#endif

// Has RocksDB write its own log to the file at path, behind what is there. What
// cannot be written is left out. An empty path: it writes none.
void smolwc_set_info_log(rocksdb_options_t* options, const char* path);

#ifdef __cplusplus
}
#endif

#endif
