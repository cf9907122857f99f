// Committing a batch in one call from Go.
#ifndef SMOLWC_WRITE_H
#define SMOLWC_WRITE_H

#include <rocksdb/c.h>
#include <stddef.h>
#include <stdint.h>

// Writes a batch in RocksDB's own representation. *sequence is the sequence number up
// to which the database is written then. Returns the error, to be freed with
// rocksdb_free, or NULL.
char* smolwc_write(rocksdb_t* db, const rocksdb_writeoptions_t* options, const char* rep,
                   size_t len, uint64_t* sequence);

#endif
