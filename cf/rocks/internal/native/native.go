// Package native has what the other packages need below grocksdb: the structs behind
// the handles of c.h, the C pointers behind grocksdb's types, the kinds of errors,
// writes in one call of C, and the layout of a cell's key for C.
package native

// #cgo LDFLAGS: -lrocksdb
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

// Other packages include these headers, and the go command does not notice when
// a header of another folder changes. It does notice when a package that they
// import changes: so each of them imports this package, and this package embeds
// the headers. The linker leaves them out of the program.
var (
	//go:embed handles.h
	handlesHeader string
	//go:embed key.h
	keyHeader string
)

// Handle returns the C pointer behind a value of grocksdb. grocksdb keeps it in
// an unexported field named c. handleOf panics when the field is renamed, and a
// test fails, so that an update of grocksdb cannot break this quietly.
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

// Flag is a bool as C has it in a uint8_t.
func Flag(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// ReleaseMemory returns unused memory of the C library to the system.
func ReleaseMemory() { C.smolwc_release() }
