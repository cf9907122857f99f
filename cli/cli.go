// Package cli is the smolwc command: its subcommands and flags, and the wiring of the
// packages below them. A program that is smolwc calls [Main].
package cli

import (
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	_ "time/tzdata" // for .timezone, where the system lacks zones
)

// Main runs smolwc with the arguments, streams and environment of the process, and
// returns the exit code. The database may also be in one of the stores. Main sets the allocator, the garbage collector and the signals of
// the process for itself, so a program calls it once, and first.
func Main(stores Stores) int {
	setProcess(os.Getenv)
	// A closed pipe makes the write fail instead of ending the process, so that the
	// database is closed.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	c := &command{stores: stores, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv}
	if beganWithoutOutput() {
		c.stdout = closedOutput{}
	}
	return c.run(os.Args[1:])
}

// Settings of smolwc's whole process; no package of the library changes them. The
// environment variables $MALLOC_ARENA_MAX, $GOGC and $GOMEMLIMIT take precedence.
// docs/serve.md describes them for operators, docs/performance.md shows the
// measurements.

// setProcess must be called before anything else: arenas that exist already stay.
func setProcess(getenv func(string) string) {
	if getenv("MALLOC_ARENA_MAX") == "" {
		oneArena()
	}
}

// heap is memory that is never touched, so the system does not allocate it. Go
// counts it as in use. Therefore the collector runs after about as much garbage, and
// not every 4 MiB: the blocks of reads and writes soon become garbage, and smolwc holds
// little else.
var heap struct {
	sync.Mutex
	reserved []byte
	wanted   int64 // bytes that settle is to reserve
}

// reserve makes the collector run less often in a process with an open database. A
// smaller memory setting reserves less. A large allocation starts a collection, a fifth
// of the work of a command that reads one row, so the memory is reserved by the first
// collection, which comes after as much garbage.
func (c *command) reserve(memory int64) {
	heap.Lock()
	defer heap.Unlock()
	if heap.reserved != nil || heap.wanted > 0 || c.getenv("GOGC") != "" {
		return
	}
	heap.wanted = reserveOf(memory)
	const least = 4 << 20 // Go's smallest heap, at 100 percent
	debug.SetGCPercent(int(100 * heap.wanted / least))
	runtime.AddCleanup(new([32]byte), func(struct{}) { settle() }, struct{}{})
}

// settle reserves the memory that is still to be reserved.
func settle() {
	heap.Lock()
	defer heap.Unlock()
	if heap.wanted > 0 {
		heap.reserved, heap.wanted = make([]byte, heap.wanted), 0
		debug.SetGCPercent(100)
	}
}

// reserveOf returns an eighth of the memory setting up to 16 MiB, or a 32nd if that is
// more, up to 32 MiB.
func reserveOf(memory int64) int64 {
	const small, large = 16 << 20, 32 << 20
	return max(min(memory/8, small), min(memory/32, large))
}

// gcPercent bounds a server's garbage, in percent of the memory in use.
const gcPercent = 50

// collectEarly makes a server collect after half as much garbage as Go's default. It
// collects more often if Go's memory exceeds limit.
func (c *command) collectEarly(limit int64) {
	settle()
	if c.getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if c.getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
}
