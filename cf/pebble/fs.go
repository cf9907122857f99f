package pebble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	engine "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/blob"
	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/time/rate"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/wal"
	"github.com/smolwc/smolwc/internal/claim"
)

// A system is the file system between Pebble and the disk. It does six things.
//
// A sync of the log only gives it to the operating system under Async, unless somebody
// waits for the disk: so a write that is acknowledged survives the end of the process,
// which Pebble's NoSync does not promise.
//
// A log that Pebble removes moves to another directory while somebody wants its changes.
// The file of a log is never used for another one: a reader beside the writer may have it
// open.
//
// Flushes and compactions write at a bounded rate.
//
// The file SYNCED says how much of the logs and the manifest is on the disk. If nothing
// says that the manifest is complete, table files that it does not name are moved aside in
// place of being removed.
//
// A directory that was moved or replaced is not touched.
//
// And it keeps errors from Pebble that Pebble cannot live with: errors of the log, the
// MANIFEST and their directory. A call that can be repeated is repeated until it succeeds,
// and the store takes no writes meanwhile. After a failed sync the contents of the disk are
// unknown: the store is lost until it is opened again. Pebble goes on, over a disk that no
// longer changes, so that its calls return. The callers look whether the store is lost, and
// say so.
type system struct {
	vfs.FS
	dir    string
	disk   vfs.FS // as it is now, also for a reader
	async  atomic.Bool
	must   atomic.Int64 // writes that wait for the disk
	keep   atomic.Bool
	ends   sync.Map // int64 by the name of a log: where its whole records end, if a crash cut it off
	syncs  atomic.Int64
	moving sync.RWMutex
	// shelving is held while a log moves to the kept ones with its note, and while all of them go.
	shelving sync.Mutex
	locking  sync.Mutex
	lock     *dirLock
	claim    *claim.Claim // nil in memory
	pace     *rate.Limiter
	life     context.Context // after its end nothing is paced

	opened  atomic.Bool // before it nothing is repeated
	ended   atomic.Bool // nothing is repeated any longer
	waits   atomic.Int64
	failing atomic.Pointer[error] // why there are waits

	repeating sync.Mutex
	bad       chan struct{} // closed while there are waits

	saying sync.Mutex
	said   *syncing        // nil where nothing is on a disk
	strays map[string]bool // table files that are moved aside; never changed
	logger *slog.Logger    // may be nil

	newest  atomic.Pointer[vitalFile]         // the log that is written
	copying atomic.Pointer[func(path string)] // called when a directory is made

	lost chan struct{}
	once sync.Once
	why  error // set before lost is closed
}

func (s *system) archive() string { return s.FS.PathJoin(s.dir, archiveDir) }

// logBytes is the size of the logs in a directory.
func (s *system) logBytes(dir string) (sum int64) {
	names, _ := s.FS.List(dir)
	for _, name := range names {
		if !isLog(name) {
			continue
		}
		if info, err := s.FS.Stat(s.FS.PathJoin(dir, name)); err == nil {
			sum += info.Size()
		}
	}
	return sum
}

// lose makes the store lost.
func (s *system) lose(err error) {
	s.once.Do(func() {
		s.why = err
		close(s.lost)
	})
}

// block loses the store and does not return. The goroutines that wait here stay until the
// process ends.
func (s *system) block(err error) {
	s.lose(err)
	select {}
}

func (s *system) isLost() bool {
	select {
	case <-s.lost:
		return true
	default:
		return false
	}
}

// alive does not return once the store is lost: table files are no longer made, since the
// directory may belong to another store.
func (s *system) alive() {
	if s.isLost() {
		select {}
	}
}

// retry is the time between two attempts.
const retry = 50 * time.Millisecond

// again repeats a call until it succeeds. It does nothing once the store is lost.
func (s *system) again(call func() error) error {
	if s.isLost() {
		return nil
	}
	err := call()
	if err == nil || notExist(err) || !s.opened.Load() {
		return err
	}
	s.repeats(err)
	defer s.repeated()
	for !s.ended.Load() && !s.isLost() {
		time.Sleep(retry)
		if err := call(); err == nil || notExist(err) {
			return err
		}
	}
	s.lose(err)
	return nil
}

// repeats notes that a call is repeated, and why.
func (s *system) repeats(err error) {
	s.failing.Store(&err)
	s.repeating.Lock()
	defer s.repeating.Unlock()
	if s.waits.Add(1) == 1 {
		close(s.bad)
		if s.logger != nil {
			s.logger.Error("writes are refused", "err", err)
		}
	}
}

func (s *system) repeated() {
	s.repeating.Lock()
	defer s.repeating.Unlock()
	if s.waits.Add(-1) == 0 {
		s.bad = make(chan struct{})
		if s.logger != nil {
			s.logger.Info("writes are taken again")
		}
	}
}

// reason is why a call is repeated, or was.
func (s *system) reason() error {
	if err := s.failing.Load(); err != nil {
		return *err
	}
	return errors.New("the disk does not answer")
}

// trouble is closed when a call is repeated.
func (s *system) trouble() <-chan struct{} {
	s.repeating.Lock()
	defer s.repeating.Unlock()
	return s.bad
}

// synced loses the store after a failed sync: Pebble ends the process for some of them.
func (s *system) synced(err error) error {
	if err != nil {
		s.lose(err)
	}
	return nil
}

// inPlace returns an error if the path of the database now leads elsewhere.
func (s *system) inPlace() error {
	if s.claim != nil && !s.claim.Holds(s.dir) {
		return fmt.Errorf("%w: %s was moved or replaced while the database was open", cf.ErrUnavailable, s.dir)
	}
	return nil
}

// own is the name of a file of the database's directory, "" for another file.
func (s *system) own(path string) string {
	if s.FS.PathDir(path) != s.dir {
		return ""
	}
	return s.FS.PathBase(path)
}

func (s *system) Create(name string, c vfs.DiskWriteCategory) (f vfs.File, err error) {
	if !isVital(name) {
		if c == loadCategory && s.isLost() { // its caller does not wait for ever
			return nil, fmt.Errorf("%w: the database must be opened again: %w", cf.ErrUnavailable, s.why)
		}
		s.alive()
		if err := s.inPlace(); err != nil {
			return nil, err
		}
		f, err := s.FS.Create(name, c)
		if err == nil && isTable(name) && c != loadCategory {
			f = &tableFile{f, s}
		}
		return f, err
	}
	err = s.again(func() (err error) {
		if err := s.inPlace(); err != nil {
			return err
		}
		f, err = s.FS.Create(name, c)
		return err
	})
	return s.vital(name, f, err)
}

func (s *system) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (f vfs.File, err error) {
	if isLog(from) {
		if err := s.Remove(from); err != nil {
			return nil, err
		}
		return s.Create(to, c)
	}
	if !isVital(to) {
		s.alive()
		if err := s.inPlace(); err != nil {
			return nil, err
		}
		return s.FS.ReuseForWrite(from, to, c)
	}
	err = s.again(func() (err error) {
		if err := s.inPlace(); err != nil {
			return err
		}
		f, err = s.FS.ReuseForWrite(from, to, c)
		return err
	})
	return s.vital(to, f, err)
}

// Open looks at blob files: Pebble ends the process when one that it opens is missing or
// damaged at its end, unless the error is of a kind that it does not know.
func (s *system) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	f, err := s.FS.Open(name, o...)
	if !strings.HasSuffix(name, ".blob") {
		return f, err
	}
	if err == nil {
		err = footer(s.FS, name)
	}
	switch base := s.FS.PathBase(name); {
	case err == nil:
		return f, nil
	case notExist(err):
		err = fmt.Errorf("%w: %s is not there", cf.ErrCorrupt, base)
	case engine.IsCorruptionError(err):
		err = fmt.Errorf("%w: %s: %v", cf.ErrCorrupt, base, err)
	}
	if f != nil {
		_ = f.Close() // nothing was read
	}
	return nil, err
}

// footer reads the end of a blob file.
func footer(fs vfs.FS, name string) error {
	f, err := fs.Open(name)
	if err != nil {
		return err
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	r, err := blob.NewFileReader(context.Background(), readable, blob.FileReaderOptions{})
	if err != nil {
		_ = readable.Close()
		return err
	}
	return r.Close()
}

func (s *system) vital(name string, f vfs.File, err error) (vfs.File, error) {
	if err == nil && f == nil { // the store is lost
		f, err = vfs.NewMem().Create(s.FS.PathBase(name), vfs.WriteCategoryUnspecified)
	}
	if err != nil {
		return nil, err
	}
	v := &vitalFile{File: f, s: s, log: isLog(name)}
	if v.log {
		s.newest.Store(v)
	}
	if base := s.own(name); isLog(base) || strings.HasPrefix(base, "MANIFEST-") {
		v.name = base
	}
	return v, nil
}

func (s *system) Link(from, to string) error {
	s.alive()
	if err := s.inPlace(); err != nil {
		return err
	}
	return s.FS.Link(from, to)
}

func (s *system) Rename(from, to string) error {
	if err := s.inPlace(); err != nil {
		return err
	}
	return s.FS.Rename(from, to)
}

func (s *system) RemoveAll(name string) error {
	if err := s.inPlace(); err != nil {
		return err
	}
	return s.FS.RemoveAll(name)
}

func (s *system) OpenDir(name string) (vfs.File, error) {
	f, err := s.FS.OpenDir(name)
	return s.vital(name, f, err)
}

func (s *system) Remove(name string) error {
	switch {
	case s.isLost():
		return nil
	case isLog(name) && s.keep.Load() && filepath.Base(filepath.Dir(name)) != archiveDir:
		return s.shelve(name)
	case isVital(name):
		return s.again(func() error { return cmp.Or(s.removing(name), s.FS.Remove(name)) })
	}
	if err := s.inPlace(); err != nil {
		return err
	}
	if s.strays[s.own(name)] {
		return s.setAside(name)
	}
	return s.FS.Remove(name)
}

// shelve moves a log to those that are kept, and notes where its records end: a crash may have
// cut it off, so its end does not say whether something is missing.
func (s *system) shelve(name string) error {
	s.shelving.Lock()
	defer s.shelving.Unlock()
	if !s.keep.Load() {
		return s.again(func() error { return cmp.Or(s.removing(name), s.FS.Remove(name)) })
	}
	base := s.FS.PathBase(name)
	end, err := s.endOfRecords(name)
	if err == nil {
		err = s.again(func() error { return replace(s.FS, s.FS.PathJoin(s.archive(), endOf(base)), fmt.Append(nil, end)) })
	}
	if err != nil && s.logger != nil {
		s.logger.Warn("a log is kept without a note of its end", "log", base, "err", err)
	}
	s.moving.Lock() // nobody reads the logs meanwhile
	defer s.moving.Unlock()
	return s.again(func() error {
		return cmp.Or(s.removing(name), s.FS.Rename(name, s.FS.PathJoin(s.archive(), base)))
	})
}

// endOfRecords is where the last whole record of a log ends.
func (s *system) endOfRecords(name string) (at int64, err error) {
	if end, torn := s.ends.Load(s.FS.PathBase(name)); torn {
		return end.(int64), nil
	}
	f, err := s.FS.Open(name)
	if err != nil {
		return 0, err
	}
	r := wal.Reader{Layout: wal.Pebble, Read: func(at int64, to []byte) (int, error) {
		n, err := f.ReadAt(to, at)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return n, err
	}}
	for err == nil {
		_, err = r.Next()
	}
	if errors.Is(err, wal.ErrEnd) {
		err = nil
	}
	return r.At, errors.Join(err, f.Close())
}

// knownEnd is where the whole records of a log end, if a crash cut it off or it is kept.
func (s *system) knownEnd(log string) (end int64, known bool, err error) {
	if end, torn := s.ends.Load(log); torn {
		return end.(int64), true, nil
	}
	text, err := readAll(s.disk, s.FS.PathJoin(s.archive(), endOf(log)))
	if notExist(err) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, wrap(err)
	}
	if end, err = strconv.ParseInt(string(text), 10, 64); err != nil {
		return 0, false, fmt.Errorf("%w: %s: %q is no position", cf.ErrCorrupt, endOf(log), text)
	}
	return end, true, nil
}

// removing is called before a vital file goes.
func (s *system) removing(name string) error {
	if err := s.inPlace(); err != nil || s.said == nil || s.own(name) == "" {
		return err
	}
	s.saying.Lock()
	defer s.saying.Unlock()
	return s.said.removing(s.own(name))
}

// note takes the length of a file that is on the disk.
func (s *system) note(name string, bytes int64) {
	if s.said == nil || name == "" || s.isLost() || s.inPlace() != nil {
		return
	}
	s.saying.Lock()
	defer s.saying.Unlock()
	s.said.note(name, bytes)
}

// setAside moves a table file to where it does no harm.
func (s *system) setAside(name string) error {
	dir := s.FS.PathJoin(s.dir, straysDir)
	if err := s.FS.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if s.logger != nil {
		s.logger.Warn("a table file that the manifest does not name is moved aside, because the manifest may be incomplete; remove it once you see that no data is missing",
			"file", s.own(name), "dir", dir)
	}
	return s.FS.Rename(name, s.FS.PathJoin(dir, s.FS.PathBase(name)))
}

// List leaves out the file that names the engine.
func (s *system) List(dir string) ([]string, error) {
	names, err := s.FS.List(dir)
	return slices.DeleteFunc(names, func(n string) bool { return n == currentFile }), err
}

// Lock takes Pebble's own lock, which older versions and other programs respect.
func (s *system) Lock(name string) (io.Closer, error) {
	s.locking.Lock()
	defer s.locking.Unlock()
	if s.isLost() { // perhaps its open has returned
		return nil, s.why
	}
	c, err := s.FS.Lock(name)
	_, unopened := errors.AsType[*os.PathError](err)
	switch {
	case err == nil, unopened:
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EACCES):
		err = fmt.Errorf("%w: %w", cf.ErrBusy, err)
	case strings.Contains(err.Error(), "current process"):
		err = fmt.Errorf("%w: %w", cf.ErrOpenHere, err)
	}
	if err != nil {
		return nil, err
	}
	s.lock = &dirLock{Closer: c}
	return s.lock, nil
}

// A dirLock is Pebble's lock of the directory. It is given up once.
type dirLock struct {
	io.Closer
	once sync.Once
}

func (c *dirLock) Close() (err error) {
	c.once.Do(func() { err = c.Closer.Close() })
	return err
}

// unlock gives up Pebble's lock of the directory, if it was taken.
func (s *system) unlock() error {
	s.locking.Lock()
	defer s.locking.Unlock()
	if s.lock == nil {
		return nil
	}
	return s.lock.Close()
}

func (s *system) Unwrap() vfs.FS { return s.FS }

// A vitalFile is a file without which Pebble cannot go on.
type vitalFile struct {
	vfs.File
	s       *system
	log     bool
	name    string // in SYNCED, "" if it is not there
	written atomic.Int64

	closing sync.Mutex // held while a log is synced by syncLog
	closed  bool
}

// syncLog syncs the log to the disk, also under Async. A log that was
// closed is there.
func (s *system) syncLog() error {
	f := s.newest.Load()
	if f == nil || s.isLost() {
		return nil
	}
	f.closing.Lock()
	defer f.closing.Unlock()
	if f.closed {
		return nil
	}
	s.syncs.Add(1)
	return s.synced(f.File.SyncData())
}

// MkdirAll tells of the directory, if somebody waits for that.
func (s *system) MkdirAll(dir string, perm os.FileMode) error {
	if fn := s.copying.Load(); fn != nil {
		(*fn)(dir)
	}
	return s.FS.MkdirAll(dir, perm)
}

func (f *vitalFile) Write(p []byte) (n int, err error) {
	err = f.s.again(func() error {
		k, err := f.File.Write(p[n:])
		n += k
		return err
	})
	if err == nil {
		n = len(p) // also if the store is lost
		f.written.Add(int64(n))
	}
	return n, err
}

// Preallocate takes some room for a file that grows, and not for all of a log: a database of
// a few rows stays small. A disk without that room may have enough for these.
func (f *vitalFile) Preallocate(offset, length int64) error {
	if !f.s.isLost() {
		_ = f.File.Preallocate(offset, min(length, preallocated))
	}
	return nil
}

const preallocated = 1 << 20

func (f *vitalFile) Sync() error     { return f.sync(f.File.Sync) }
func (f *vitalFile) SyncData() error { return f.sync(f.File.SyncData) }

func (f *vitalFile) SyncTo(length int64) (full bool, err error) {
	if f.s.isLost() {
		return true, nil
	}
	full, err = f.File.SyncTo(length)
	return full, f.s.synced(err)
}

func (f *vitalFile) sync(sync func() error) error {
	if f.s.isLost() {
		return nil
	}
	if f.log {
		if f.s.async.Load() && f.s.must.Load() == 0 {
			return nil
		}
		f.s.syncs.Add(1)
	}
	written := f.written.Load()
	err := sync()
	if err == nil && !f.log {
		f.s.note(f.name, written)
	}
	return f.s.synced(err)
}

// Close syncs the log, also under Async: Pebble takes a log that was not closed well, and
// is followed by a later one, for damaged.
func (f *vitalFile) Close() error {
	f.closing.Lock()
	defer f.closing.Unlock()
	f.closed = true
	var err error
	if f.log && f.s.async.Load() && !f.s.isLost() {
		err = f.File.Sync()
	}
	if err = errors.Join(err, f.File.Close()); err == nil && f.log {
		f.s.note(f.name, f.written.Load()) // its last bytes were synced by Pebble, or just now
	}
	return f.s.synced(err)
}

// Stat is called for a log that is new.
func (f *vitalFile) Stat() (info vfs.FileInfo, err error) {
	err = f.s.again(func() (err error) {
		info, err = f.File.Stat()
		return err
	})
	if err == nil && info == nil { // the store is lost
		empty, err := vfs.NewMem().Create("lost", vfs.WriteCategoryUnspecified)
		if err != nil {
			return nil, err
		}
		return empty.Stat()
	}
	return info, err
}

// A tableFile is written in the background. Pebble begins again at once when that fails, so
// an error comes late.
type tableFile struct {
	vfs.File
	s *system
}

func (f *tableFile) Write(p []byte) (n int, err error) {
	if f.s.pace != nil {
		n, err = f.paced(p)
	} else {
		n, err = f.File.Write(p)
	}
	if err != nil && f.s.opened.Load() && !f.s.ended.Load() {
		time.Sleep(retry)
	}
	return n, err
}

func (f *tableFile) paced(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		part := p[:min(len(p), f.s.pace.Burst())]
		if f.s.pace.WaitN(f.s.life, len(part)) != nil {
			part = p // the store is about to be closed
		}
		var k int
		k, err = f.File.Write(part)
		n, p = n+k, p[len(part):]
	}
	return n, err
}

const (
	fileSize     = 64 << 20
	loadCategory = "smolwc-load"
)
