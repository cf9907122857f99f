package cli

/*
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
static void one_arena(void) { mallopt(M_ARENA_MAX, 1); }
#else
static void one_arena(void) {}
#endif

static int without_output;
#ifndef _WIN32
#include <errno.h>
#include <fcntl.h>
// It runs before Go's runtime, which opens the null device in place of a closed output.
__attribute__((constructor)) static void look_at_output(void) {
	without_output = fcntl(1, F_GETFD) == -1 && errno == EBADF;
}
#endif
static int began_without_output(void) { return without_output; }
*/
import "C"

// oneArena makes the C library use one memory arena for all threads. One thread
// allocates the blocks of RocksDB's cache and another one frees them. With many arenas,
// each arena keeps the most that it ever held.
func oneArena() { C.one_arena() }

// ofGo is how much of the engine's memory is Go's.
func ofGo(int64) int64 { return 0 }

// beganWithoutOutput reports whether the process was started with a closed output.
func beganWithoutOutput() bool { return C.began_without_output() != 0 }
