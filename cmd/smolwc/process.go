package main

import "runtime/debug"

// What smolwc sets for its whole process, and no package of the library does. The
// environment goes before each of them: $MALLOC_ARENA_MAX, $GOGC, $GOMEMLIMIT.
// docs/serve.md names them for operators, docs/performance.md has the figures.

// setProcess is called before anything else: later there are more arenas, and each
// of them stays.
func setProcess(getenv func(string) string) {
	if getenv("MALLOC_ARENA_MAX") == "" {
		oneArena()
	}
}

// reserved is memory that is never touched, so that the system does not give any. It
// counts as in use, so that Go's collector runs when there is about as much garbage,
// and not every 4 MiB: the blocks that reads and writes make are garbage soon, and
// smolwc holds little else.
var reserved []byte

// reserve has a process with an open database collect more rarely. A database with
// little memory has less of it.
func (c *command) reserve(memory int64) {
	if reserved == nil && c.getenv("GOGC") == "" {
		reserved = make([]byte, reserveOf(memory))
	}
}

// reserveOf is an eighth of the memory setting up to 16 MiB, and a 32nd from there on,
// up to 32 MiB.
func reserveOf(memory int64) int64 {
	const small, large = 16 << 20, 32 << 20
	return max(min(memory/8, small), min(memory/32, large))
}

// gcPercent bounds a server's garbage, in percent of the memory in use.
const gcPercent = 50

// collectEarly makes a server collect at half as much garbage as Go does by default, and
// harder when it has more memory than its clients' requests and reads may take.
func (c *command) collectEarly(inHand int64) {
	if c.getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if c.getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(inHand)
	}
}
