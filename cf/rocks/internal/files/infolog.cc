// RocksDB's C interface can set a logger, but before version 8 it cannot make one.

#include "infolog.h"
#include "../native/handles.h"

#include <fcntl.h>
#include <rocksdb/env.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <memory>

namespace {

// A FileLogger writes each line at once and drops lines that it cannot write. RocksDB's
// own logger, after a line did not fit on a full disk, ends the process at the next
// line if the library was built with assertions, as Debian's is.
class FileLogger : public rocksdb::Logger {
 public:
  explicit FileLogger(int fd) : fd_(fd) {}
  ~FileLogger() override {
    if (fd_ >= 0) close(fd_);
  }

  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list args) override {
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
    if (write(fd_, line, n) < 0) return;  // there is no place to report it
  }

 private:
  const int fd_;
};

}  // namespace

extern "C" void smolwc_set_info_log(rocksdb_options_t* options, const char* path) {
  int fd = *path == 0 ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  rocksdb_logger_t logger{std::make_shared<FileLogger>(fd)};
  rocksdb_options_set_info_log(options, &logger);
}
