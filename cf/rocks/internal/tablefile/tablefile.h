// Writing sorted cells to a table file, many in one call from Go.
#ifndef SMOLWC_TABLEFILE_H
#define SMOLWC_TABLEFILE_H

#include <rocksdb/c.h>
#include <stddef.h>
#include <stdint.h>

// Writes groups of cells, which cf.CellGroups describes: n of them, beginning at
// data + at[i]. Stops behind the group with which the file has reached file_size
// bytes. Returns how many groups were written; *err, to be freed with
// rocksdb_free, says why there are fewer for another reason.
size_t smolwc_write_groups(rocksdb_sstfilewriter_t* writer, const char* data, const uint32_t* at,
                         size_t n, uint64_t file_size, char** err);

#endif
