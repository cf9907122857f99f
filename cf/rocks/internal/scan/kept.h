// Cursors that are kept between reads of single rows. Making and freeing an iterator of
// the engine takes longer than some of these reads, so a kept iterator is refreshed
// instead. In each level the iterator holds the file open that it read last, and
// opening another file takes as long again. So cursors are kept by files, and each is
// used again only for rows in its files. A kept cursor holds memtables and files, so
// kept cursors are freed regularly.
#ifndef SMOLWC_KEPT_H
#define SMOLWC_KEPT_H

#include "cursor.h"

#ifdef __cplusplus
extern "C" {
#endif

// Returns NULL when memory is out.
smolwc_kept* smolwc_kept_new(void);
// Also frees the kept cursors.
void smolwc_kept_free(smolwc_kept* k);
// Frees the cursors that are not in use.
void smolwc_kept_clear(smolwc_kept* k);
// Takes a cursor; NULL when no cursor is free. files is the same number for rows in the
// same files; it affects only speed.
smolwc_cursor* smolwc_kept_take(smolwc_kept* k, size_t files);
// Puts a cursor back. It no longer belongs to the caller, and may be freed at once.
void smolwc_kept_put(smolwc_kept* k, size_t files, smolwc_cursor* c);

// Makes an iterator without a snapshot see the newest state; it then stands at no key.
// Returns 0 when it cannot.
int smolwc_iterator_refresh(rocksdb_iterator_t* it);

// If the iterator stopped because it skipped as many keys as its options allow, returns a
// copy of the key up to which, inclusive, it found nothing, to be freed with free. Returns
// NULL if it did not stop, or when memory is out.
char* smolwc_iterator_stopped(rocksdb_iterator_t* it, size_t* len);

// Makes an iterator go on by itself when it stopped, until *left is not 0.
void smolwc_iterator_below(rocksdb_iterator_t* it, const uint8_t* left);

// Estimates the bytes between two keys, in files and in memtables; 0 on an error.
uint64_t smolwc_size(rocksdb_t* db, rocksdb_column_family_handle_t* family, const char* start,
                     size_t start_len, const char* end, size_t end_len);

#ifdef __cplusplus
}
#endif

#endif
