// The prefix extractor.
#ifndef SMOLWC_PREFIX_H
#define SMOLWC_PREFIX_H

#include <rocksdb/c.h>

// Makes the prefix extractor of a family, which gives a key's row prefix.
rocksdb_slicetransform_t* smolwc_row_prefix(void);

#endif
