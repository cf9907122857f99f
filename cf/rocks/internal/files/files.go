//go:build cgo && linux && !norocksdb

// Package files is the file system between RocksDB and the disk: it keeps logs and tables
// that RocksDB would delete, records which bytes have been synced, and decides which
// errors RocksDB retries. It writes batches, and replaces a failed log. It also writes
// the log of RocksDB's own work.
package files

// #cgo CXXFLAGS: -O2 -g1 -Wall -Wextra -std=c++20 -fno-rtti
// #cgo LDFLAGS: -lrocksdb
// #include <stdlib.h>
// #include "files.h"
import "C"

import (
	"errors"
	"runtime"
	"strings"
	"unsafe"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf/rocks/internal/native"
	"github.com/smolwc/smolwc/internal/claim"
)

// System is the file system of a database, on the disk or in memory. It also keeps logs
// that RocksDB no longer needs.
type System struct{ c *C.smolwc_files }

// New makes the file system of a database that is opened with the options. refused is a
// C function without arguments. It returns a bool: whether the calling thread must not
// read the block of a table that it is about to read.
func New(o *grocksdb.Options, inMemory bool, refused unsafe.Pointer) *System {
	return &System{C.smolwc_files_new((*C.rocksdb_options_t)(native.Handle(o)), C.uint8_t(native.Flag(inMemory)), (*C.smolwc_refused)(refused))}
}

func (l *System) Free() { C.smolwc_files_free(l.c) }

// Guard keeps RocksDB from touching files in dir when dir is no longer the claimed
// directory.
func (l *System) Guard(dir string, c *claim.Claim) {
	path := C.CString(dir)
	defer C.free(unsafe.Pointer(path))
	device, inode := c.Identity()
	C.smolwc_files_guard(l.c, path, C.uint64_t(device), C.uint64_t(inode))
}

// Keep makes the file system move logs that RocksDB deletes to the directory archive;
// Keep(false) ends that.
func (l *System) Keep(keep bool) { C.smolwc_files_keep(l.c, C.uint8_t(native.Flag(keep))) }

func (l *System) Keeps() bool { return C.smolwc_files_keeps(l.c) != 0 }

// HoldOptions keeps RocksDB from writing files of options; false lets it write them
// again.
func (l *System) HoldOptions(hold bool) {
	C.smolwc_files_hold_options(l.c, C.uint8_t(native.Flag(hold)))
}

// Begin names the directory of the database, and keeps its file SYNCED up to date from
// now on. synced is the file's current text.
func (l *System) Begin(dir string, synced []byte) {
	path := C.CString(dir)
	defer C.free(unsafe.Pointer(path))
	C.smolwc_files_begin(l.c, path, (*C.char)(unsafe.Pointer(unsafe.SliceData(synced))), C.size_t(len(synced)))
}

// Claim sets the synced length of a file, from SYNCED.
func (l *System) Claim(name string, bytes int64) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	C.smolwc_files_claim(l.c, text, C.uint64_t(bytes))
}

// End makes a file end before bytes that were never written.
func (l *System) End(name string, size int64) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	C.smolwc_files_end(l.c, text, C.uint64_t(size))
}

// Spare makes the file system move table and blob files that RocksDB deletes to the
// directory strays; Spare(false) ends that. Spare returns the number of files moved so
// far.
func (l *System) Spare(spare bool) uint64 {
	return uint64(C.smolwc_files_spare(l.c, C.uint8_t(native.Flag(spare))))
}

// Begun is the number of logs begun since the database was opened.
func (l *System) Begun() uint64 { return uint64(C.smolwc_files_begun(l.c)) }

// Lasting is the error after which the engine takes no writes until it is opened again;
// nil without such an error.
func (l *System) Lasting() error { return fileError(C.smolwc_files_lasting(l.c)) }

// Opened says that the database is open, and whether each write is synced.
func (l *System) Opened(synced bool) { C.smolwc_files_opened(l.c, C.uint8_t(native.Flag(synced))) }

// TakesFiles fails when the engine cannot take the files of a load: while it recovers
// from an error.
func (l *System) TakesFiles() error {
	return fileError(C.smolwc_files_recovering(l.c))
}

// OnManifest makes a change that the engine writes to its manifest, unless the engine
// recovers from a fault of the manifest.
func (l *System) OnManifest(change func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := fileError(C.smolwc_files_begin_change(l.c)); err != nil {
		return err
	}
	defer C.smolwc_files_end_change(l.c)
	return native.Wrap(change())
}

// InDoubt reports whether a write to the manifest failed and no new manifest replaced it
// since.
func (l *System) InDoubt() bool { return C.smolwc_files_in_doubt(l.c) != 0 }

// EndRecovery waits, up to 10 seconds, until the engine no longer retries after an error.
// From then on no error makes it retry. Its background work must be cancelled before.
func (l *System) EndRecovery() { C.smolwc_files_end_recovery(l.c) }

// List is the names in a directory; exists is false when there is no such directory.
func (l *System) List(dir string) (names []string, exists bool, err error) {
	path := C.CString(dir)
	defer C.free(unsafe.Pointer(path))
	var text *C.char
	var there C.uint8_t
	if err := fileError(C.smolwc_files_list(l.c, path, &text, &there)); err != nil || there == 0 {
		return nil, false, err
	}
	defer C.free(unsafe.Pointer(text))
	return strings.Fields(C.GoString(text)), true, nil
}

func (l *System) MakeDir(dir string) error {
	path := C.CString(dir)
	defer C.free(unsafe.Pointer(path))
	return fileError(C.smolwc_files_make_dir(l.c, path))
}

func (l *System) RemoveDir(dir string) error {
	path := C.CString(dir)
	defer C.free(unsafe.Pointer(path))
	return fileError(C.smolwc_files_remove_dir(l.c, path))
}

// Read reads up to len(to) bytes of a file, fewer at its end; exists is false when
// there is no such file.
func (l *System) Read(name string, at int64, to []byte) (n int, exists bool, err error) {
	path := C.CString(name)
	defer C.free(unsafe.Pointer(path))
	var got C.int64_t
	err = fileError(C.smolwc_files_read(l.c, path, C.uint64_t(at), (*C.char)(unsafe.Pointer(unsafe.SliceData(to))), C.size_t(len(to)), &got))
	return int(max(got, 0)), got >= 0, err
}

// Modified is the time of a file's last write, in seconds since 1970.
func (l *System) Modified(name string) (int64, error) {
	path := C.CString(name)
	defer C.free(unsafe.Pointer(path))
	var at C.uint64_t
	err := fileError(C.smolwc_files_modified(l.c, path, &at))
	return int64(at), err
}

func (l *System) Remove(name string) error {
	path := C.CString(name)
	defer C.free(unsafe.Pointer(path))
	return fileError(C.smolwc_files_remove(l.c, path))
}

// AllowRemovals ends one DisableFileDeletions.
func AllowRemovals(db *grocksdb.DB) {
	C.smolwc_enable_deletions((*C.rocksdb_t)(native.Handle(db)))
}

func fileError(msg *C.char) error {
	if msg == nil {
		return nil
	}
	defer C.free(unsafe.Pointer(msg))
	return native.Wrap(errors.New(C.GoString(msg)))
}
