// Keeps record of the bytes of a database's logs and manifest that are on the disk.
#ifndef SMOLWC_SYNCED_HH
#define SMOLWC_SYNCED_HH

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <stdio.h>

#include <algorithm>
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
  // Unchanged fails unless the file still has the text that was passed to Begin.
  rocksdb::IOStatus Unchanged();

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

namespace {

using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

const char kFile[] = "/SYNCED";

bool IsLog(const std::string& name) { return name.ends_with(".log"); }
bool IsManifest(const std::string& name) { return name.starts_with("MANIFEST-"); }

// Before compares the names of logs by their numbers, which have six digits or more.
bool Before(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

// Sum is the FNV-1a hash of a text.
uint64_t Sum(const std::string& text) {
  uint64_t h = 14695981039346656037u;
  for (unsigned char c : text) h = (h ^ c) * 1099511628211u;
  return h;
}

// A WatchedFile counts the bytes that are appended, and reports to Synced how many are
// synced.
class WatchedFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  WatchedFile(std::unique_ptr<FSWritableFile>&& file, std::shared_ptr<Synced> owner,
              std::shared_ptr<Synced::Entry> entry)
      : FSWritableFileOwnerWrapper(std::move(file)), owner_(owner), entry_(entry) {}

  IOStatus Append(const Slice& data, const IOOptions& o, IODebugContext* d) override {
    return Count(data, FSWritableFileOwnerWrapper::Append(data, o, d));
  }
  IOStatus Append(const Slice& data, const IOOptions& o, const rocksdb::DataVerificationInfo& v,
                  IODebugContext* d) override {
    return Count(data, FSWritableFileOwnerWrapper::Append(data, o, v, d));
  }
  IOStatus Sync(const IOOptions& o, IODebugContext* d) override {
    uint64_t size = appended_.load();
    return Tell(size, FSWritableFileOwnerWrapper::Sync(o, d));
  }
  IOStatus Fsync(const IOOptions& o, IODebugContext* d) override {
    uint64_t size = appended_.load();
    return Tell(size, FSWritableFileOwnerWrapper::Fsync(o, d));
  }
  IOStatus Truncate(uint64_t size, const IOOptions& o, IODebugContext* d) override {
    IOStatus s = FSWritableFileOwnerWrapper::Truncate(size, o, d);
    if (s.ok()) appended_.store(size);
    return s;
  }
  IOStatus Close(const IOOptions& o, IODebugContext* d) override {
    IOStatus s = FSWritableFileOwnerWrapper::Close(o, d);
    if (s.ok()) owner_->Closed(entry_.get());
    return s;
  }

 private:
  IOStatus Count(const Slice& data, IOStatus s) {
    if (s.ok()) appended_.fetch_add(data.size());
    return s;
  }

  IOStatus Tell(uint64_t size, IOStatus s) {
    if (!s.ok()) return s;
    if (size > entry_->synced.load()) entry_->synced.store(size);
    owner_->Note(entry_.get());
    return s;
  }

  const std::shared_ptr<Synced> owner_;
  const std::shared_ptr<Synced::Entry> entry_;
  std::atomic<uint64_t> appended_{0};
};

}  // namespace

std::string NameIn(const std::string& dir, const std::string& path) {
  size_t end = dir.find_last_not_of('/') + 1;
  if (dir.empty() || path.compare(0, end, dir, 0, end) != 0 || path[end] != '/') return "";
  std::string name = path.substr(path.find_first_not_of('/', end));
  return name.find('/') == std::string::npos ? name : "";
}

void Synced::Begin(const std::string& dir, const std::string& text) {
  dir_ = dir;
  text_ = text;
}

void Synced::Claim(const std::string& name, uint64_t bytes) {
  auto entry = std::make_shared<Entry>();
  entry->log = IsLog(name);
  entry->synced.store(bytes);
  entry->written = bytes;
  entries_[name] = entry;
}

IOStatus Synced::Unchanged() {
  if (dir_.empty()) return IOStatus::OK();
  std::string now;
  IOStatus s = ReadFileToString(disk_.get(), dir_ + kFile, &now);
  if (!s.ok() && !s.IsNotFound() && !s.IsPathNotFound()) return s;
  if (now == text_) return IOStatus::OK();
  return IOStatus::IOError("While lock file: another process had the database open a moment ago; try again", dir_);
}

void Synced::Opened(const std::string& path, std::unique_ptr<FSWritableFile>* file) {
  std::string name = NameIn(dir_, path);
  if (!IsLog(name) && !IsManifest(name)) return;
  auto entry = std::make_shared<Entry>();
  entry->log = IsLog(name);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    entries_[name] = entry;
    if (entry->log) {
      current_.store(entry.get());
      due_.store(true);
    }
  }
  *file = std::make_unique<WatchedFile>(std::move(*file), shared_from_this(), entry);
}

void Synced::Note(Entry* entry) {
  bool current = entry == current_.load();
  if (current && !due_.load()) return;
  std::lock_guard<std::mutex> lock(mutex_);
  if (!current) {
    if (entry->synced.load() > entry->written) Write();
    return;
  }
  bool behind = false;
  for (const auto& e : entries_) behind |= e.second.get() != entry && e.second->synced.load() > e.second->written;
  if (!behind || Write().ok()) due_.store(false);
}

void Synced::Closed(Entry* entry) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (entry->synced.load() > entry->written) Write();
}

IOStatus Synced::Removing(const std::string& path) {
  std::string name = NameIn(dir_, path);
  std::lock_guard<std::mutex> lock(mutex_);
  if (IsManifest(name)) entries_.erase(name);  // its length in SYNCED does not matter
  if (!IsLog(name)) return IOStatus::OK();
  bool said = false;
  for (auto e = entries_.begin(); e != entries_.end();) {
    if (!e->second->log || Before(name, e->first)) {
      e++;
      continue;
    }
    said |= e->second->written > 0;
    e = entries_.erase(e);
  }
  if (!said) return IOStatus::OK();
  // On a full disk a file can still be removed.
  if (!Write().ok()) {
    IOStatus s = disk_->DeleteFile(dir_ + kFile, IOOptions(), nullptr);
    if (!s.ok() && !s.IsNotFound() && !s.IsPathNotFound()) return s;
    for (const auto& e : entries_) e.second->written = 0;
  }
  std::unique_ptr<rocksdb::FSDirectory> dir;
  IOStatus s = disk_->NewDirectory(dir_, IOOptions(), &dir, nullptr);
  return s.ok() ? dir->Fsync(IOOptions(), nullptr) : s;
}

IOStatus Synced::Write() {
  IOStatus s = place ? place() : IOStatus::OK();
  if (!s.ok()) return s;
  std::string text = "smolwc synced 1\n";
  std::map<Entry*, uint64_t> says;
  for (const auto& [name, entry] : entries_) {
    uint64_t bytes = says[entry.get()] = entry->synced.load();
    if (bytes > 0) text += name + " " + std::to_string(bytes) + "\n";
  }
  char sum[32];
  snprintf(sum, sizeof sum, "sum %016llx\n", static_cast<unsigned long long>(Sum(text)));
  text += sum;
  const std::string path = dir_ + kFile, next = path + ".tmp";
  s = WriteStringToFile(disk_.get(), text, next, true);
  if (s.ok()) s = disk_->RenameFile(next, path, IOOptions(), nullptr);
  if (!s.ok()) {
    disk_->DeleteFile(next, IOOptions(), nullptr).PermitUncheckedError();
    return s;
  }
  for (const auto& [entry, bytes] : says) entry->written = bytes;
  return s;
}

}  // namespace smolwc

#endif
