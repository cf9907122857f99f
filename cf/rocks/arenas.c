#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>

// Has the C library keep one arena of memory for all threads. Blocks of the cache
// are allocated by whichever thread reads and freed by whichever makes room: with
// an arena for each thread, every one of them keeps the most that it ever held,
// and a long scan takes twice its budget. It is done before there is a second
// thread, since an arena that there is remains; $MALLOC_ARENA_MAX goes before it.
// docs/performance.md has the figures.
__attribute__((constructor)) static void one_arena(void) {
  if (getenv("MALLOC_ARENA_MAX") == NULL) mallopt(M_ARENA_MAX, 1);
}
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
