package rocks

// #include "arenas.h"
import "C"

import "sync"

// oneArena has the C library keep one arena of memory for all threads. Blocks of
// the cache are allocated by whichever thread reads and freed by whichever makes
// room: with an arena for each thread, every one of them keeps the most that it
// ever held, and a long scan takes more than twice its budget. It is called
// before the first database is opened; docs/performance.md has the figures.
var oneArena = sync.OnceFunc(func() { C.smolwc_arenas(1) })
