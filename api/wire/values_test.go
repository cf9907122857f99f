package wire

import (
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/schema"
)

// A type that a message names and nobody knows is refused, also for a value without bytes.
func TestValueOfNoType(t *testing.T) {
	for n := range 256 {
		f := schema.Family{Name: "f", Type: cells.Type(n)}
		for _, b := range [][]byte{nil, make([]byte, 8)} {
			if _, err := ValueOf(&f, nil, b); err == nil && f.Type != cells.TypeAny && !f.Type.Valid() {
				t.Errorf("%v takes %d bytes", f.Type, len(b))
			}
		}
	}
}
