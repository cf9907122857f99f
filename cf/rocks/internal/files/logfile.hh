// The file of a log that RocksDB writes, on a disk that may fail.
#ifndef SMOLWC_LOGFILE_HH
#define SMOLWC_LOGFILE_HH

#include <rocksdb/db.h>
#include <rocksdb/file_system.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace smolwc {

// A LogMaker makes the file of a log. A late one is made after RocksDB may have synced
// the directory for it.
using LogMaker = std::function<rocksdb::IOStatus(std::unique_ptr<rocksdb::FSWritableFile>*, bool late)>;

class LateFile;
class LogFile;

// Logs are the logs that RocksDB writes. A log takes nothing more after its first error,
// and the next write has RocksDB begin another one. RocksDB itself would begin another
// one only if something were in memory, and would otherwise write to the failed one
// again: where it was built with assertions, that ends the process.
// docs/decisions/0038-faults-of-a-disk-pass.md
class Logs {
 public:
  // Failed reports whether the newest log has failed.
  bool Failed() const { return failed_.load(); }
  // Replace makes RocksDB begin another log if the newest one has failed, and otherwise
  // returns the error of the newest one.
  rocksdb::IOStatus Replace(rocksdb::DB* db);

  // Late reports whether the newest log is not there yet.
  bool Late() const { return late_.load() != nullptr; }
  // Ready makes the file of the newest log if it could not be made before.
  rocksdb::IOStatus Ready();

  // Cut cuts failed logs behind the last write that succeeded, and syncs them. A write
  // whose sync failed is not in memory, and may be whole in the log: RocksDB would replay
  // it in some families alone, once its manifest says that the others do not need the
  // log. So the manifest takes nothing before Cut succeeds.
  rocksdb::IOStatus Cut();

  // Open says that the database is open, and whether each write is synced.
  void Open(bool synced);
  bool IsOpen() const { return open_.load(); }

 private:
  friend class LateFile;
  friend class LogFile;

  std::string Text();

  std::atomic<bool> open_{false}, synced_{false};
  std::atomic<uint64_t> newest_{0};  // the number of the newest log
  std::atomic<bool> failed_{false};
  std::atomic<LateFile*> late_{nullptr};
  std::mutex late_mutex_;

  std::mutex replacing_;
  std::chrono::steady_clock::time_point replaced_;  // the last time; replacing_ is held

  std::mutex mutex_;  // of the following
  std::string text_;
  std::set<LogFile*> uncut_;
};

// MakeLog makes the file of another log. It never fails: RocksDB takes up the switch from
// one log to another only once for each memtable. A file that could not be made is made
// by Logs::Ready, or by the first append.
std::unique_ptr<rocksdb::FSWritableFile> MakeLog(LogMaker make, const std::shared_ptr<Logs>& logs);

// WatchLog is the file of the first log.
std::unique_ptr<rocksdb::FSWritableFile> WatchLog(std::unique_ptr<rocksdb::FSWritableFile> file,
                                                  const std::shared_ptr<Logs>& logs);

using rocksdb::DataVerificationInfo;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

// A LateFile could not be made yet. Until it is, it has nothing that could be synced.
class LateFile : public FSWritableFile {
 public:
  LateFile(LogMaker make, const std::shared_ptr<Logs>& logs) : make_(std::move(make)), logs_(logs) {
    std::lock_guard<std::mutex> lock(logs_->late_mutex_);
    logs_->late_.store(this);
  }
  ~LateFile() override {
    std::lock_guard<std::mutex> lock(logs_->late_mutex_);
    LateFile* self = this;
    logs_->late_.compare_exchange_strong(self, nullptr);
  }

  // Make makes the file if it is not there; late_mutex_ is held.
  IOStatus Make() {
    if (made_.load() != nullptr) return IOStatus::OK();
    IOStatus s = make_(&file_, true);
    if (!s.ok()) return s;
    made_.store(file_.get());
    LateFile* self = this;
    logs_->late_.compare_exchange_strong(self, nullptr);
    return s;
  }

  IOStatus Append(const Slice& data, const IOOptions& o, IODebugContext* d) override {
    if (made_.load() == nullptr) {
      std::lock_guard<std::mutex> lock(logs_->late_mutex_);
      IOStatus s = Make();
      if (!s.ok()) return s;
    }
    return made_.load()->Append(data, o, d);
  }
  IOStatus Append(const Slice& data, const IOOptions& o, const DataVerificationInfo&,
                  IODebugContext* d) override {
    return Append(data, o, d);
  }
  IOStatus Flush(const IOOptions& o, IODebugContext* d) override {
    FSWritableFile* file = made_.load();
    return file ? file->Flush(o, d) : IOStatus::OK();
  }
  IOStatus Sync(const IOOptions& o, IODebugContext* d) override {
    FSWritableFile* file = made_.load();
    return file ? file->Sync(o, d) : IOStatus::OK();
  }
  IOStatus Fsync(const IOOptions& o, IODebugContext* d) override {
    FSWritableFile* file = made_.load();
    return file ? file->Fsync(o, d) : IOStatus::OK();
  }
  IOStatus Close(const IOOptions& o, IODebugContext* d) override {
    FSWritableFile* file = made_.load();
    return file ? file->Close(o, d) : IOStatus::OK();
  }
  IOStatus Truncate(uint64_t size, const IOOptions& o, IODebugContext* d) override {
    FSWritableFile* file = made_.load();
    return file ? file->Truncate(size, o, d) : IOStatus::OK();
  }
  uint64_t GetFileSize(const IOOptions& o, IODebugContext* d) override {
    FSWritableFile* file = made_.load();
    return file ? file->GetFileSize(o, d) : 0;
  }
  bool IsSyncThreadSafe() const override { return true; }
  void PrepareWrite(size_t, size_t, const IOOptions&, IODebugContext*) override {}

 private:
  const LogMaker make_;
  const std::shared_ptr<Logs> logs_;
  std::unique_ptr<FSWritableFile> file_;
  std::atomic<FSWritableFile*> made_{nullptr};  // file_, once it is there
};

// A LogFile takes nothing after its first error. RocksDB is told that it is busy: then
// RocksDB refuses the write, and knows of no error that it would have to recover from.
class LogFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  LogFile(std::unique_ptr<FSWritableFile>&& file, const std::shared_ptr<Logs>& logs)
      : FSWritableFileOwnerWrapper(std::move(file)), logs_(logs), number_(Number()) {
    logs_->newest_.store(number_);
    logs_->failed_.store(false);
  }
  ~LogFile() override {
    std::lock_guard<std::mutex> lock(logs_->mutex_);
    logs_->uncut_.erase(this);
  }

  IOStatus Append(const Slice& data, const IOOptions& o, IODebugContext* d) override {
    return failed_.load() ? Refused() : Appended(data.size(), target()->Append(data, o, d));
  }
  IOStatus Append(const Slice& data, const IOOptions& o, const DataVerificationInfo& v,
                  IODebugContext* d) override {
    return failed_.load() ? Refused() : Appended(data.size(), target()->Append(data, o, v, d));
  }
  IOStatus Flush(const IOOptions& o, IODebugContext* d) override {
    return failed_.load() ? IOStatus::OK() : Note(target()->Flush(o, d));
  }
  // RangeSync promises nothing. After an error the write that was appended counts, and
  // the next sync fails.
  IOStatus RangeSync(uint64_t at, uint64_t n, const IOOptions& o, IODebugContext* d) override {
    if (!failed_.load()) Note(target()->RangeSync(at, n, o, d)).PermitUncheckedError();
    return IOStatus::OK();
  }
  IOStatus Sync(const IOOptions& o, IODebugContext* d) override {
    uint64_t size = appended_.load();
    return failed_.load() ? SyncFailed() : Synced(size, target()->Sync(o, d));
  }
  IOStatus Fsync(const IOOptions& o, IODebugContext* d) override {
    uint64_t size = appended_.load();
    return failed_.load() ? SyncFailed() : Synced(size, target()->Fsync(o, d));
  }
  IOStatus Close(const IOOptions& o, IODebugContext* d) override {
    std::lock_guard<std::mutex> lock(logs_->mutex_);
    logs_->uncut_.erase(this);
    return target()->Close(o, d);
  }

  // Cut ends the file behind the last write that succeeded, and syncs it; Logs::mutex_ is
  // held.
  IOStatus Cut() {
    uint64_t size = logs_->synced_.load() ? synced_.load() : appended_.load();
    IOStatus s = target()->Truncate(size, IOOptions(), nullptr);
    return s.ok() ? target()->Sync(IOOptions(), nullptr) : s;
  }

 private:
  static uint64_t Number() {
    static std::atomic<uint64_t> last{0};
    return ++last;
  }

  IOStatus Appended(uint64_t n, IOStatus s) {
    if (s.ok()) appended_.fetch_add(n);
    return Note(std::move(s));
  }

  IOStatus Synced(uint64_t size, IOStatus s) {
    if (s.ok()) synced_.store(size);
    return Note(std::move(s));
  }

  bool Newest() const { return logs_->newest_.load() == number_; }

  IOStatus Note(IOStatus s) {
    if (s.ok()) return s;
    std::lock_guard<std::mutex> lock(logs_->mutex_);
    failed_.store(true);
    logs_->uncut_.insert(this);
    if (!Newest() || !logs_->open_.load()) return s;
    logs_->text_ = s.ToString();
    logs_->failed_.store(true);
    return IOStatus::Busy(logs_->text_);
  }

  IOStatus Refused() { return IOStatus::Busy(logs_->Text()); }

  IOStatus SyncFailed() { return Newest() ? Refused() : logs_->Cut(); }

  const std::shared_ptr<Logs> logs_;
  const uint64_t number_;
  std::atomic<bool> failed_{false};
  std::atomic<uint64_t> appended_{0}, synced_{0};
};

void Logs::Open(bool synced) {
  synced_.store(synced);
  open_.store(true);
}

std::string Logs::Text() {
  std::lock_guard<std::mutex> lock(mutex_);
  return text_;
}

// RocksDB begins another log, with or without anything in memory, when the option
// wal_bytes_per_sync changes. It does not while it still flushes for an earlier change. It
// writes its options down each time, so a log that fails right away waits for a second.
IOStatus Logs::Replace(rocksdb::DB* db) {
  std::lock_guard<std::mutex> lock(replacing_);
  if (!Failed()) return IOStatus::OK();
  auto now = std::chrono::steady_clock::now();
  if (now - replaced_ < std::chrono::seconds(1)) return IOStatus::Busy(Text());
  replaced_ = now;
  uint64_t bytes = db->GetDBOptions().wal_bytes_per_sync ^ 1;
  db->SetDBOptions({{"wal_bytes_per_sync", std::to_string(bytes)}}).PermitUncheckedError();
  return Failed() ? IOStatus::Busy(Text()) : IOStatus::OK();
}

IOStatus Logs::Ready() {
  std::lock_guard<std::mutex> lock(late_mutex_);
  LateFile* late = late_.load();
  return late ? late->Make() : IOStatus::OK();
}

IOStatus Logs::Cut() {
  std::lock_guard<std::mutex> lock(mutex_);
  while (!uncut_.empty()) {
    IOStatus s = (*uncut_.begin())->Cut();
    if (!s.ok()) return s;
    uncut_.erase(uncut_.begin());
  }
  return IOStatus::OK();
}

std::unique_ptr<FSWritableFile> MakeLog(LogMaker make, const std::shared_ptr<Logs>& logs) {
  std::unique_ptr<FSWritableFile> file;
  if (!make(&file, false).ok()) file = std::make_unique<LateFile>(std::move(make), logs);
  return WatchLog(std::move(file), logs);
}

std::unique_ptr<FSWritableFile> WatchLog(std::unique_ptr<FSWritableFile> file, const std::shared_ptr<Logs>& logs) {
  return std::make_unique<LogFile>(std::move(file), logs);
}

}  // namespace smolwc

#endif
