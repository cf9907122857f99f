package query

import "runtime/debug"

// ReleaseMemory gives unused memory back to the system: that of Go's heap, after
// a collection, and that of the C library, which keeps much of it after memtables
// were flushed. It concerns the whole process and takes some milliseconds; it is
// for a long-running process that has become idle.
func ReleaseMemory() {
	debug.FreeOSMemory()
	releaseEngine()
}
