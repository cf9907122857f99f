package cli

/*
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
static void one_arena(void) { mallopt(M_ARENA_MAX, 1); }
#else
static void one_arena(void) {}
#endif
*/
import "C"

// oneArena makes the C library use one memory arena for all threads. One thread
// allocates the blocks of RocksDB's cache and another one frees them. With many arenas,
// each arena keeps the most that it ever held.
func oneArena() { C.one_arena() }
