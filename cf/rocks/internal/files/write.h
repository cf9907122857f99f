#ifndef SMOLWC_WRITE_H
#define SMOLWC_WRITE_H

#include "files.h"

// Writes a batch in RocksDB's own representation. A log that has failed is replaced
// before. *sequence is the database's latest sequence number after the write.
// Returns the error, to be freed with free, or NULL.
char* smolwc_write(smolwc_files* files, rocksdb_t* db, const rocksdb_writeoptions_t* options,
                   const char* rep, size_t len, uint64_t* sequence);

#endif
