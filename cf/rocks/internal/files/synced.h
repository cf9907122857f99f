// How much of the logs and the manifest of a database is known to be on the disk.
#ifndef SMOLWC_SYNCED_H
#define SMOLWC_SYNCED_H

#include <rocksdb/file_system.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace smolwc {

// NameIn is the name of a file that lies in a directory itself, "" of others.
std::string NameIn(const std::string& dir, const std::string& path);

// Synced keeps the file SYNCED of a database: a line for each log and manifest, with
// its name and how many of its bytes are on the disk. The file never says more than
// that: it is written after the sync that it tells of, and a log is taken out of it
// before the log is removed. docs/decisions/0031-what-was-synced-is-written-down.md
class Synced : public std::enable_shared_from_this<Synced> {
 public:
  explicit Synced(const std::shared_ptr<rocksdb::FileSystem>& disk) : disk_(disk) {}

  // Begin has the file kept in a directory. It has this text now, "" if it is not there.
  void Begin(const std::string& dir, const std::string& text);
  // Claim takes over what the file says of a log or a manifest.
  void Claim(const std::string& name, uint64_t bytes);
  // Unchanged reports whether the file still has the text that Begin was told.
  bool Unchanged();

  // An error of place keeps the file as it is: the directory leads elsewhere. It is set
  // before RocksDB sees the database.
  std::function<rocksdb::IOStatus()> place;

  // Opened watches a new file, if it is a log or a manifest.
  void Opened(const std::string& path, std::unique_ptr<rocksdb::FSWritableFile>* file);
  // Removing takes a log, and those before it, out of the file for good.
  rocksdb::IOStatus Removing(const std::string& path);

  // An Entry is a log or a manifest.
  struct Entry {
    bool log;
    std::atomic<uint64_t> synced{0};
    uint64_t written = 0;  // what the file says; mutex_ is held
  };

  // Note is told that an entry has been synced. Of the log that is being written the
  // file needs to say nothing new with each write.
  void Note(Entry* entry);
  // Closed is told that nothing more is written to an entry.
  void Closed(Entry* entry);

 private:
  rocksdb::IOStatus Write();  // mutex_ is held

  const std::shared_ptr<rocksdb::FileSystem> disk_;
  std::string dir_, text_;

  std::atomic<Entry*> current_{nullptr};  // the newest log
  std::atomic<bool> due_{false};          // it has not been synced since it is the newest

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;
};

}  // namespace smolwc

#endif
