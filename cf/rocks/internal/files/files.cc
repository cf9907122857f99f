//go:build cgo && linux && !norocksdb

// RocksDB keeps logs only by options that are set at the open. This file system can
// start and stop keeping logs while the database is open.
//
// This is the package's only C++ file. Its other parts are headers, so that RocksDB's
// headers, which take most of the compilation, are read once.

#include "files.h"
#include "../native/handles.h"
#include "diskfile.hh"
#include "faults.hh"
#include "holding.hh"
#include "infolog.hh"
#include "logfile.hh"
#include "properties.hh"
#include "synced.hh"

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/options.h>
#include <rocksdb/version.h>
#include <string.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::DataVerificationInfo;
using rocksdb::IOStatus;
using rocksdb::Slice;

std::string base(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool is_log(const std::string& path) { return path.ends_with(".log"); }
bool is_table(const std::string& path) { return path.ends_with(".sst"); }
bool is_data(const std::string& path) { return is_table(path) || path.ends_with(".blob"); }
bool is_options(const std::string& path) { return base(path).starts_with("OPTIONS-"); }
bool is_manifest(const std::string& path) { return base(path).starts_with("MANIFEST-"); }
bool is_current(const std::string& path) { return path.ends_with("/CURRENT"); }

// A ShortFile ends where it is told to.
class ShortFile : public rocksdb::FSSequentialFileOwnerWrapper {
 public:
  ShortFile(std::unique_ptr<rocksdb::FSSequentialFile>&& file, uint64_t size)
      : FSSequentialFileOwnerWrapper(std::move(file)), left_(size) {}

  IOStatus Read(size_t n, const IOOptions& options, rocksdb::Slice* result, char* scratch,
                IODebugContext* debug) override {
    IOStatus s = FSSequentialFileOwnerWrapper::Read(std::min<uint64_t>(n, left_), options, result, scratch, debug);
    if (s.ok()) left_ -= std::min<uint64_t>(result->size(), left_);
    return s;
  }

 private:
  uint64_t left_;
};

// Whether this thread makes a change that a caller asked for and that RocksDB writes to
// its manifest. After a fault of the manifest RocksDB recovers with another one. Where
// it was built with assertions, it ends the process when a change begins one meanwhile.
thread_local bool changes = false;

// NotNow is the error of a change while RocksDB recovers.
IOStatus NotNow() {
  return smolwc::Retried(IOStatus::IOError("the manifest has failed, and the engine has not begun another yet"));
}

// A ManifestFile notes whether a write to it failed. It takes nothing before failed
// logs have been cut.
class ManifestFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  ManifestFile(std::unique_ptr<rocksdb::FSWritableFile>&& file, std::atomic<bool>* failed,
               const std::shared_ptr<smolwc::Logs>& logs)
      : FSWritableFileOwnerWrapper(std::move(file)), failed_(failed), logs_(logs) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    IOStatus s = logs_->Cut();
    return Note(s.ok() ? target()->Append(data, options, debug) : s);
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const DataVerificationInfo& info,
                  IODebugContext* debug) override {
    IOStatus s = logs_->Cut();
    return Note(s.ok() ? target()->Append(data, options, info, debug) : s);
  }
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    return Note(target()->Close(options, debug));
  }
  IOStatus Flush(const IOOptions& options, IODebugContext* debug) override {
    return Note(target()->Flush(options, debug));
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    return Note(target()->Sync(options, debug));
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return Note(target()->Fsync(options, debug));
  }

 private:
  IOStatus Note(IOStatus s) {
    if (!s.ok()) failed_->store(true);
    return s;
  }

  std::atomic<bool>* failed_;
  const std::shared_ptr<smolwc::Logs> logs_;
};

// A TableFile does not read a block that is refused.
class TableFile : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  TableFile(std::unique_ptr<rocksdb::FSRandomAccessFile>&& file, smolwc_refused* refused)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), refused_(refused) {}

  IOStatus Read(uint64_t at, size_t n, const IOOptions& options, rocksdb::Slice* result, char* scratch,
                IODebugContext* debug) const override {
    if (refused_ != nullptr && refused_()) return IOStatus::Busy("no room for a block");
    return FSRandomAccessFileOwnerWrapper::Read(at, n, options, result, scratch, debug);
  }

 private:
  smolwc_refused* refused_;
};

// Paths is a set of paths.
class Paths {
 public:
  void Add(const std::string& path) {
    std::lock_guard<std::mutex> lock(mutex_);
    all_.insert(path);
  }
  // Remove reports whether the path was in the set.
  bool Remove(const std::string& path) {
    std::lock_guard<std::mutex> lock(mutex_);
    return all_.erase(path) > 0;
  }

 private:
  std::mutex mutex_;
  std::set<std::string> all_;
};

class LogFiles : public rocksdb::FileSystemWrapper {
 public:
  LogFiles(const std::shared_ptr<rocksdb::FileSystem>& base, smolwc_refused* refused)
      : FileSystemWrapper(base), synced(std::make_shared<smolwc::Synced>(base)), refused_(refused) {}

  const char* Name() const override { return "smolwc.LogFiles"; }

  // From now on no file is made, opened or removed in dir if dir is no longer the
  // directory with this device and inode. RocksDB finds its files by their paths: it
  // would continue in a database that replaced its own.
  void Guard(const std::string& dir, uint64_t device, uint64_t inode) {
    dir_ = dir + "/";
    device_ = device;
    inode_ = inode;
    synced->place = [this] { return InPlace(dir_); };
  }

  // InPlace fails when a path is in dir and dir now leads elsewhere.
  IOStatus InPlace(const std::string& path) {
    if (dir_.empty() || path.compare(0, dir_.size(), dir_) != 0) return IOStatus::OK();
    struct stat now;
    if (stat(dir_.c_str(), &now) == 0 && now.st_dev == device_ && now.st_ino == inode_) return IOStatus::OK();
    IOStatus moved = IOStatus::IOError(path, "the directory was moved or replaced while the database was open");
    moved.SetRetryable(true);  // the directory may come back
    return moved;
  }

  IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                           IODebugContext* debug) override {
    if (hold_options.load() && is_options(path)) return IOStatus::NotSupported("options are written later");
    if (!log_files->IsOpen() || !is_log(path)) {
      IOStatus s = Make(path, options, file, debug);
      if (s.ok() && is_log(path)) *file = smolwc::WatchLog(std::move(*file), log_files);
      return s;
    }
    unmade.Add(path);
    *file = smolwc::MakeLog(
        [this, path, options](auto* made, bool late) {
          IOStatus s = Make(path, options, made, nullptr);
          return s.ok() && late ? SyncDir(path) : s;
        },
        log_files);
    return IOStatus::OK();
  }

  // Make makes a file.
  IOStatus Make(const std::string& path, const rocksdb::FileOptions& options,
                std::unique_ptr<rocksdb::FSWritableFile>* file, IODebugContext* debug) {
    IOStatus s = InPlace(path);
    if (s.ok() && is_manifest(path) && changes && !faults->Recovering().empty()) s = NotNow();
    if (s.ok()) s = FileSystemWrapper::NewWritableFile(path, options, file, debug);
    if (s.ok() && is_log(path)) begun.fetch_add(1);
    if (s.ok()) unmade.Remove(path);
    if (s.ok()) smolwc::RetryFile(file);
    if (s.ok() && is_manifest(path)) *file = std::make_unique<ManifestFile>(std::move(*file), &in_doubt, log_files);
    if (s.ok()) synced->Opened(path, file);
    return smolwc::Retried(s);
  }

  // SyncDir syncs the directory of a file.
  IOStatus SyncDir(const std::string& path) {
    std::unique_ptr<rocksdb::FSDirectory> dir;
    IOStatus s = target()->NewDirectory(path.substr(0, path.rfind('/')), IOOptions(), &dir, nullptr);
    return s.ok() ? dir->Fsync(IOOptions(), nullptr) : s;
  }

  IOStatus ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                              std::unique_ptr<rocksdb::FSWritableFile>* file,
                              IODebugContext* debug) override {
    IOStatus s = InPlace(path);
    return s.ok() ? FileSystemWrapper::ReopenWritableFile(path, options, file, debug) : s;
  }

  IOStatus NewSequentialFile(const std::string& path, const rocksdb::FileOptions& options,
                             std::unique_ptr<rocksdb::FSSequentialFile>* file,
                             IODebugContext* debug) override {
    IOStatus s = FileSystemWrapper::NewSequentialFile(path, options, file, debug);
    auto end = s.ok() ? ends.find(smolwc::NameIn(dir, path)) : ends.end();
    if (end != ends.end()) *file = std::make_unique<ShortFile>(std::move(*file), end->second);
    return s;
  }

  IOStatus LockFile(const std::string& path, const IOOptions& options, rocksdb::FileLock** lock,
                    IODebugContext* debug) override {
    IOStatus s = FileSystemWrapper::LockFile(path, options, lock, debug);
    if (!s.ok()) return s;
    IOStatus changed = synced->Unchanged();
    if (changed.ok()) return s;
    s = UnlockFile(*lock, options, debug);
    *lock = nullptr;
    return s.ok() ? changed : s;
  }

  IOStatus NewRandomAccessFile(const std::string& path, const rocksdb::FileOptions& options,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                               IODebugContext* debug) override {
    IOStatus s = InPlace(path);
    if (s.ok()) s = FileSystemWrapper::NewRandomAccessFile(path, options, file, debug);
    uint64_t size = 0;
    if (!s.ok() || !is_table(path) || !GetFileSize(path, IOOptions(), &size, debug).ok()) return s;
    s = smolwc::CheckProperties(file->get(), size, path);
    file->reset(s.ok() ? new TableFile(std::move(*file), refused_) : nullptr);
    return s;
  }

  IOStatus NewDirectory(const std::string& path, const IOOptions& options, std::unique_ptr<rocksdb::FSDirectory>* dir,
                        IODebugContext* debug) override {
    IOStatus s = FileSystemWrapper::NewDirectory(path, options, dir, debug);
    if (s.ok()) smolwc::RetryDirectory(dir);
    return s;
  }

  // RocksDB lists the directory after it tries to recover.
  IOStatus GetChildren(const std::string& path, const IOOptions& options, std::vector<std::string>* names,
                       IODebugContext* debug) override {
    faults->Tried();
    return FileSystemWrapper::GetChildren(path, options, names, debug);
  }

  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                      IODebugContext* debug) override {
    IOStatus s = InPlace(from);
    if (s.ok()) s = FileSystemWrapper::RenameFile(from, to, options, debug);
    if (s.ok() && is_current(to)) in_doubt.store(false);  // a new manifest is in force
    return smolwc::Retried(s);
  }

  IOStatus LinkFile(const std::string& from, const std::string& to, const IOOptions& options,
                    IODebugContext* debug) override {
    IOStatus s = InPlace(from);
    return s.ok() ? FileSystemWrapper::LinkFile(from, to, options, debug) : s;
  }

  IOStatus DeleteFile(const std::string& path, const IOOptions& options,
                      IODebugContext* debug) override {
    IOStatus s = InPlace(path);
    if (s.ok() && spare.load() && is_data(path)) return SetAside(path, options, debug);
    if (s.ok()) s = synced->Removing(path);
    if (!s.ok() || unmade.Remove(path)) return s;
    if (in_doubt.load() && is_data(path)) return IOStatus::IOError(path, "is kept, since the manifest may name it");
    size_t slash = path.rfind('/');
    if (!keep.load() || !is_log(path) || slash == std::string::npos)
      return FileSystemWrapper::DeleteFile(path, options, debug);
    std::string archived = path.substr(0, slash) + "/archive" + path.substr(slash);
    auto end = ends.find(smolwc::NameIn(dir, path));
    if (end != ends.end()) s = Truncate(path, end->second, options, debug);
    return s.ok() ? target()->RenameFile(path, archived, options, debug) : s;
  }

  // SetAside moves a file that RocksDB would remove to the directory strays.
  IOStatus SetAside(const std::string& path, const IOOptions& options, IODebugContext* debug) {
    std::string name = smolwc::NameIn(dir, path);
    if (name.empty()) return FileSystemWrapper::DeleteFile(path, options, debug);
    IOStatus s = CreateDirIfMissing(dir + "/strays", options, debug);
    if (s.ok()) s = target()->RenameFile(path, dir + "/strays/" + name, options, debug);
    if (s.ok()) spared.fetch_add(1);
    return s;
  }

  // These are set before RocksDB sees the database.
  std::string dir;
  std::map<std::string, uint64_t> ends;  // by name: where files end whose remaining bytes were never written

  const std::shared_ptr<smolwc::Synced> synced;
  std::atomic<bool> spare{false};
  std::atomic<uint64_t> spared{0};
  std::atomic<bool> keep{false};
  std::atomic<bool> hold_options{false};
  std::atomic<uint64_t> begun{0};
  // A write to the manifest failed: whether the manifest contains the change is
  // unknown. RocksDB then removes the files of the failed change, for example of an
  // ingestion; if the manifest names them, the database no longer opens.
  std::atomic<bool> in_doubt{false};
  const std::shared_ptr<smolwc::Logs> log_files = std::make_shared<smolwc::Logs>();
  const std::shared_ptr<smolwc::Faults> faults = std::make_shared<smolwc::Faults>();

 private:
  Paths unmade;  // logs that RocksDB began, and that are not there yet
  smolwc_refused* const refused_;
  std::string dir_;  // "" without a guard
  uint64_t device_ = 0, inode_ = 0;
};

char* message(const IOStatus& s) { return s.ok() ? nullptr : strdup(s.ToString().c_str()); }

}  // namespace

struct smolwc_files {
  std::unique_ptr<rocksdb::Env> memory;  // null for a database on disk
  std::shared_ptr<LogFiles> logs;
  std::unique_ptr<rocksdb::Env> env;

  rocksdb::FileSystem* base() { return logs->target(); }
};

extern "C" {

smolwc_files* smolwc_files_new(rocksdb_options_t* options, uint8_t in_memory, smolwc_refused* refused) {
  auto files = new smolwc_files;
  rocksdb::Env* base = rocksdb::Env::Default();
  if (in_memory) {
    files->memory.reset(rocksdb::NewMemEnv(base));
    base = files->memory.get();
  }
  files->logs = std::make_shared<LogFiles>(base->GetFileSystem(), refused);
  files->env = rocksdb::NewCompositeEnv(files->logs);
  options->rep.env = files->env.get();
  options->rep.listeners.push_back(files->logs->faults);
  return files;
}

void smolwc_files_free(smolwc_files* files) { delete files; }

void smolwc_files_guard(smolwc_files* files, const char* dir, uint64_t device, uint64_t inode) {
  files->logs->Guard(dir, device, inode);
}

void smolwc_files_keep(smolwc_files* files, uint8_t keep) { files->logs->keep.store(keep != 0); }

uint8_t smolwc_files_keeps(const smolwc_files* files) { return files->logs->keep.load(); }

void smolwc_files_hold_options(smolwc_files* files, uint8_t hold) {
  files->logs->hold_options.store(hold != 0);
}

uint64_t smolwc_files_begun(const smolwc_files* files) { return files->logs->begun.load(); }

void smolwc_files_begin(smolwc_files* files, const char* dir, const char* synced, size_t n) {
  files->logs->dir = dir;
  files->logs->synced->Begin(dir, std::string(synced, n));
}

void smolwc_files_claim(smolwc_files* files, const char* name, uint64_t bytes) {
  files->logs->synced->Claim(name, bytes);
}

void smolwc_files_end(smolwc_files* files, const char* name, uint64_t size) {
  files->logs->ends[name] = size;
}

uint64_t smolwc_files_spare(smolwc_files* files, uint8_t spare) {
  files->logs->spare.store(spare != 0);
  return files->logs->spared.load();
}

uint8_t smolwc_files_in_doubt(const smolwc_files* files) { return files->logs->in_doubt.load(); }

void smolwc_enable_deletions(rocksdb_t* db) {
#if ROCKSDB_MAJOR < 9
  db->rep->EnableFileDeletions(false);
#else
  db->rep->EnableFileDeletions();
#endif
}

char* smolwc_files_recovering(smolwc_files* files) {
  std::string cause = files->logs->faults->Recovering();
  return cause.empty() ? nullptr : strdup(cause.c_str());
}

char* smolwc_files_begin_change(smolwc_files* files) {
  if (files->logs->in_doubt.load() && !files->logs->faults->Recovering().empty()) return message(NotNow());
  changes = true;
  return nullptr;
}

void smolwc_files_end_change(smolwc_files*) { changes = false; }

void smolwc_files_end_recovery(smolwc_files* files) { files->logs->faults->Close(std::chrono::seconds(10)); }

void smolwc_files_opened(smolwc_files* files, uint8_t synced) { files->logs->log_files->Open(synced != 0); }

char* smolwc_files_ready_log(smolwc_files* files, rocksdb_t* db) {
  smolwc::Logs* logs = files->logs->log_files.get();
  if (!logs->Failed() && !logs->Late()) return nullptr;
  // What could not be flushed for the same cause goes first.
  if (char* refusal = smolwc_files_recovering(files)) return refusal;
  IOStatus s = logs->Replace(db->rep);
  return message(s.ok() ? logs->Ready() : s);
}

char* smolwc_files_lasting(smolwc_files* files) {
  std::string text = files->logs->faults->Lasting();
  return text.empty() ? nullptr : strdup(text.c_str());
}

char* smolwc_files_list(smolwc_files* files, const char* dir, char** names, uint8_t* exists) {
  std::vector<std::string> found;
  *exists = 1;
  *names = nullptr;
  IOStatus s = files->logs->InPlace(dir);
  if (!s.ok()) return message(s);
  s = files->base()->GetChildren(dir, IOOptions(), &found, nullptr);
  *exists = !s.IsNotFound() && !s.IsPathNotFound();
  if (!*exists) return nullptr;
  if (!s.ok()) return message(s);
  std::string text;
  for (const auto& name : found) text += "\n" + name;
  *names = strdup(text.c_str());
  return nullptr;
}

char* smolwc_files_make_dir(smolwc_files* files, const char* dir) {
  IOStatus s = files->logs->InPlace(dir);
  return message(s.ok() ? files->base()->CreateDirIfMissing(dir, IOOptions(), nullptr) : s);
}

char* smolwc_files_remove_dir(smolwc_files* files, const char* dir) {
  IOStatus s = files->logs->InPlace(dir);
  return message(s.ok() ? files->base()->DeleteDir(dir, IOOptions(), nullptr) : s);
}

char* smolwc_files_read(smolwc_files* files, const char* path, uint64_t at, char* to, size_t n,
                        int64_t* got) {
  std::unique_ptr<rocksdb::FSRandomAccessFile> file;
  *got = -1;
  IOStatus s = files->logs->InPlace(path);
  if (!s.ok()) return message(s);
  s = files->base()->NewRandomAccessFile(path, rocksdb::FileOptions(), &file, nullptr);
  if (s.IsNotFound() || s.IsPathNotFound()) return nullptr;
  if (!s.ok()) return message(s);
  rocksdb::Slice read;
  s = file->Read(at, n, IOOptions(), &read, to, nullptr);
  if (!s.ok()) return message(s);
  if (read.data() != to) memmove(to, read.data(), read.size());
  *got = static_cast<int64_t>(read.size());
  return nullptr;
}

char* smolwc_files_modified(smolwc_files* files, const char* path, uint64_t* time) {
  return message(files->base()->GetFileModificationTime(path, IOOptions(), time, nullptr));
}

char* smolwc_files_remove(smolwc_files* files, const char* path) {
  IOStatus s = files->logs->InPlace(path);
  return message(s.ok() ? files->base()->DeleteFile(path, IOOptions(), nullptr) : s);
}

}  // extern "C"
