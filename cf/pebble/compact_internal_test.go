package pebble

import (
	"testing"

	"github.com/smolwc/smolwc/cf"
)

// Compact deletes keys so that files are rewritten, and meets these keys the next time: none of
// them may be a cell's, however often it is called.
func TestCompactDeletesNoCell(t *testing.T) {
	for _, ts := range []int64{0, 1, 255, 256, 1<<63 - 1} {
		cell := append(make([]byte, idLen), cf.AppendCellKey(nil, "row", "q", ts)...)
		files := [][]byte{cell}
		for call := range 5 {
			var next [][]byte
			for _, smallest := range files {
				for _, key := range within(smallest, smallest) {
					if isCell(key) {
						t.Fatalf("call %d of Compact deletes the cell %x, since a file has only %x", call+1, key, smallest)
					}
					next = append(next, key)
				}
			}
			files = next
		}
	}
}
