//go:build cgo

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

// muchScanned is after how many bytes in blocks a program is taken for one that scans
// much, if none of its scans is long.
const muchScanned = 16 << 20

// scanned counts what a scan that is over has put into blocks.
func (s *Store) scanned(bytes int64) {
	if s.returned.Load() < muchScanned && s.returned.Add(bytes) >= muchScanned {
		s.ballast()
	}
}

func newBallast(memory int64) func() []byte {
	return sync.OnceValue(func() []byte { return make([]byte, ballastOf(memory)) })
}

// ballastOf is an eighth of Options.Memory up to 16 MiB, and a 32nd from there on,
// up to 32 MiB.
func ballastOf(memory int64) int64 {
	const small, large = 16 << 20, 32 << 20
	return max(min(memory/8, small), min(memory/32, large))
}
