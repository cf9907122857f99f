// The structs behind the handles of RocksDB's C interface. They give access to the C++
// interface where the C interface lacks something. c.h hides these structs;
// cf/rocks/README.md lists the tests that fail when one of them changes.

#ifndef SMOLWC_HANDLES_H
#define SMOLWC_HANDLES_H

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/iterator.h>
#include <rocksdb/options.h>
#include <rocksdb/version.h>

#include <memory>

static_assert(ROCKSDB_MAJOR > 7 || (ROCKSDB_MAJOR == 7 && ROCKSDB_MINOR >= 8), "smolwc needs RocksDB 7.8 or later");
static_assert(ROCKSDB_MAJOR <= 11, "compare handles.h with db/c.cc of this RocksDB, then raise the number");

// These structs are as in db/c.cc of all versions from 7.8 to 11. Some versions have
// further fields.
struct rocksdb_t {
  rocksdb::DB* rep;
};
struct rocksdb_column_family_handle_t {
  rocksdb::ColumnFamilyHandle* rep;
};
struct rocksdb_iterator_t {
  rocksdb::Iterator* rep;
};
struct rocksdb_options_t {
  rocksdb::Options rep;
};
struct rocksdb_writeoptions_t {
  rocksdb::WriteOptions rep;
};
struct rocksdb_cache_t {
  std::shared_ptr<rocksdb::Cache> rep;
};

// This package also makes values of these two structs; RocksDB copies their content.
struct rocksdb_env_t {
  rocksdb::Env* rep;
  bool is_default;
};
struct rocksdb_logger_t {
  std::shared_ptr<rocksdb::Logger> rep;
};

#endif
