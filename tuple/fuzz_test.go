package tuple_test

import (
	"bytes"
	"testing"

	"github.com/smolwc/smolwc/tuple"
)

// FuzzUnpack feeds arbitrary bytes to Unpack: it must not panic, and what it
// accepts must pack to the same bytes. Seeds that are malformed in ways worth
// keeping lie in testdata/fuzz.
func FuzzUnpack(f *testing.F) {
	f.Add([]byte{})
	for _, elem := range oneOfEachType() {
		f.Add(tuple.MustPack(elem))
	}
	f.Fuzz(func(t *testing.T, key []byte) {
		value, err := tuple.Unpack(key)
		if err != nil {
			return
		}
		again, err := value.Pack()
		if err != nil || !bytes.Equal(again, key) {
			t.Errorf("%x unpacks to %v, which packs to %x, %v", key, value, again, err)
		}
	})
}
