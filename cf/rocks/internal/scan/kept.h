// Cursors that are kept between reads of single rows. Making and freeing an iterator of
// the engine takes longer than some of these reads, so a kept iterator is refreshed
// instead. It has the file of each level open that it read last, and opening another
// one takes as long again: so cursors are kept by the beginnings of files, and each
// stays within its files. A kept cursor holds memtables and files, so the kept ones are
// cleared now and then.
#ifndef SMOLWC_KEPT_H
#define SMOLWC_KEPT_H

#include "cursor.h"

#ifdef __cplusplus
extern "C" {
#endif

// Returns NULL when memory is out.
smolwc_kept* smolwc_kept_new(void);
// Clears it too.
void smolwc_kept_free(smolwc_kept* k);
// Frees the cursors that are not taken.
void smolwc_kept_clear(smolwc_kept* k);
// NULL when there is none. files is the same number for rows in the same files; it
// affects only speed.
smolwc_cursor* smolwc_kept_take(smolwc_kept* k, size_t files);
// The cursor no longer belongs to the caller, and may be freed at once.
void smolwc_kept_put(smolwc_kept* k, size_t files, smolwc_cursor* c);

// Makes an iterator without a snapshot see the newest state; it then stands at no key.
// Returns 0 when it cannot.
int smolwc_iterator_refresh(rocksdb_iterator_t* it);

// About how many bytes lie between two keys, in files and in memtables; 0 when there
// is an error.
uint64_t smolwc_size(rocksdb_t* db, rocksdb_column_family_handle_t* family, const char* start,
                     size_t start_len, const char* end, size_t end_len);

#ifdef __cplusplus
}
#endif

#endif
