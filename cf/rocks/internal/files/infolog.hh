// RocksDB's C interface can set a logger, but before version 8 it cannot make one.
#ifndef SMOLWC_INFOLOG_HH
#define SMOLWC_INFOLOG_HH

#include "infolog.h"
#include "../native/handles.h"

#include <fcntl.h>
#include <rocksdb/env.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <string>

namespace {

// A FileLogger writes each line at once and drops lines that it cannot write. RocksDB's
// own logger, after a line did not fit on a full disk, ends the process at the next
// line if the library was built with assertions, as Debian's is.
//
// Headers, the options of each family, wait for the next line: an open of many families
// has thousands of them.
class FileLogger : public rocksdb::Logger {
 public:
  explicit FileLogger(int fd) : fd_(fd) {}
  ~FileLogger() override {
    if (fd_ < 0) return;
    Flush();
    close(fd_);
  }

  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list args) override {
    std::lock_guard<std::mutex> lock(mu_);
    Add(format, args);
    Write();
  }

  void LogHeader(const char* format, va_list args) override {
    std::lock_guard<std::mutex> lock(mu_);
    Add(format, args);
    if (waiting_.size() > kMostWaiting) Write();
  }

  void Flush() override {
    std::lock_guard<std::mutex> lock(mu_);
    Write();
  }

 private:
  static constexpr size_t kMostWaiting = 64 << 10;

  // Add adds a line; mu_ is held.
  void Add(const char* format, va_list args) {
    if (fd_ < 0) return;
    char line[4096];
    struct timeval now;
    gettimeofday(&now, nullptr);
    struct tm t;
    localtime_r(&now.tv_sec, &t);
    int n = snprintf(line, sizeof line, "%04d/%02d/%02d-%02d:%02d:%02d.%06d ", t.tm_year + 1900, t.tm_mon + 1,
                     t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, static_cast<int>(now.tv_usec));
    int text = vsnprintf(line + n, sizeof line - n - 1, format, args);
    if (text < 0) return;
    n += text;
    if (n > static_cast<int>(sizeof line) - 2) n = sizeof line - 2;
    if (line[n - 1] != '\n') line[n++] = '\n';
    waiting_.append(line, n);
  }

  // Write writes the lines that wait; mu_ is held.
  void Write() {
    if (waiting_.empty()) return;
    ssize_t written = write(fd_, waiting_.data(), waiting_.size());
    (void)written;  // there is no place to report a failure
    waiting_.clear();
  }

  const int fd_;
  std::mutex mu_;
  std::string waiting_;
};

}  // namespace

extern "C" void smolwc_set_info_log(rocksdb_options_t* options, const char* path) {
  int fd = *path == 0 ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  rocksdb_logger_t logger{std::make_shared<FileLogger>(fd)};
  rocksdb_options_set_info_log(options, &logger);
}

#endif
