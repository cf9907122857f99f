package pebble

import (
	"bytes"
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/merge"
)

// Operands have the same value from wherever Pebble begins, in the portions in which
// compactions left them. One that cannot be merged keeps them unmerged.
func TestMergesInAnyOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var operands [][]byte
		kind := rapid.SampledFrom([]cf.MergeKind{cf.MergeSum, cf.MergeMin, cf.MergeMax}).Draw(rt, "kind")
		odd := rapid.IntRange(-1, 300).Draw(rt, "odd") // an operand that cannot be merged
		for i := range rapid.IntRange(1, 300).Draw(rt, "operands") {
			n := rapid.SampledFrom([]int64{0, 1, -1, 1 << 62, -1 << 63, 1<<63 - 1}).Draw(rt, "n")
			o := binary.BigEndian.AppendUint64([]byte{byte(kind), 6}, uint64(n))
			if i == odd {
				o = []byte{byte(cf.MergeMax), 2, 'x'}
			}
			operands = append(operands, o)
		}
		var base []byte
		if rapid.Bool().Draw(rt, "based") {
			base = binary.BigEndian.AppendUint64([]byte{6}, 5)
		}
		// As Pebble stores them: some together.
		var stored [][]byte
		for rest := operands; len(rest) > 0; {
			var part []byte
			n := rapid.IntRange(1, min(3, len(rest))).Draw(rt, "together")
			for _, o := range rest[:n] {
				part = appendOperand(part, o)
			}
			stored, rest = append(stored, part), rest[n:]
		}
		at := rapid.IntRange(0, len(stored)-1).Draw(rt, "at")
		older, newer := stored[:at], stored[at+1:]
		merger, err := merger.Merge(nil, stored[at])
		if err != nil {
			rt.Fatal(err)
		}
		for len(older) > 0 || len(newer) > 0 {
			if len(newer) > 0 && (len(older) == 0 || rapid.Bool().Draw(rt, "newer")) {
				err = merger.MergeNewer(newer[0])
				newer = newer[1:]
			} else {
				err = merger.MergeOlder(older[len(older)-1])
				older = older[:len(older)-1]
			}
			if err != nil {
				rt.Fatal(err)
			}
		}
		if base != nil {
			if err := merger.MergeOlder(base); err != nil {
				rt.Fatal(err)
			}
		}
		all := rapid.Bool().Draw(rt, "all")
		got, _, err := merger.Finish(all)
		want := merge.Full(base, operands...)
		if len(operands) > mostOperands && merge.IsUnmerged(want) && merge.IsUnmerged(plain(got)) {
			return // some of them may have been merged before
		}
		if err != nil || !bytes.Equal(plain(got), want) {
			rt.Fatalf("%.40x, %v; want %.40x", plain(got), err, want)
		}
	})
}
