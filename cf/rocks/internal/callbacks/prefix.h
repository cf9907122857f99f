// The prefix extractor.
#ifndef SMOLWC_PREFIX_H
#define SMOLWC_PREFIX_H

#include <rocksdb/c.h>

// The prefix extractor of a family: a key's row prefix.
rocksdb_slicetransform_t* smolwc_row_prefix(void);

#endif
