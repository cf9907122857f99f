// Writing sorted cells to a table file, many in one call from Go.
#ifndef SMOLWC_TABLEFILE_H
#define SMOLWC_TABLEFILE_H

#include <rocksdb/c.h>
#include <stddef.h>
#include <stdint.h>

// Writes n groups of cells, as cf.CellGroups describes them; the i-th begins at data +
// at[i]. Stops after the group at which the file reaches file_size bytes. Returns the
// number of groups written. If a write failed, *err is the error, to be freed with
// rocksdb_free.
size_t smolwc_write_groups(rocksdb_sstfilewriter_t* writer, const char* data, const uint32_t* at,
                         size_t n, uint64_t file_size, char** err);

#endif
