package merge

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cf"
)

var example = regexp.MustCompile(`(?m)^(0[0-9a-f |]+\|[0-9a-f |]+) = ([0-9a-f ]+)$`)

// The examples of docs/format.md: operands left of the =, the value right of it.
func TestExamplesOfTheFormat(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/format.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := example.FindAllSubmatch(page, -1)
	if len(examples) < 7 {
		t.Errorf("%d examples, want at least 7", len(examples))
	}
	for _, e := range examples {
		var operands [][]byte
		for o := range strings.SplitSeq(string(e[1]), "|") {
			operands = append(operands, unhex(t, o))
		}
		want := unhex(t, string(e[2]))
		if got := Full(nil, operands...); !bytes.Equal(got, want) {
			t.Errorf("%s: got %x", e[0], got)
		}
		if want[0] == tagUnmerged {
			continue
		}
		if got := Full(operands[1][1:], operands[0]); !bytes.Equal(got, want) {
			t.Errorf("%s, the right one as the value: got %x", e[0], got)
		}
		if got, ok := Operands(operands...); !ok || !bytes.Equal(got[1:], want) || got[0] != operands[0][0] {
			t.Errorf("%s, to an operand: got %x, %t", e[0], got, ok)
		}
	}
}

func unhex(t *testing.T, s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What cannot be merged keeps everything, also what is merged into it later.
func TestNothingIsLostByAMergeThatFails(t *testing.T) {
	one, short := appendInt([]byte{byte(cf.MergeSum)}, 1), []byte{byte(cf.MergeSum), tagInt, 1}
	first := Full([]byte("text"), one, short)
	want := append([]byte{tagUnmerged}, appendPart(appendPart(appendPart(nil, []byte("text")), one), short)...)
	if !bytes.Equal(first, want) {
		t.Errorf("got %x, want %x", first, want)
	}
	if got := Full(first, one); !bytes.Equal(got, appendPart(want, one)) {
		t.Errorf("then %x", got)
	}
	for _, operands := range [][][]byte{{}, {nil}, {{9}}, {one, {byte(cf.MergeMin)}}} {
		if got, ok := Operands(operands...); ok {
			t.Errorf("operands %x merge into %x", operands, got)
		}
		if got := Full(nil, operands...); got[0] != tagUnmerged {
			t.Errorf("operands %x merge into %x", operands, got)
		}
	}
}

// Sketches unite to the same bytes in any order and grouping, below and above the number
// of hashes from which on they have registers.
func TestSketchesUniteInAnyOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 100, maxHashes, maxHashes + 1, 3 * maxHashes} {
		var all sketch
		var operands [][]byte
		for range n {
			h := random.Uint64()
			all.addHash(h)
			operands = append(operands, binary.BigEndian.AppendUint64([]byte{byte(cf.MergeDistinct), tagBytes, sketchVersion, formHashes}, h))
		}
		for range 3 {
			random.Shuffle(n, func(i, j int) { operands[i], operands[j] = operands[j], operands[i] })
			var grouped [][]byte
			for group := range slices.Chunk(operands, 700) {
				one, ok := Operands(group...)
				if !ok {
					t.Fatal("operands do not merge")
				}
				grouped = append(grouped, one)
			}
			if got := Full(grouped[0][1:], grouped...); !bytes.Equal(got, all.value()) {
				t.Errorf("%d hashes: a union of %d bytes differs from the whole of %d", n, len(got), len(all.value()))
			}
		}
	}
}

// No bytes make a merge panic.
func FuzzMerge(f *testing.F) {
	f.Add([]byte("text"), appendInt([]byte{1}, 1), appendInt([]byte{1}, -1))
	f.Add([]byte{1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1}, []byte{4, 1, 1, 1, 0}, []byte{4})
	f.Fuzz(func(t *testing.T, existing, a, b []byte) {
		if len(Full(existing, a, b)) == 0 || len(Full(nil, b)) == 0 {
			t.Error("a merge gives no value")
		}
		Operands(a, b)
	})
}
