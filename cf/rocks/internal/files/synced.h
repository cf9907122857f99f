// Keeps record of the bytes of a database's logs and manifest that are on the disk.
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
// its name and how many of its bytes are on the disk. The file never claims too many
// bytes: it is written after the sync, and a log is taken out of it before the log is
// removed. See docs/decisions/0031-what-was-synced-is-written-down.md.
class Synced : public std::enable_shared_from_this<Synced> {
 public:
  explicit Synced(const std::shared_ptr<rocksdb::FileSystem>& disk) : disk_(disk) {}

  // Begin keeps the file in a directory up to date from now on. text is its current
  // text, "" if there is no file.
  void Begin(const std::string& dir, const std::string& text);
  // Claim sets the synced length of a log or a manifest, from the file.
  void Claim(const std::string& name, uint64_t bytes);
  // Unchanged reports whether the file still has the text that was passed to Begin.
  bool Unchanged();

  // While place returns an error, because the directory leads elsewhere, the file is
  // not written. place is set before RocksDB sees the database.
  std::function<rocksdb::IOStatus()> place;

  // Opened wraps a new file to watch it, if it is a log or a manifest.
  void Opened(const std::string& path, std::unique_ptr<rocksdb::FSWritableFile>* file);
  // Removing takes a log and all earlier logs out of the file, durably.
  rocksdb::IOStatus Removing(const std::string& path);

  // An Entry is a log or a manifest.
  struct Entry {
    bool log;
    std::atomic<uint64_t> synced{0};
    uint64_t written = 0;  // bytes according to the file; guarded by mutex_
  };

  // Note is called after an entry has been synced. It does not write the file for each
  // sync of the current log.
  void Note(Entry* entry);
  // Closed notes that nothing more is written to an entry.
  void Closed(Entry* entry);

 private:
  rocksdb::IOStatus Write();  // the caller holds mutex_

  const std::shared_ptr<rocksdb::FileSystem> disk_;
  std::string dir_, text_;

  std::atomic<Entry*> current_{nullptr};  // the newest log
  std::atomic<bool> due_{false};          // it has not been synced since it became the newest

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;
};

}  // namespace smolwc

#endif
