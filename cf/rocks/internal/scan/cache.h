#ifndef SMOLWC_CACHE_H
#define SMOLWC_CACHE_H

#include <rocksdb/c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Replaces the cache by an empty one of the same capacity, with a part for blocks that
// were read again and for indexes and filters. The new cache counts large blocks as
// below.
void smolwc_cache_keep(rocksdb_cache_t* cache, double part);

// The large blocks, of a MiB or more, that a call reads. A call that had room for its
// first large block may read more, unless other calls read large blocks too.
typedef struct {
  bool on;       // the call is counted; otherwise the rest is unused
  bool alone;    // the first block may exceed the room
  size_t room;   // bytes that there is room for when the call begins
  int64_t more;  // change of the bytes of large blocks that are held
  size_t read;   // bytes of large blocks that the call read and holds, for smolwc_large_counted
  bool refused;  // there was no room for a block, and the call failed
  size_t size;   // of the refused block
} smolwc_large;

// Between begin and end this thread reads only blocks for which there is room. Blocks
// that other threads have read and not yet counted take room too.
void smolwc_large_begin(const smolwc_large* l);
void smolwc_large_end(smolwc_large* l);
// Ends the count of a call's blocks here: they are now counted elsewhere, or freed.
void smolwc_large_counted(rocksdb_cache_t* cache, size_t read);
// Counts a read of a file by this thread. Returns whether the thread lacks room for the
// block that it is about to read.
bool smolwc_reads_file(void);
// How often this thread read files.
uint64_t smolwc_file_reads(void);

#ifdef __cplusplus
}
#endif

#endif
