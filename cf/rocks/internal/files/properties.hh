// RocksDB decodes the properties of a table file before it compares their checksum. If
// a flipped last bit says that the block has a hash index, an assertion fails. In a
// library that was built with assertions, as Debian's is, opening the database would
// end the process.
#ifndef SMOLWC_PROPERTIES_HH
#define SMOLWC_PROPERTIES_HH

#include <rocksdb/file_system.h>
#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <string>

namespace smolwc {

// CheckProperties reports the damage to a table file's properties that RocksDB does not
// survive. RocksDB itself reports all other damage.
rocksdb::IOStatus CheckProperties(rocksdb::FSRandomAccessFile* file, uint64_t size, const std::string& path);

namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

// The footer of a table file: a byte for the kind of checksum, the places of two
// blocks, zeros, the version and a magic number.
const size_t kFooter = 53;
const size_t kVersionAt = 41, kMagicAt = 45;
const char kMagic[] = "\xf7\xcf\xf4\x85\xb7\x41\xe2\x88";
const uint32_t kLastVersion = 5;  // with such a footer

const size_t kTail = 4096;       // nearly always includes the properties
const uint64_t kLimit = 1 << 20;  // bytes of one block

// Decodes a varint and removes it from the front of the bytes.
bool TakeNumber(Slice* in, uint64_t* n) {
  *n = 0;
  for (int shift = 0; shift < 64 && !in->empty(); shift += 7) {
    uint8_t b = static_cast<uint8_t>((*in)[0]);
    in->remove_prefix(1);
    *n |= static_cast<uint64_t>(b & 0x7f) << shift;
    if (b < 0x80) return true;
  }
  return false;
}

// FindBlock looks a block up in the block that lists them. An entry of the list is the
// length of the prefix shared with the key before, the length of the rest of the key,
// the length of the value, the rest of the key, and the value.
bool FindBlock(Slice list, const std::string& name, uint64_t* at, uint64_t* size) {
  std::string key;
  uint64_t shared, own, value;
  while (TakeNumber(&list, &shared) && TakeNumber(&list, &own) && TakeNumber(&list, &value)) {
    if (shared > key.size() || own > list.size() || value > list.size() - own) return false;
    key.resize(shared);
    key.append(list.data(), own);
    list.remove_prefix(own);
    Slice place(list.data(), value);
    list.remove_prefix(value);
    if (key == name) return TakeNumber(&place, at) && TakeNumber(&place, size);
  }
  return false;
}

// A Tail holds the end of a file, and reads earlier parts on demand.
class Tail {
 public:
  Tail(rocksdb::FSRandomAccessFile* file, uint64_t size) : file_(file), size_(size) {
    uint64_t n = std::min<uint64_t>(size, kTail);
    if (!ReadAt(size - n, n, &end_)) end_.clear();
  }

  // Get reads n bytes at an offset; they are valid until the next call.
  bool Get(uint64_t at, uint64_t n, Slice* to) {
    if (n > kLimit || at > size_ || n > size_ - at) return false;
    uint64_t from = size_ - end_.size();
    if (at >= from) {
      *to = Slice(end_.data() + (at - from), n);
      return true;
    }
    if (!ReadAt(at, n, &before_)) return false;
    *to = before_;
    return true;
  }

 private:
  bool ReadAt(uint64_t at, size_t n, std::string* to) {
    to->resize(n);
    Slice got;
    IOStatus s = file_->Read(at, n, IOOptions(), &got, &(*to)[0], nullptr);
    if (!s.ok() || got.size() != n) return false;
    if (got.data() != to->data()) memmove(&(*to)[0], got.data(), n);
    return true;
  }

  rocksdb::FSRandomAccessFile* file_;
  uint64_t size_;
  std::string end_, before_;
};

}  // namespace

IOStatus CheckProperties(rocksdb::FSRandomAccessFile* file, uint64_t size, const std::string& path) {
  if (size < kFooter) return IOStatus::OK();
  Tail tail(file, size);
  Slice footer, list, last;
  if (!tail.Get(size - kFooter, kFooter, &footer)) return IOStatus::OK();
  if (memcmp(footer.data() + kMagicAt, kMagic, 8) != 0) return IOStatus::OK();
  const uint8_t* v = reinterpret_cast<const uint8_t*>(footer.data()) + kVersionAt;
  uint32_t version = v[0] | v[1] << 8 | v[2] << 16 | static_cast<uint32_t>(v[3]) << 24;
  if (version == 0 || version > kLastVersion) return IOStatus::OK();
  Slice places(footer.data() + 1, kVersionAt - 1);
  uint64_t at, n;
  if (!TakeNumber(&places, &at) || !TakeNumber(&places, &n) || !tail.Get(at, n, &list)) return IOStatus::OK();
  if (!FindBlock(list, "rocksdb.properties", &at, &n) || n == 0 || at > size || n > size - at) return IOStatus::OK();
  if (!tail.Get(at + n - 1, 1, &last)) return IOStatus::OK();
  if (static_cast<uint8_t>(last[0]) < 0x80) return IOStatus::OK();
  return IOStatus::Corruption("the properties of a table file are damaged", path);
}

}  // namespace smolwc

#endif
