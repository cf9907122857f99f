// The errors of RocksDB's background work.
#ifndef SMOLWC_FAULTS_HH
#define SMOLWC_FAULTS_HH

#include <rocksdb/listener.h>
#include <rocksdb/version.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>

namespace smolwc {

// Faults notes lasting errors, and whether RocksDB is retrying after a temporary one.
class Faults : public rocksdb::EventListener {
 public:
  void OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* s) override;
  void OnErrorRecoveryEnd(const rocksdb::BackgroundErrorRecoveryInfo&) override;

  // Tried is told by a thread that lists the directory. When RocksDB tries to recover,
  // it does so after it has flushed, and before it takes writes again.
  void Tried();

  // Lasting is the error after which the database must be opened again, "" without
  // such an error.
  std::string Lasting();
  // Recovering is the error that RocksDB tries to recover from, "" without one.
  std::string Recovering();
  // Close waits until RocksDB does not try again. From then on no error makes it try.
  void Close(std::chrono::seconds most);

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  std::string lasting_, last_;
  uint64_t errors_ = 0;
  bool recovering_ = false, closing_ = false;
};

// The errors that there were when this thread listed the directory last.
static thread_local uint64_t tried = 0;

#if ROCKSDB_MAJOR < 9
// The error of a log that this thread's flush has told once, "" without one.
static thread_local std::string told;
#endif

void Faults::OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* s) {
  std::lock_guard<std::mutex> lock(mutex_);
#if ROCKSDB_MAJOR < 9
  // A flush that cannot sync a log tells it twice. The first time begins the recovery. If
  // that one clears the errors while this is called for the second time, RocksDB takes the
  // old error for one of the recovery, and gives it up for good. So the second is taken back.
  if (reason == rocksdb::BackgroundErrorReason::kFlush) {
    if (recovering_ && told == s->ToString()) {
      told.clear();
      *s = rocksdb::Status::OK();
      return;
    }
    told = s->ToString();
  }
#endif
  if (closing_) {
    *s = rocksdb::Status::OK();  // RocksDB 7.8 would wait for a recovery that it has given up
    return;
  }
  last_ = s->ToString();
  if (s->severity() >= rocksdb::Status::Severity::kFatalError) {
    if (lasting_.empty()) lasting_ = last_;
  } else if (reason != rocksdb::BackgroundErrorReason::kCompaction) {
    recovering_ = true;
    errors_++;
  }
}

void Faults::Tried() {
  std::lock_guard<std::mutex> lock(mutex_);
  tried = errors_;
}

// RocksDB tells of the end after it has taken writes again, and version 7.8 twice. An
// error that has come since begins another recovery, of another thread.
void Faults::OnErrorRecoveryEnd(const rocksdb::BackgroundErrorRecoveryInfo& info) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (info.new_bg_error.ok() && tried != errors_) return;
  recovering_ = false;
  ended_.notify_all();
}

std::string Faults::Lasting() {
  std::lock_guard<std::mutex> lock(mutex_);
  return lasting_;
}

std::string Faults::Recovering() {
  std::lock_guard<std::mutex> lock(mutex_);
  return recovering_ ? last_ : "";
}

void Faults::Close(std::chrono::seconds most) {
  std::unique_lock<std::mutex> lock(mutex_);
  closing_ = true;
  ended_.wait_for(lock, most, [this] { return !recovering_; });
}

}  // namespace smolwc

#endif
