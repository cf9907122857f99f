//go:build cgo && linux && !norocksdb

// Functions of RocksDB, from 7.8 to 11, that its C interface lacks.

#include "verify.h"
#include "../native/handles.h"

#include <rocksdb/db.h>
#include <rocksdb/metadata.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>
#include <stdlib.h>
#include <string.h>

#include <string>

namespace {

char* message(const rocksdb::Status& s) { return s.ok() ? nullptr : strdup(s.ToString().c_str()); }

}  // namespace

extern "C" char* smolwc_verify_table(const rocksdb_options_t* options, const char* path, uint8_t all) {
  rocksdb::SstFileReader reader(options->rep);
  rocksdb::Status s = reader.Open(path);
  if (!s.ok() || !all) return message(s);
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  return message(reader.VerifyChecksum(read));
}

extern "C" size_t smolwc_blob_files(rocksdb_t* db, rocksdb_column_family_handle_t* family, smolwc_blob_file** list) {
  rocksdb::ColumnFamilyMetaData meta;
  db->rep->GetColumnFamilyMetaData(family->rep, &meta);
  size_t n = meta.blob_files.size();
  *list = n == 0 ? nullptr : static_cast<smolwc_blob_file*>(calloc(n, sizeof(smolwc_blob_file)));
  if (*list == nullptr) return 0;
  for (size_t i = 0; i < n; i++) {
    (*list)[i].number = meta.blob_files[i].blob_file_number;
    (*list)[i].bytes = meta.blob_files[i].blob_file_size;
  }
  return n;
}
