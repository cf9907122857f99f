// What the C library's allocator is told.
#ifndef SMOLWC_ARENAS_H
#define SMOLWC_ARENAS_H

// Has glibc keep at most so many arenas for all threads, unless the environment
// says how many ($MALLOC_ARENA_MAX). Reports whether it does.
int smolwc_arenas(int most);

#endif
