#ifndef SMOLWC_WRITE_H
#define SMOLWC_WRITE_H

#include "files.h"

#ifdef __cplusplus
extern "C" {
#endif

// A part of a batch that comes before the byte at of the rest.
typedef struct {
  size_t at;
  const char* data;
  size_t len;
} smolwc_part;

// Writes a batch in RocksDB's own representation: rep with the parts in it, which are in
// order. A failed log is replaced first. *sequence is the database's latest sequence
// number after the write. Returns the error, to be freed with free, or NULL.
char* smolwc_write(smolwc_files* files, rocksdb_t* db, const rocksdb_writeoptions_t* options,
                   const char* rep, size_t len, const smolwc_part* parts, size_t count,
                   uint64_t* sequence);

// The bytes of writes that are not in a table file yet, of all families.
uint64_t smolwc_memtable_bytes(rocksdb_t* db);

#ifdef __cplusplus
}
#endif

#endif
