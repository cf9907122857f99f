// The merge operator: it merges the operands of one cell. See "Aggregates" in
// docs/format.md.
#ifndef SMOLWC_MERGE_H
#define SMOLWC_MERGE_H

#include <rocksdb/c.h>
#include <stddef.h>
#include <stdint.h>

// The operator's name is in the properties of table files, and its results are on disk:
// a change of the operator needs a new name.
rocksdb_mergeoperator_t* smolwc_merge_operator(void);

// Merges operands that lie end to end in data and end at ends[i] into one, in new
// memory; NULL when they have no kind in common, or when n is 0.
char* smolwc_merge_all(const char* data, const uint32_t* ends, size_t n, size_t* len);

#endif
