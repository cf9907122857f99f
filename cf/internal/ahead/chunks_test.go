package ahead

import (
	"fmt"
	"slices"
	"testing"

	"github.com/smolwc/smolwc/cf"
)

type sizes struct{ of uint64 }

func (s sizes) Size(cf.Range) uint64    { return s.of }
func (s sizes) LastRow(cf.Range) string { return "" }

// The rest of a list of rows was cut into chunks of a row each, when it was short.
func TestSmallRangesShareAChunk(t *testing.T) {
	var rows []cf.Range
	for i := range 200 {
		rows = append(rows, cf.Single(fmt.Sprintf("%03d", i)))
	}
	for _, reverse := range []bool{false, true} {
		cuts := Cut(sizes{firstChunk / 64}, rows, reverse, "", 0)
		var chunks [][]cf.Range
		for c := cuts.Next(); c != nil; c = cuts.Next() {
			chunks = append(chunks, c)
		}
		if reverse {
			slices.Reverse(chunks)
		}
		if len(chunks) != 4 || !slices.Equal(slices.Concat(chunks...), rows) {
			t.Errorf("reverse %v: %d chunks", reverse, len(chunks))
		}
	}
}
