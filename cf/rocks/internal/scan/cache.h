#ifndef SMOLWC_CACHE_H
#define SMOLWC_CACHE_H

#include <rocksdb/c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Makes a new, empty cache of the same capacity, a part of which is for what has been
// read again, and for indexes and filters. Its blocks count as below.
void smolwc_cache_keep(rocksdb_cache_t* cache, double part);

// What a call reads of large blocks, those of a MiB or more. One that has had room for
// the first goes on unless others read such blocks too.
typedef struct {
  bool on;       // the call is counted; otherwise nothing below is said
  bool alone;    // the first block may be larger than the room
  size_t room;   // bytes that there is room for when it begins
  int64_t more;  // bytes of such blocks that there are more than before
  size_t read;   // bytes of those that it read and has; for smolwc_large_counted
  bool refused;  // there was no room for one, and the call failed
  size_t size;   // of that one
} smolwc_large;

// Between these this thread does not read a block for which there is no room, beside
// those that other threads have read and that nobody has counted yet.
void smolwc_large_begin(const smolwc_large* l);
void smolwc_large_end(smolwc_large* l);
// Says that what a call has read counts elsewhere now, or that it has gone.
void smolwc_large_counted(rocksdb_cache_t* cache, size_t read);
// Whether this thread has no room for the block that it is about to read.
bool smolwc_large_refused(void);

#ifdef __cplusplus
}
#endif

#endif
