// Committing a batch in one call from Go.
#ifndef SMOLWC_WRITE_H
#define SMOLWC_WRITE_H

#include <rocksdb/c.h>
#include <stddef.h>
#include <stdint.h>

// Writes a batch given in RocksDB's own representation, and says up to which
// sequence number the database is written then. The error, NULL when there is
// none, is to be freed with rocksdb_free.
char* smolwc_write(rocksdb_t* db, const rocksdb_writeoptions_t* options, const char* rep,
                   size_t len, uint64_t* sequence);

#endif
