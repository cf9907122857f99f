package rocks

// #include <stdlib.h>
// #include "changes_files.h"
import "C"

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks/internal/native"
	"github.com/smolwc/smolwc/internal/claim"
)

// logFiles is the file system of a database: the disk's or one in memory, and in
// it the logs that RocksDB writes, and those that it has no more use for.
type logFiles struct{ c *C.smolwc_files }

// newLogFiles has a database that is opened with the options use it.
func newLogFiles(o *grocksdb.Options, inMemory bool) *logFiles {
	return &logFiles{C.smolwc_files_new((*C.rocksdb_options_t)(native.Handle(o)), flag(inMemory))}
}

func (l *logFiles) free() { C.smolwc_files_free(l.c) }

// guard has RocksDB touch nothing in dir once it is no longer the claimed directory.
func (l *logFiles) guard(dir string, c *claim.Claim) {
	path := C.CString(dir)
	defer C.free(unsafe.Pointer(path))
	device, inode := c.Identity()
	C.smolwc_files_guard(l.c, path, C.uint64_t(device), C.uint64_t(inode))
}

// keep has RocksDB move logs to the archive instead of deleting them, or not any
// more.
func (l *logFiles) keep(keep bool) { C.smolwc_files_keep(l.c, flag(keep)) }

func (l *logFiles) keeps() bool { return C.smolwc_files_keeps(l.c) != 0 }

// holdOptions has RocksDB write no file of options, or write them again.
func (l *logFiles) holdOptions(hold bool) { C.smolwc_files_hold_options(l.c, flag(hold)) }

// begin says where the database lies, and has its file SYNCED kept, which has this
// text now.
func (l *logFiles) begin(dir string, synced []byte) {
	path := C.CString(dir)
	defer C.free(unsafe.Pointer(path))
	C.smolwc_files_begin(l.c, path, (*C.char)(unsafe.Pointer(unsafe.SliceData(synced))), C.size_t(len(synced)))
}

// claim takes over what SYNCED says of a file.
func (l *logFiles) claim(name string, bytes int64) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	C.smolwc_files_claim(l.c, text, C.uint64_t(bytes))
}

// end has a file end before what was left unwritten of it.
func (l *logFiles) end(name string, size int64) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	C.smolwc_files_end(l.c, text, C.uint64_t(size))
}

// spare has RocksDB move table and blob files to the directory strays instead of
// deleting them, or not any more. It returns how many it has moved.
func (l *logFiles) spare(spare bool) uint64 { return uint64(C.smolwc_files_spare(l.c, flag(spare))) }

// begun is how many logs there have been since the database was opened.
func (l *logFiles) begun() uint64 { return uint64(C.smolwc_files_begun(l.c)) }

// lasting is an error that does not pass: the engine takes no more until it is opened
// anew.
func (l *logFiles) lasting() error { return fileError(C.smolwc_files_lasting(l.c)) }

// takesFiles is an error when the engine takes no files of a load: while it recovers
// from an error, and with some versions after a full disk.
func (l *logFiles) takesFiles() error {
	if err := fileError(C.smolwc_files_recovering(l.c)); err != nil {
		return err
	}
	if C.smolwc_files_was_full(l.c) != 0 {
		return fmt.Errorf("%w: the disk was full; this version of RocksDB takes loads again when the database has been opened anew, and writes at once", cf.ErrUnavailable)
	}
	return nil
}

// inDoubt reports whether a write to the manifest has failed, and no other one is in
// force since.
func (l *logFiles) inDoubt() bool { return C.smolwc_files_in_doubt(l.c) != 0 }

// changeManifest makes a change that the engine writes to its manifest. Where that
// fails, the engine recovers by another manifest, and expects that no file has been
// removed since: of its own changes it sees to that, of those that it is asked for it
// does not, and ends the process.
func (s *Store) changeManifest(change func() error) error {
	if err := s.db.DisableFileDeletions(); err != nil {
		return native.Wrap(err)
	}
	err := native.Wrap(change())
	s.held.Add(1)
	s.releaseFiles()
	return err
}

// releaseFiles lets the engine remove files again when its manifest is not in doubt.
func (s *Store) releaseFiles() {
	for n := s.held.Load(); n > 0 && !s.engine.logs.inDoubt(); n = s.held.Load() {
		if s.held.CompareAndSwap(n, n-1) {
			C.smolwc_enable_deletions(dbHandle(s.db))
		}
	}
}

// awaitRecovery waits until the engine does not try again after an error, which it
// does each second. Its background work is cancelled.
func (l *logFiles) awaitRecovery() { C.smolwc_files_await_recovery(l.c) }

// list is the names in a directory; exists is false when there is none.
func (l *logFiles) list(dir string) (names []string, exists bool, err error) {
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

func (l *logFiles) makeDir(dir string) error {
	path := C.CString(dir)
	defer C.free(unsafe.Pointer(path))
	return fileError(C.smolwc_files_make_dir(l.c, path))
}

func (l *logFiles) removeDir(dir string) error {
	path := C.CString(dir)
	defer C.free(unsafe.Pointer(path))
	return fileError(C.smolwc_files_remove_dir(l.c, path))
}

// read reads up to len(to) bytes of a file, fewer at its end; exists is false when
// there is no such file.
func (l *logFiles) read(name string, at int64, to []byte) (n int, exists bool, err error) {
	path := C.CString(name)
	defer C.free(unsafe.Pointer(path))
	var got C.int64_t
	err = fileError(C.smolwc_files_read(l.c, path, C.uint64_t(at), (*C.char)(unsafe.Pointer(unsafe.SliceData(to))), C.size_t(len(to)), &got))
	return int(max(got, 0)), got >= 0, err
}

// modified is when a file was written last, in seconds since 1970.
func (l *logFiles) modified(name string) (int64, error) {
	path := C.CString(name)
	defer C.free(unsafe.Pointer(path))
	var at C.uint64_t
	err := fileError(C.smolwc_files_modified(l.c, path, &at))
	return int64(at), err
}

func (l *logFiles) remove(name string) error {
	path := C.CString(name)
	defer C.free(unsafe.Pointer(path))
	return fileError(C.smolwc_files_remove(l.c, path))
}

func fileError(msg *C.char) error {
	if msg == nil {
		return nil
	}
	defer C.free(unsafe.Pointer(msg))
	return native.Wrap(errors.New(C.GoString(msg)))
}
