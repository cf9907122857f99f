package ahead

import (
	"encoding/binary"
	"strings"
)

// Midway is a key halfway between lo and hi, in the eight bytes after their common
// prefix. It returns false if there is no key between them in these bytes.
func Midway(lo, hi string) (string, bool) {
	same := 0
	for same < len(lo) && same < len(hi) && lo[same] == hi[same] {
		same++
	}
	var a, b [8]byte
	copy(a[:], lo[same:])
	copy(b[:], hi[same:])
	x, y := binary.BigEndian.Uint64(a[:]), binary.BigEndian.Uint64(b[:])
	if y-x < 2 {
		return "", false
	}
	mid := binary.BigEndian.AppendUint64([]byte(lo[:same]), x+(y-x)/2)
	return strings.TrimRight(string(mid), "\x00"), true
}
