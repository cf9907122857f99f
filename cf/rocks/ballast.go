package rocks

import "sync"

// ballast keeps Go's collector from running too often during long scans, large
// writes and many reads. Blocks are garbage soon after they are made, and a program
// that holds little else would otherwise collect every 4 MiB, hundreds of times a
// second: a third of a scan's time. The memory is never touched, so that the system
// does not give any; what it costs is that garbage may grow to about as much.
// That is why a store with little memory has less of it. docs/performance.md has
// the measurements.
func (s *Store) ballast() { s.weight() }

func newBallast(memory int64) func() []byte {
	return sync.OnceValue(func() []byte { return make([]byte, min(memory/ballastShare, maxBallast)) })
}

const (
	ballastShare = 8 // of Options.Memory
	maxBallast   = 16 << 20
)
