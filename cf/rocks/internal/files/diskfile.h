// The files that RocksDB writes, on a disk that may fail.
#ifndef SMOLWC_DISKFILE_H
#define SMOLWC_DISKFILE_H

#include <rocksdb/file_system.h>

#include <memory>

namespace smolwc {

// Retried marks an error of the disk as one that may pass. RocksDB then tries again each
// second, with other files, until it has recovered. Without the mark it would take no
// writes until it is opened again; and it would recover from a full disk in another way,
// at the same time as from other errors. Where it was built with assertions, it ends the
// process when both begin a manifest.
// docs/decisions/0038-faults-of-a-disk-pass.md
rocksdb::IOStatus Retried(rocksdb::IOStatus s);

// RetryFile and RetryDirectory mark the errors of a file that is written, and of a
// directory.
void RetryFile(std::unique_ptr<rocksdb::FSWritableFile>* file);
void RetryDirectory(std::unique_ptr<rocksdb::FSDirectory>* dir);

}  // namespace smolwc

#endif
