#ifndef SMOLWC_PROPERTIES_H
#define SMOLWC_PROPERTIES_H

#include <rocksdb/file_system.h>
#include <stdint.h>

#include <string>

namespace smolwc {

// CheckProperties reports the damage to a table file's properties that RocksDB does not
// survive. RocksDB itself reports all other damage.
rocksdb::IOStatus CheckProperties(rocksdb::FSRandomAccessFile* file, uint64_t size, const std::string& path);

}  // namespace smolwc

#endif
