// The merge operator: it merges the operands of one cell. See "Aggregates" in
// docs/format.md.
#ifndef SMOLWC_MERGE_H
#define SMOLWC_MERGE_H

#include <rocksdb/c.h>

// The operator's name is in the properties of table files, and its results are on disk:
// a change of the operator needs a new name.
rocksdb_mergeoperator_t* smolwc_merge_operator(void);

#endif
