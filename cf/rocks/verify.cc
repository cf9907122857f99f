// What RocksDB can do and its C interface cannot, in all versions from 7.8 to 11.

#include "verify.h"

#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>
#include <string.h>

#include <string>

// As in RocksDB's c.cc, in all versions from 7.8 to 11.
struct rocksdb_options_t {
  rocksdb::Options rep;
};

namespace {

char* message(const rocksdb::Status& s) { return s.ok() ? nullptr : strdup(s.ToString().c_str()); }

}  // namespace

extern "C" char* smolwc_verify_table(const rocksdb_options_t* options, const char* path) {
  rocksdb::SstFileReader reader(options->rep);
  rocksdb::Status s = reader.Open(path);
  if (!s.ok()) return message(s);
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  return message(reader.VerifyChecksum(read));
}
