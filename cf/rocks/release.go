package rocks

// int smolwc_release(void);
import "C"

// ReleaseMemory gives memory that the C library holds and nothing uses back to
// the system. It concerns the whole process, and takes some milliseconds in which
// C's allocations wait.
func ReleaseMemory() { C.smolwc_release() }
