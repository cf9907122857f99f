#include "arenas.h"

#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>

int smolwc_arenas(int most) {
  return getenv("MALLOC_ARENA_MAX") == NULL && mallopt(M_ARENA_MAX, most);
}
#else
int smolwc_arenas(int most) { return most < 0; }
#endif
