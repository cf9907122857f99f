//go:build cgo && linux && !norocksdb

// What RocksDB's C interface lacks: refreshing an iterator (it has that from version 9
// on), where an iterator stopped and how it goes on below an overlay, and estimating sizes
// with memtables.
//
// This is the package's only C++ file; as in ../files, another part is a header.

#include "kept.h"
#include "../native/handles.h"
#include "cache.hh"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

int smolwc_iterator_refresh(rocksdb_iterator_t* it) { return it->rep->Refresh().ok(); }

static const char* const stopped_at = "rocksdb.iterator.internal-key";

char* smolwc_iterator_stopped(rocksdb_iterator_t* it, size_t* len) {
  std::string key;
  if (!it->rep->status().IsIncomplete() || !it->rep->GetProperty(stopped_at, &key).ok()) return nullptr;
  char* copy = static_cast<char*>(malloc(key.size() + 1));
  if (copy != nullptr) memcpy(copy, key.data(), key.size());
  *len = key.size();
  return copy;
}

namespace {

// An iterator below an overlay goes on by itself when it stopped, since the one above
// could not, unless *left is set.
class Below final : public rocksdb::Iterator {
 public:
  Below(rocksdb::Iterator* it, const uint8_t* left) : it_(it), left_(left) {}

  bool Valid() const override { return it_->Valid(); }
  rocksdb::Slice key() const override { return it_->key(); }
  rocksdb::Slice value() const override { return it_->value(); }
  const rocksdb::WideColumns& columns() const override { return it_->columns(); }
  rocksdb::Status status() const override { return it_->status(); }

  void Seek(const rocksdb::Slice& target) override {
    it_->Seek(target);
    GoOn(&rocksdb::Iterator::Seek);
  }
  void SeekForPrev(const rocksdb::Slice& target) override {
    it_->SeekForPrev(target);
    GoOn(&rocksdb::Iterator::SeekForPrev);
  }
  void SeekToFirst() override {
    it_->SeekToFirst();
    GoOn(&rocksdb::Iterator::Seek);
  }
  void SeekToLast() override {
    it_->SeekToLast();
    GoOn(&rocksdb::Iterator::SeekForPrev);
  }
  void Next() override {
    it_->Next();
    GoOn(&rocksdb::Iterator::Seek);
  }
  void Prev() override {
    it_->Prev();
    GoOn(&rocksdb::Iterator::SeekForPrev);
  }

 private:
  void GoOn(void (rocksdb::Iterator::*seek)(const rocksdb::Slice&)) {
    std::string key;
    while (!it_->Valid() && it_->status().IsIncomplete() && !__atomic_load_n(left_, __ATOMIC_RELAXED) && it_->GetProperty(stopped_at, &key).ok())
      (it_.get()->*seek)(key);
  }

  std::unique_ptr<rocksdb::Iterator> it_;
  const uint8_t* left_;
};

}  // namespace

void smolwc_iterator_below(rocksdb_iterator_t* it, const uint8_t* left) { it->rep = new Below(it->rep, left); }

uint64_t smolwc_size(rocksdb_t* db, rocksdb_column_family_handle_t* family, const char* start,
                                size_t start_len, const char* end, size_t end_len) {
  rocksdb::SizeApproximationOptions options;
  options.include_memtables = true;
  rocksdb::Range range(rocksdb::Slice(start, start_len), rocksdb::Slice(end, end_len));
  uint64_t size = 0;
  return db->rep->GetApproximateSizes(options, family->rep, &range, 1, &size).ok() ? size : 0;
}
