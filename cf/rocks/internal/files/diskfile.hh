// The files that RocksDB writes, on a disk that may fail.
#ifndef SMOLWC_DISKFILE_HH
#define SMOLWC_DISKFILE_HH

#include <rocksdb/file_system.h>

#include <memory>
#include <string>

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

namespace {

using rocksdb::DataVerificationInfo;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

class DiskFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  using FSWritableFileOwnerWrapper::FSWritableFileOwnerWrapper;

  IOStatus Append(const Slice& data, const IOOptions& o, IODebugContext* d) override {
    return Retried(target()->Append(data, o, d));
  }
  IOStatus Append(const Slice& data, const IOOptions& o, const DataVerificationInfo& v,
                  IODebugContext* d) override {
    return Retried(target()->Append(data, o, v, d));
  }
  IOStatus Truncate(uint64_t size, const IOOptions& o, IODebugContext* d) override {
    return Retried(target()->Truncate(size, o, d));
  }
  IOStatus Close(const IOOptions& o, IODebugContext* d) override { return Retried(target()->Close(o, d)); }
  IOStatus Flush(const IOOptions& o, IODebugContext* d) override { return Retried(target()->Flush(o, d)); }
  IOStatus Sync(const IOOptions& o, IODebugContext* d) override { return Retried(target()->Sync(o, d)); }
  IOStatus Fsync(const IOOptions& o, IODebugContext* d) override { return Retried(target()->Fsync(o, d)); }
  IOStatus RangeSync(uint64_t at, uint64_t n, const IOOptions& o, IODebugContext* d) override {
    return Retried(target()->RangeSync(at, n, o, d));
  }
};

class DiskDirectory : public rocksdb::FSDirectoryWrapper {
 public:
  using FSDirectoryWrapper::FSDirectoryWrapper;

  IOStatus Fsync(const IOOptions& o, IODebugContext* d) override { return Retried(FSDirectoryWrapper::Fsync(o, d)); }
  IOStatus FsyncWithDirOptions(const IOOptions& o, IODebugContext* d, const rocksdb::DirFsyncOptions& dir) override {
    return Retried(FSDirectoryWrapper::FsyncWithDirOptions(o, d, dir));
  }
};

}  // namespace

IOStatus Retried(IOStatus s) {
  if (!s.IsIOError()) return s;
  if (s.subcode() == IOStatus::SubCode::kNoSpace)
    s = IOStatus::IOError(s.ToString().substr(std::string("IO error: ").size()));
  s.SetRetryable(true);
  return s;
}

void RetryFile(std::unique_ptr<rocksdb::FSWritableFile>* file) {
  *file = std::make_unique<DiskFile>(std::move(*file));
}

void RetryDirectory(std::unique_ptr<rocksdb::FSDirectory>* dir) {
  *dir = std::make_unique<DiskDirectory>(std::move(*dir));
}

}  // namespace smolwc

#endif
