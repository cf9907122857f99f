package query

import "runtime/debug"

// ReleaseMemory gives memory that nothing uses back to the system: that of Go's
// heap, after a collection, and that of the C library, of which memtables that
// were flushed leave much. It concerns the whole process and takes some
// milliseconds; it is for one that runs for long and has become idle.
func ReleaseMemory() {
	debug.FreeOSMemory()
	releaseEngine()
}
