// Package yardstick is RocksDB used by hand in plain C, through its own C API and on
// smolwc's own files: the limit for smolwc. Every function is one call into C, and the
// loop is in C.
//
// The functions are safe for concurrent use; each runs on the caller's thread.
package yardstick

// #cgo CFLAGS: -O2 -Wall -Wextra -Wno-implicit-fallthrough
// #cgo LDFLAGS: -lrocksdb -lpthread
// #include "yardstick.h"
import "C"

import (
	"errors"
	"unsafe"

	"github.com/smolwc/smolwc/cf/rocks"
)

// A Family is a column family in C. It is valid until its store is closed.
type Family struct {
	db      *C.rocksdb_t
	family  *C.family_t
	options *C.rocksdb_options_t
}

// Of returns the family of a handle.
func Of(raw rocks.Raw) Family {
	return Family{
		db:      (*C.rocksdb_t)(raw.DBHandle),
		family:  (*C.family_t)(raw.FamilyHandle),
		options: (*C.rocksdb_options_t)(raw.OptionsHandle),
	}
}

// A Sum is the amount that a function read or wrote. Bytes uses part of every key and
// value.
type Sum struct{ Rows, Cells, Bytes int64 }

func sumOf(s C.sum_t) (Sum, error) {
	sum := Sum{int64(s.rows), int64(s.cells), int64(s.bytes)}
	if s.err == nil {
		return sum, nil
	}
	defer C.rocksdb_free(unsafe.Pointer(s.err))
	return sum, errors.New(C.GoString(s.err))
}

// Slices is a list of byte strings in one array, in C's form. The zero Slices is empty.
type Slices struct {
	data    []byte
	offsets []uint64 // one more than the number of strings
}

// Append adds a string: add appends it to its argument and returns the result.
func (s *Slices) Append(add func([]byte) []byte) {
	if len(s.offsets) == 0 {
		s.offsets = append(s.offsets, 0)
	}
	s.data = add(s.data)
	s.offsets = append(s.offsets, uint64(len(s.data)))
}

// Len returns the number of strings.
func (s Slices) Len() int { return max(0, len(s.offsets)-1) }

// At returns a string; it shares the list's memory.
func (s Slices) At(i int) []byte { return s.data[s.offsets[i]:s.offsets[i+1]:s.offsets[i+1]] }

// Bytes returns all strings, one after another; they share the list's memory.
func (s Slices) Bytes() []byte { return s.data }

// Part returns the strings from (inclusive) to to (exclusive).
func (s Slices) Part(from, to int) Slices {
	if from == to {
		return Slices{}
	}
	return Slices{s.data, s.offsets[from : to+1]}
}

func (s Slices) c() (*C.char, *C.uint64_t, C.uint64_t) {
	return chars(s.data), (*C.uint64_t)(unsafe.SliceData(s.offsets)), C.uint64_t(s.Len())
}

func chars(b []byte) *C.char { return (*C.char)(unsafe.Pointer(unsafe.SliceData(b))) }
