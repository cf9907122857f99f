//go:build cgo && linux && !norocksdb

// Package native reaches below grocksdb: the structs behind the
// handles of c.h, the C pointers in grocksdb's types, the kinds of errors, and the
// layout of a cell's key for C.
package native

// #cgo LDFLAGS: -lrocksdb ${SRCDIR}/own-zstd.so
// #include <rocksdb/c.h>
//
// int smolwc_release(void);
import "C"

import (
	_ "embed"
	"errors"
	"fmt"
	"reflect"
	"unsafe"
)

// Other packages include these headers, and the go command does not notice when a
// header in another folder changes. It does notice when an imported package changes. So
// these packages import this one, which embeds the headers. The linker leaves the texts
// out of the program.
var (
	//go:embed handles.h
	handlesHeader string
	//go:embed key.h
	keyHeader string
)

// Handle returns the C pointer in a value of grocksdb, which keeps it in an unexported
// field named c. Handle panics if there is no such field, and a test checks it, so an
// update of grocksdb cannot break this silently.
func Handle(v any) unsafe.Pointer {
	f := reflect.ValueOf(v).Elem().FieldByName("c")
	if f.Kind() != reflect.Pointer {
		panic(fmt.Sprintf("grocksdb: %T has no pointer field c", v))
	}
	return f.UnsafePointer()
}

// TakeError frees a message of RocksDB, a char*, and returns it as an error of
// its kind. NULL is nil.
func TakeError(msg unsafe.Pointer) error {
	if msg == nil {
		return nil
	}
	defer C.rocksdb_free(msg)
	return Wrap(errors.New(C.GoString((*C.char)(msg))))
}

// Flag is a bool as 0 or 1, for a uint8_t of C.
func Flag(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// ReleaseMemory returns unused memory of the C library to the system.
func ReleaseMemory() { C.smolwc_release() }
