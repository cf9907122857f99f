//go:build cgo && linux && !norocksdb

package native

// #cgo CFLAGS: -O2 -Wall -Wextra
// #include <stdlib.h>
// #include <rocksdb/c.h>
import "C"

import (
	"unsafe"

	"github.com/linxGnu/grocksdb"
)

// SetOptions sets options by RocksDB's names; pairs is like "a=1;b={c=2}".
func SetOptions(o *grocksdb.Options, pairs string) error {
	text := C.CString(pairs)
	defer C.free(unsafe.Pointer(text))
	c := (*C.rocksdb_options_t)(Handle(o))
	var msg *C.char
	C.rocksdb_get_options_from_string(c, text, c, &msg)
	return TakeError(unsafe.Pointer(msg))
}
