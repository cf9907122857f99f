// The merge operator: what becomes of the operands of one cell. See "Aggregates"
// in docs/format.md.
#ifndef SMOLWC_MERGE_H
#define SMOLWC_MERGE_H

#include <rocksdb/c.h>
#include <stddef.h>

// The operator's name is in the files' properties and its results are on disk: a
// change needs a new name.
rocksdb_mergeoperator_t* smolwc_merge_operator(void);

// Merges operands into one, in new memory; NULL when they have no kind in common or
// are none.
char* smolwc_merge_operands(const char* const* operands, const size_t* lens, size_t n, size_t* len);

#endif
