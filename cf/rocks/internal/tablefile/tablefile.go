//go:build cgo && linux && !norocksdb

// Package tablefile writes RocksDB's table files outside of a database, for loads.
package tablefile

// #cgo CFLAGS: -O2 -Wall -Wextra
// #cgo LDFLAGS: -lrocksdb
// #include "tablefile.h"
import "C"

import (
	"errors"
	"unsafe"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

// A Writer writes table files, one after another.
type Writer struct {
	opts *grocksdb.Options
	env  *grocksdb.EnvOptions
	to   *grocksdb.SSTFileWriter
}

// NewWriter makes a writer of files with these options, which Close destroys.
func NewWriter(opts *grocksdb.Options) *Writer {
	w := &Writer{opts: opts, env: grocksdb.NewDefaultEnvOptions()}
	w.to = grocksdb.NewSSTFileWriter(w.env, w.opts)
	return w
}

// Open begins a file.
func (w *Writer) Open(path string) error { return native.Wrap(w.to.Open(path)) }

// groupsPerCall is the largest number of groups that one call of C writes.
const groupsPerCall = 1 << 16

// Add writes groups, and returns the groups that are left. It stops after the group at
// which the file reaches size bytes: the file is then full.
func (w *Writer) Add(c cf.CellGroups, size int) (left cf.CellGroups, full bool, err error) {
	n := min(len(c.At), groupsPerCall)
	var msg *C.char
	done := int(C.smolwc_write_groups((*C.rocksdb_sstfilewriter_t)(native.Handle(w.to)), (*C.char)(unsafe.Pointer(unsafe.SliceData(c.Data))),
		(*C.uint32_t)(unsafe.Pointer(unsafe.SliceData(c.At))), C.size_t(n), C.uint64_t(size), &msg))
	c.At = c.At[done:]
	err = native.TakeError(unsafe.Pointer(msg))
	if err == nil && done == 0 && n > 0 {
		err = errors.New("out of memory for a table file")
	}
	return c, done < n, err
}

// Finish ends the file and syncs it.
func (w *Writer) Finish() error { return native.Wrap(w.to.Finish()) }

// Close frees the writer. A file that was not finished is incomplete.
func (w *Writer) Close() {
	w.to.Destroy()
	w.env.Destroy()
	w.opts.Destroy()
}

// WriteKey makes a file with one key, whose value is empty. It destroys the options.
func WriteKey(opts *grocksdb.Options, path string, key []byte) error {
	w := NewWriter(opts)
	defer w.Close()
	if err := w.Open(path); err != nil {
		return err
	}
	if err := w.to.Put(key, nil); err != nil {
		return native.Wrap(err)
	}
	return w.Finish()
}
