#include "write.h"

char* smolwc_write(smolwc_files* files, rocksdb_t* db, const rocksdb_writeoptions_t* options,
                   const char* rep, size_t len, uint64_t* sequence) {
  char* err = smolwc_files_ready_log(files, db);
  if (err != NULL) return err;
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create_from(rep, len);
  // The engine's counters of a thread cost some percent of a write, and are on by default.
  rocksdb_set_perf_level(rocksdb_disable);
  rocksdb_write(db, options, batch, &err);
  rocksdb_set_perf_level(rocksdb_enable_count);
  rocksdb_writebatch_destroy(batch);
  *sequence = rocksdb_get_latest_sequence_number(db);
  return err;
}
