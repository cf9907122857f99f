#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

// Returns free memory to the system, also memory between blocks in use, which the C
// library would keep: that of memtables and compactions. Returns whether there was any.
int smolwc_release(void) {
#ifdef __GLIBC__
  return malloc_trim(0);
#else
  return 0;
#endif
}
