#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

// Gives free memory back to the system, also what lies between memory in use,
// which the C library would keep: memtables, and what compactions had. It is
// whether there was any.
int smolwc_release(void) {
#ifdef __GLIBC__
  return malloc_trim(0);
#else
  return 0;
#endif
}
