package pebble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/wal"
)

// A pinned is the file system of a reader beside a writer: the files of a database as they
// were at one moment. They are open, so that they can be read after the writer removes
// them, and end where they ended then. Nothing is written, and nothing is locked.
//
// All files of the moment are there, because the manifest did not change while they were
// opened: a writer removes files only after the manifest drops them. A log contains all
// that was acknowledged before it was measured, and the last of them may end within a
// batch. A writer never uses the file of a log again.
type pinned struct {
	vfs.FS
	dir   string
	stamp stamp
	files map[string]*pinnedFile // by name in dir
}

// A stamp changes when a database is written.
type stamp struct {
	manifest string
	length   int64            // of the manifest
	logs     map[string]int64 // their lengths
}

func (a stamp) equal(b stamp) bool {
	return a.manifest == b.manifest && a.length == b.length && maps.Equal(a.logs, b.logs)
}

// ErrCreating is the error of a reader of a database that a writer is creating, or was
// creating when it ended. It matches [cf.ErrUnavailable].
var ErrCreating = fmt.Errorf("%w: it is being created; try again, or open it for writing, which finishes it", cf.ErrUnavailable)

// A reader gives up after this time and this many tries.
const (
	pinPatience = 10 * time.Second
	pinTries    = 20
)

var errMoved = fmt.Errorf("the writer changes files faster than they can be opened; try again: %w", cf.ErrUnavailable)

// pin opens the files of a database.
func pin(ctx context.Context, fs vfs.FS, dir string) (*pinned, error) {
	began := time.Now()
	for n := 1; ; n++ {
		p, err := pinOnce(fs, dir)
		if !errors.Is(err, errMoved) || n >= pinTries && time.Since(began) > pinPatience {
			return p, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(tryPause):
		}
	}
}

// pinOnce fails with errMoved if the writer changed the manifest meanwhile.
func pinOnce(fs vfs.FS, dir string) (p *pinned, err error) {
	p = &pinned{FS: fs, dir: dir, files: map[string]*pinnedFile{}}
	defer func() {
		if err != nil {
			p.close()
			p = nil
		}
	}()
	said, err := p.synced()
	if err != nil {
		return p, err
	}
	if p.stamp, err = stampOf(fs, dir); err != nil {
		return p, err
	}
	// Tables are listed after the logs were measured: a log names the tables of loads, which
	// are there before it does.
	names, err := fs.List(dir)
	if err != nil {
		return p, wrap(err)
	}
	ready := false
	for _, name := range names {
		ready = ready || strings.HasPrefix(name, "marker.format-version.")
		length := int64(-1)
		switch measured, isLog := p.stamp.logs[name]; {
		case isLog:
			length = measured
		case name == p.stamp.manifest:
			length = p.stamp.length
		case isTable(name), strings.HasPrefix(name, "OPTIONS-"), strings.HasPrefix(name, "marker."):
		default:
			continue
		}
		if err := p.open(name, length); err != nil && !notExist(err) {
			return p, wrap(err)
		}
	}
	// SYNCED is pinned as it was before the logs were measured: a later one says that they are
	// longer. A log is removed only after SYNCED drops it.
	if said != nil {
		if err := p.open(wal.SyncedFile, -1); err != nil && !notExist(err) {
			return p, wrap(err)
		}
	}
	still, err := p.synced()
	if err != nil {
		return p, err
	}
	now, err := stampOf(fs, dir)
	switch {
	case err != nil:
		return p, err
	case !bytes.Equal(said, still):
		return p, errMoved
	case now.manifest != p.stamp.manifest || now.length != p.stamp.length:
		return p, errMoved
	case !ready:
		return p, ErrCreating
	}
	for name := range p.stamp.logs {
		if p.files[name] == nil {
			delete(p.stamp.logs, name) // the manifest had forgotten it
		}
	}
	return p, nil
}

// synced is the text of SYNCED, nil without it.
func (p *pinned) synced() ([]byte, error) {
	text, err := readAll(p.FS, p.FS.PathJoin(p.dir, wal.SyncedFile))
	if notExist(err) {
		return nil, nil
	}
	return text, wrap(err)
}

// open opens a file, and fixes its length if that is not negative.
func (p *pinned) open(name string, length int64) error {
	f, err := p.FS.Open(p.FS.PathJoin(p.dir, name))
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if length < 0 {
		length = info.Size()
	}
	p.files[name] = &pinnedFile{File: f, info: pinnedInfo{info, length}}
	return nil
}

func (p *pinned) close() {
	for _, f := range p.files {
		_ = f.File.Close() // it was read
	}
}

func stampOf(fs vfs.FS, dir string) (s stamp, err error) {
	names, err := fs.List(dir)
	if err != nil {
		if notExist(err) {
			return s, fmt.Errorf("%w: %w", cf.ErrNotExist, err)
		}
		return s, wrap(err)
	}
	if s.manifest, err = atomicfs.ReadMarker(fs, dir, "manifest"); err != nil {
		return s, wrap(err)
	}
	if s.manifest == "" {
		for _, name := range names {
			if name == currentFile || strings.HasPrefix(name, "MANIFEST-") {
				return s, ErrCreating
			}
		}
		return s, fmt.Errorf("%w: %s holds no database", cf.ErrNotExist, dir)
	}
	info, err := fs.Stat(fs.PathJoin(dir, s.manifest))
	switch {
	case notExist(err):
		return s, errMoved
	case err != nil:
		return s, wrap(err)
	}
	s.length, s.logs = info.Size(), map[string]int64{}
	for _, name := range names {
		if !isLog(name) {
			continue
		}
		info, err := fs.Stat(fs.PathJoin(dir, name))
		switch {
		case err == nil:
			s.logs[name] = info.Size()
		case !notExist(err):
			return s, wrap(err)
		}
	}
	return s, nil
}

func (p *pinned) find(name string) (*pinnedFile, error) {
	if p.FS.PathDir(name) == p.dir {
		if f := p.files[p.FS.PathBase(name)]; f != nil {
			return f, nil
		}
	}
	return nil, &os.PathError{Op: "open", Path: name, Err: os.ErrNotExist}
}

// Open implements vfs.FS.
func (p *pinned) Open(name string, options ...vfs.OpenOption) (vfs.File, error) {
	f, err := p.find(name)
	if err != nil {
		return nil, err
	}
	h := &pinnedReader{f, io.NewSectionReader(f.File, 0, f.info.length)}
	for _, o := range options {
		o.Apply(h)
	}
	return h, nil
}

// Stat implements vfs.FS.
func (p *pinned) Stat(name string) (vfs.FileInfo, error) {
	f, err := p.find(name)
	if err != nil {
		return nil, err
	}
	return f.info, nil
}

// List implements vfs.FS.
func (p *pinned) List(dir string) (names []string, err error) {
	if dir != p.dir {
		return nil, &os.PathError{Op: "open", Path: dir, Err: os.ErrNotExist}
	}
	for name := range p.files {
		names = append(names, name)
	}
	return names, nil
}

// Lock takes no lock.
func (p *pinned) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// Unwrap implements vfs.FS.
func (p *pinned) Unwrap() vfs.FS { return p.FS }

// The rest would write.

func (p *pinned) Create(string, vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, cf.ErrReadOnly
}

func (p *pinned) OpenReadWrite(string, vfs.DiskWriteCategory, ...vfs.OpenOption) (vfs.File, error) {
	return nil, cf.ErrReadOnly
}

func (p *pinned) ReuseForWrite(_, _ string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, cf.ErrReadOnly
}

func (p *pinned) Link(_, _ string) error             { return cf.ErrReadOnly }
func (p *pinned) Remove(string) error                { return cf.ErrReadOnly }
func (p *pinned) RemoveAll(string) error             { return cf.ErrReadOnly }
func (p *pinned) Rename(_, _ string) error           { return cf.ErrReadOnly }
func (p *pinned) MkdirAll(string, os.FileMode) error { return cf.ErrReadOnly }

// A pinnedFile is open until the reader is closed.
type pinnedFile struct {
	vfs.File
	info pinnedInfo
}

type pinnedInfo struct {
	vfs.FileInfo
	length int64
}

func (i pinnedInfo) Size() int64 { return i.length }

// A pinnedReader reads a pinned file from its beginning.
type pinnedReader struct {
	*pinnedFile
	section *io.SectionReader
}

func (r *pinnedReader) Read(p []byte) (int, error)             { return r.section.Read(p) }
func (r *pinnedReader) ReadAt(p []byte, at int64) (int, error) { return r.section.ReadAt(p, at) }
func (r *pinnedReader) Stat() (vfs.FileInfo, error)            { return r.info, nil }
func (r *pinnedReader) Close() error                           { return nil }
func (r *pinnedReader) Write([]byte) (int, error)              { return 0, cf.ErrReadOnly }
func (r *pinnedReader) WriteAt([]byte, int64) (int, error)     { return 0, cf.ErrReadOnly }
