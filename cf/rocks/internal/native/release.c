//go:build cgo && linux && !norocksdb

#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

// Returns free memory to the system, also free memory between blocks in use, which the
// C library would keep after memtables and compactions. Returns 1 if it returned
// memory, else 0.
int smolwc_release(void) {
#ifdef __GLIBC__
  return malloc_trim(0);
#else
  return 0;
#endif
}
