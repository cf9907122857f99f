// RocksDB can refresh iterators, and its C interface cannot until version 9.

#include "internal/native/handles.h"
#include "kept.h"

int smolwc_iterator_refresh(rocksdb_iterator_t* it) { return it->rep->Refresh().ok(); }
