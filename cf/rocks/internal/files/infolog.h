#ifndef SMOLWC_INFOLOG_H
#define SMOLWC_INFOLOG_H

#include <rocksdb/c.h>

#ifdef __cplusplus
extern "C" {
#endif

// Makes RocksDB append its own log to the file at path. Lines that cannot be written
// are dropped. With an empty path there is no log.
void smolwc_set_info_log(rocksdb_options_t* options, const char* path);

#ifdef __cplusplus
}
#endif

#endif
