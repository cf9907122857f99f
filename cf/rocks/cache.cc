// RocksDB's cache can be told how much of it is for what is read again and again, and
// how its memory is got, and its C interface cannot.
//
// A value of 100 MB is a block as large, and only once it has been read does anyone
// know. Scans of many clients could each read one at the same moment. The size is known
// a little earlier where the memory for a block is got, and there they wait.

#include "cache.h"

#include <rocksdb/cache.h>
#include <rocksdb/memory_allocator.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>

// As in RocksDB's c.cc, in all versions from 7.8 to 11.
struct rocksdb_cache_t {
  std::shared_ptr<rocksdb::Cache> rep;
};

namespace {

const size_t kLarge = 1 << 20;
const size_t kLargeAtOnce = 64 << 20;  // or one block
// A thread that waits may hold a lock of the engine that one needs which is to count
// its block.
const std::chrono::seconds kPatience(10);

thread_local bool waits = false;
thread_local size_t largest = 0;

class Memory : public rocksdb::MemoryAllocator {
 public:
  const char* Name() const override { return "smolwc"; }

  void* Allocate(size_t size) override {
    if (size >= kLarge && waits && size > largest) Await(size);
    return ::operator new(size);
  }

  void Deallocate(void* p) override { ::operator delete(p); }

#ifdef __GLIBC__
  size_t UsableSize(void* p, size_t) const override { return malloc_usable_size(p); }
#endif

  void Counted(size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    reading_ -= bytes;
    fewer_.notify_all();
  }

 private:
  // Await has room for a block in place of the thread's largest so far: it goes on from
  // one to the next.
  void Await(size_t size) {
    std::unique_lock<std::mutex> lock(mutex_);
    reading_ -= largest;
    if (largest > 0) fewer_.notify_all();
    fewer_.wait_for(lock, kPatience, [&] { return reading_ == 0 || reading_ + size <= kLargeAtOnce; });
    reading_ += size;
    largest = size;
  }

  std::mutex mutex_;
  std::condition_variable fewer_;
  size_t reading_ = 0;
};

}  // namespace

void smolwc_cache_keep(rocksdb_cache_t* cache, double part) {
  rocksdb::LRUCacheOptions o;
  o.capacity = cache->rep->GetCapacity();
  o.high_pri_pool_ratio = part;
  o.memory_allocator = std::make_shared<Memory>();
  cache->rep = rocksdb::NewLRUCache(o);
}

void smolwc_large_begin() {
  waits = true;
  largest = 0;
}

size_t smolwc_large_end() {
  waits = false;
  return largest;
}

void smolwc_large_counted(rocksdb_cache_t* cache, size_t bytes) {
  static_cast<Memory*>(cache->rep->memory_allocator())->Counted(bytes);
}
