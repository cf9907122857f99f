// How many bytes of the logs and the manifest of a database are known to be on the
// disk.
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

// NameIn is the name of a file directly in a directory, "" for any other file.
std::string NameIn(const std::string& dir, const std::string& path);

// Synced keeps the file SYNCED of a database: a line for each log and manifest, with
// its name and how many of its bytes are on the disk. The file never says more than
// that: it is written after the sync that it tells of, and a log is taken out of it
// before the log is removed. docs/decisions/0031-what-was-synced-is-written-down.md
class Synced : public std::enable_shared_from_this<Synced> {
 public:
  explicit Synced(const std::shared_ptr<rocksdb::FileSystem>& disk) : disk_(disk) {}

  // Begin keeps the file in a directory up to date from now on. text is its current
  // text, "" if there is no file.
  void Begin(const std::string& dir, const std::string& text);
  // Claim takes over the length that the file has of a log or a manifest.
  void Claim(const std::string& name, uint64_t bytes);
  // Unchanged reports whether the file still has the text that Begin was told.
  bool Unchanged();

  // While place returns an error the file is not written: the directory leads
  // elsewhere. place is set before RocksDB sees the database.
  std::function<rocksdb::IOStatus()> place;

  // Opened watches a new file, if it is a log or a manifest.
  void Opened(const std::string& path, std::unique_ptr<rocksdb::FSWritableFile>* file);
  // Removing removes a log, and those before it, from the file for good.
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
  // Closed notes that nothing more is written to an entry.
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
