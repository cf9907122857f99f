//go:build cgo && linux && !norocksdb

package rocks

import (
	"testing"
	"unsafe"

	"github.com/smolwc/smolwc/cf"
)

func TestBlocksHaveTheLayoutThatCWrites(t *testing.T) {
	if got := unsafe.Sizeof(cf.RowSpan{}); got != 16 {
		t.Errorf("a RowSpan has %d bytes, C writes 16", got)
	}
	if got := unsafe.Sizeof(cf.CellSpan{}); got != 24 {
		t.Errorf("a CellSpan has %d bytes, C writes 24", got)
	}
	if got := unsafe.Offsetof(cf.CellSpan{}.ValueLen); got != 16 {
		t.Errorf("a CellSpan's value length is at %d, C writes it at 16", got)
	}
}
