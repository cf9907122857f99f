package rocks

import "sync"

// ballast keeps Go's collector from running too often during long scans, large
// writes and many reads. Blocks are garbage soon after they are made, and a program
// that holds little else would otherwise collect every 4 MiB, hundreds of times a
// second: a third of a scan's time. The memory is never touched, so that the system
// does not give any; what it costs is that garbage may grow to about as much.
// docs/performance.md has the measurements.
var ballast = sync.OnceValue(func() []byte { return make([]byte, ballastSize) })

const ballastSize = 16 << 20
