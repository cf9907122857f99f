// The errors of RocksDB's background work.
#ifndef SMOLWC_FAULTS_H
#define SMOLWC_FAULTS_H

#include <rocksdb/listener.h>

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

}  // namespace smolwc

#endif
