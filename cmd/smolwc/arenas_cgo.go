package main

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

// oneArena has the C library keep no arena of memory for each thread. Blocks of
// RocksDB's cache are allocated by the thread that reads and freed by the one that
// makes room: with many arenas each keeps the most that it ever held.
func oneArena() { C.one_arena() }
