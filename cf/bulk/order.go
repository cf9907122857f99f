package bulk

import (
	"context"

	"github.com/smolwc/smolwc/internal/keysort"
)

// An entry stands for a group while groups are sorted by row. Its upper half is the group's place
// in the arena, where later groups have greater places, and its lower half is the group's length.
type entry = keysort.Entry

// againBit, in a length, marks an entry with the same row as the one before.
const againBit = 1 << 31

func newEntry(at, size uint32) entry { return entry{At: uint64(at)<<32 | uint64(size)} }

func placeOf(at uint64) uint32 { return uint32(at >> 32) }

func again(e entry) bool { return e.At&againBit != 0 }

func groupOf(data []byte, e entry) []byte {
	at := placeOf(e.At)
	return data[at : at+uint32(e.At)&^againBit]
}

// sortEntries sorts groups by row, and groups of one row by arrival. It sets againBit
// in all but the first group of a row.
func sortEntries(ctx context.Context, data []byte, es []entry) {
	keysort.Sort(ctx, es, func(at uint64) []byte { return rowAt(data, placeOf(at)) }, func(row []entry) {
		for i := range row[1:] {
			row[i+1].At |= againBit
		}
	})
}
