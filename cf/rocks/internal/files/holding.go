//go:build cgo && linux && !norocksdb

package files

// #include <stdlib.h>
// #include "holding.h"
import "C"

import (
	"fmt"
	"syscall"
	"unsafe"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

// A Held is the file system of a database that is opened for reading. It still finds
// the files that it holds after their names have been removed.
type Held struct{ c *C.smolwc_holding }

// NewHeld makes the file system of a database that is opened with the options.
func NewHeld(o *grocksdb.Options) *Held {
	return &Held{C.smolwc_holding_new((*C.rocksdb_options_t)(native.Handle(o)))}
}

// Hold holds a file. A file that does not exist is no error.
func (h *Held) Hold(path string) error {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	errno := syscall.Errno(C.smolwc_holding_add(h.c, text))
	if errno != 0 && errno != syscall.ENOENT {
		return fmt.Errorf("%w: %s: %w", cf.ErrUnavailable, path, errno)
	}
	return nil
}

// Free must be called after the database and the options are freed. h may be nil.
func (h *Held) Free() {
	if h != nil {
		C.smolwc_holding_free(h.c)
	}
}
