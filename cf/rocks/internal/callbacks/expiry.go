//go:build cgo && linux && !norocksdb

package callbacks

// #include "retention.h"
import "C"

import (
	"errors"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

// An Expiry says what the compactions of one family may drop. Its memory belongs to C,
// and the engine keeps it while a compaction may read it.
type Expiry struct{ c *C.smolwc_expiry }

// NewExpiry sets a new compaction filter in the options of one family. At first it
// drops nothing.
func NewExpiry(o *grocksdb.Options) (Expiry, error) {
	x := Expiry{C.smolwc_expiry_new()}
	if x.c == nil {
		return x, errors.New("out of memory for a family")
	}
	C.smolwc_expiry_attach(x.c, (*C.rocksdb_options_t)(native.Handle(o)))
	return x, nil
}

// Set allows later compactions to drop the cells with timestamps less than before.
func (x Expiry) Set(before int64) { C.smolwc_expiry_set(x.c, C.int64_t(before)) }

// Free ends the family's use of the expiry.
func (x Expiry) Free() {
	if x.c != nil {
		C.smolwc_expiry_free(x.c)
	}
}
