// A reader beside a writer shows a moment whose files the writer may remove. RocksDB
// opens table files once and keeps them open. It opens a blob file at the first read of
// a value in it, which may be too late.
#ifndef SMOLWC_HOLDING_HH
#define SMOLWC_HOLDING_HH

#include "holding.h"
#include "../native/handles.h"

#include <errno.h>
#include <fcntl.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/options.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace smolwc {

using rocksdb::FileOptions;
using rocksdb::FSRandomAccessFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

class HoldingFiles : public rocksdb::FileSystemWrapper {
 public:
  explicit HoldingFiles(const std::shared_ptr<rocksdb::FileSystem>& base) : FileSystemWrapper(base) {}
  ~HoldingFiles() override {
    for (auto& file : held_) close(file.second);
  }

  const char* Name() const override { return "HoldingFiles"; }

  int Hold(const std::string& path) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (held_.count(path) != 0) return 0;
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno;
    held_[path] = fd;
    return 0;
  }

  IOStatus NewRandomAccessFile(const std::string& path, const FileOptions& options,
                               std::unique_ptr<FSRandomAccessFile>* file, IODebugContext* debug) override {
    return target()->NewRandomAccessFile(Place(path), options, file, debug);
  }

  IOStatus GetFileSize(const std::string& path, const IOOptions& options, uint64_t* size,
                       IODebugContext* debug) override {
    return target()->GetFileSize(Place(path), options, size, debug);
  }

 private:
  // Place is the path by which to open a file: by its descriptor if the file is held.
  std::string Place(const std::string& path) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto file = held_.find(path);
    return file == held_.end() ? path : "/dev/fd/" + std::to_string(file->second);
  }

  std::mutex mutex_;
  std::map<std::string, int> held_;
};

}  // namespace smolwc

struct smolwc_holding {
  std::shared_ptr<smolwc::HoldingFiles> files;
  std::unique_ptr<rocksdb::Env> env;
};

extern "C" smolwc_holding* smolwc_holding_new(rocksdb_options_t* options) {
  auto h = new smolwc_holding;
  h->files = std::make_shared<smolwc::HoldingFiles>(options->rep.env->GetFileSystem());
  h->env = rocksdb::NewCompositeEnv(h->files);
  rocksdb_env_t env{h->env.get(), true};
  rocksdb_options_set_env(options, &env);
  return h;
}

extern "C" void smolwc_holding_free(smolwc_holding* h) { delete h; }

extern "C" int smolwc_holding_add(smolwc_holding* h, const char* path) { return h->files->Hold(path); }

#endif
