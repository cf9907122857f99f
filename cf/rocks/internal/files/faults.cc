#include "faults.h"

namespace smolwc {

// The errors that there were when this thread listed the directory last.
static thread_local uint64_t tried = 0;

void Faults::OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* s) {
  std::lock_guard<std::mutex> lock(mutex_);
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
