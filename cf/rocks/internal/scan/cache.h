#ifndef SMOLWC_CACHE_H
#define SMOLWC_CACHE_H

#include <rocksdb/c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Replaces the cache by an empty one of the same capacity. A part of it is for blocks
// that were read again, and for indexes and filters. It counts large blocks as below.
void smolwc_cache_keep(rocksdb_cache_t* cache, double part);

// The large blocks, of a MiB or more, that a call reads. A call that had room for its
// first one continues, unless other calls read large blocks too.
typedef struct {
  bool on;       // the call is counted; otherwise the rest is unused
  bool alone;    // the first block may be larger than the room
  size_t room;   // bytes that there is room for at the beginning
  int64_t more;  // how many more bytes of large blocks there are than before
  size_t read;   // bytes of large blocks that the call read and holds, for smolwc_large_counted
  bool refused;  // there was no room for a block, and the call failed
  size_t size;   // of that block
} smolwc_large;

// Between begin and end this thread reads no block for which there is no room. Blocks
// that other threads have read and not yet counted take room too.
void smolwc_large_begin(const smolwc_large* l);
void smolwc_large_end(smolwc_large* l);
// The blocks of a call are now counted elsewhere, or are gone.
void smolwc_large_counted(rocksdb_cache_t* cache, size_t read);
// Whether this thread has no room for the block that it is about to read.
bool smolwc_large_refused(void);

#ifdef __cplusplus
}
#endif

#endif
