package fields_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/internal/fields"
)

// All fields come back from the bytes that they were put into, and no shorter bytes have
// them all.
func TestFieldsComeBackAndCutOnesAreFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number, text := rapid.Uint64().Draw(t, "number"), rapid.SliceOf(rapid.Byte()).Draw(t, "text")
		b := binary.AppendUvarint(nil, number)
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
		b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(append(b, 7), 1<<31), 1<<63)
		read := func(b []byte) (r fields.Reader, same bool) {
			r.Rest = b
			same = r.Uvarint() == number
			same = slices.Equal(r.Text(), text) && same
			same = r.Byte() == 7 && same
			same = r.Uint32() == 1<<31 && same
			return r, r.Uint64() == 1<<63 && same
		}
		if r, same := read(b); !same || r.Bad || len(r.Rest) > 0 {
			t.Errorf("%x: read the same: %t, %+v", b, same, r)
		}
		cut := b[:rapid.IntRange(0, len(b)-1).Draw(t, "cut")]
		if r, _ := read(cut); !r.Bad || r.Rest != nil || r.Take(0) != nil {
			t.Errorf("%x, which is cut off: %+v", cut, r)
		}
	})
}
