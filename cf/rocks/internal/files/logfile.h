// The file of a log that RocksDB writes, on a disk that may fail.
#ifndef SMOLWC_LOGFILE_H
#define SMOLWC_LOGFILE_H

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

}  // namespace smolwc

#endif
