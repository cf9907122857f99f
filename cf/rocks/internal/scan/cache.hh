// Only RocksDB's C++ interface can set the part of a cache for blocks that are read
// again, and the allocator of the cache's memory.
//
// A value of 100 MB makes a block of that size, and scans of many clients could each
// read one at the same time. The size is known when the block's memory is allocated. At
// that point the read into this memory can still fail.
#ifndef SMOLWC_CACHE_HH
#define SMOLWC_CACHE_HH

#include "cache.h"
#include "../native/handles.h"

#include <rocksdb/cache.h>
#include <rocksdb/memory_allocator.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>

namespace {

const size_t kLarge = 1 << 20;
// Decompressing a block cannot fail for lack of room, so threads without room take
// turns. A waiting thread may hold a lock of the engine that the thread with the turn
// needs, so it waits no longer than this.
const std::chrono::seconds kPatience(10);

class Memory;

struct Reading {
  smolwc_large large;
  Memory* turn;  // where this thread has the turn, or NULL
  uint64_t files;  // how often it has read files
};
thread_local Reading reading;

class Memory : public rocksdb::MemoryAllocator {
 public:
  const char* Name() const override { return "smolwc"; }

  void* Allocate(size_t size) override {
    if (size >= kLarge && reading.large.on) Read(size);
    return ::operator new(size);
  }

  void Deallocate(void* p) override {
#ifdef __GLIBC__
    if (reading.large.on && malloc_usable_size(p) >= kLarge) Leave(malloc_usable_size(p));
#endif
    ::operator delete(p);
  }

#ifdef __GLIBC__
  size_t UsableSize(void* p, size_t) const override { return malloc_usable_size(p); }
#endif

  void Counted(size_t read) {
    std::lock_guard<std::mutex> lock(mutex_);
    uncounted_ -= read;
  }

  void EndTurn() {
    std::lock_guard<std::mutex> lock(mutex_);
    taken_ = false;
    ended_.notify_all();  // all waiting threads check again
  }

 private:
  void Read(size_t size) {
    smolwc_large* l = &reading.large;
    if (l->refused) return;
    std::unique_lock<std::mutex> lock(mutex_);
    bool others = uncounted_ > l->read;
    // A block and its copy take twice its size.
    if (uncounted_ + 2 * size <= l->room || (!others && (l->alone || l->read > 0))) {
      uncounted_ += size;
      l->read += size;
      l->more += static_cast<int64_t>(size);
      return;
    }
    l->refused = true;
    l->size = size;
    while (taken_)
      if (ended_.wait_for(lock, kPatience) == std::cv_status::timeout) return;
    taken_ = true;
    reading.turn = this;
  }

  void Leave(size_t size) {
    smolwc_large* l = &reading.large;
    l->more -= static_cast<int64_t>(size);
    size_t read = std::min(size, l->read);
    l->read -= read;
    Counted(read);
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  size_t uncounted_ = 0;
  bool taken_ = false;
};

}  // namespace

void smolwc_cache_keep(rocksdb_cache_t* cache, double part) {
  rocksdb::LRUCacheOptions o;
  o.capacity = cache->rep->GetCapacity();
  o.high_pri_pool_ratio = part;
  o.memory_allocator = std::make_shared<Memory>();
  cache->rep = rocksdb::NewLRUCache(o);
}

void smolwc_large_begin(const smolwc_large* l) { reading.large = *l; }

void smolwc_large_end(smolwc_large* l) {
  *l = reading.large;
  reading.large = {};
  if (reading.turn != nullptr) reading.turn->EndTurn();
  reading.turn = nullptr;
}

void smolwc_large_counted(rocksdb_cache_t* cache, size_t read) {
  static_cast<Memory*>(cache->rep->memory_allocator())->Counted(read);
}

bool smolwc_reads_file() {
  reading.files++;
  return reading.large.refused;
}

uint64_t smolwc_file_reads() { return reading.files; }

#endif
