package yardstick

// #include <stdlib.h>
// #include "yardstick.h"
import "C"

import (
	"errors"
	"unsafe"
)

// An Opened is a database opened by C with the engine's default options.
type Opened struct{ c C.opened_t }

// Open opens a database with all its families and reads the first entry of one of them.
func Open(dir, family string) (*Opened, error) {
	path, name := C.CString(dir), C.CString(family)
	defer C.free(unsafe.Pointer(path))
	defer C.free(unsafe.Pointer(name))
	o := C.yardstick_open(path, name)
	if o.err != nil {
		defer C.rocksdb_free(unsafe.Pointer(o.err))
		return nil, errors.New(C.GoString(o.err))
	}
	if o.cells == 0 {
		C.yardstick_close(o)
		return nil, errors.New("family " + family + " has no entry")
	}
	return &Opened{o}, nil
}

// Close closes the database.
func (o *Opened) Close() { C.yardstick_close(o.c) }
