package standby

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/smolwc/smolwc/cf"
)

// A spool keeps records of a log on the disk that were received and not applied yet. One goroutine
// appends, and another one reads and applies.
//
// Its files are named by the position after which their first record comes. A record is its CRC-32C (4 bytes) and then, under that, its
// length (4), the positions before and at its end, the microseconds of its time (8 each), and its data. Numbers are big-endian.
type spool struct {
	dir string
	// most bounds the bytes on the disk, about; 0 is no bound.
	most int64

	mu      sync.Mutex
	files   []*spoolFile
	ended   *spoolFile    // the one before them, for the time of its last record; nil without one
	loads   int64         // bytes of files of loads
	wanted  int64         // bytes of a record that waits for room
	freed   chan struct{} // closed when there may be more room
	out     *os.File      // the last file
	dirty   bool
	last    spooled // the newest record; its end is 0 without one
	done    spooled // the newest one that was applied, if it is known
	changed chan struct{}

	in     *os.File // the first file; of the reader
	offset int64    // of the next record in it
}

type spoolFile struct {
	path    string
	size    int64
	applied int64 // of the records that were applied when the spool was opened
}

// A spooled is a record without its data.
type spooled struct {
	after, last cf.Position
	time        int64
	crc         uint32 // of the data
	size        int64  // in the file
}

const (
	spoolLoads     = "loads"
	spoolHead      = 4 + 4 + 8 + 8 + 8
	spoolFileBytes = 16 << 20
	mostRecord     = 1 << 30
)

func spoolName(after cf.Position) string { return fmt.Sprintf("%020d.spool", after) }

// openSpool opens or makes a spool in a directory, whose records up to a position were applied. A
// record cut off by a crash ends it. note is called with each record that was not applied.
func openSpool(dir string, applied cf.Position, note func(*cf.LogRecord) error) (*spool, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	s := &spool{dir: dir, changed: make(chan struct{}), freed: make(chan struct{})}
	names, err := filepath.Glob(filepath.Join(dir, "*.spool"))
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	if s.loads, err = sizeBelow(filepath.Join(dir, spoolLoads)); err != nil {
		return nil, err
	}
	at, ended := cf.Position(0), false
	for _, path := range names {
		if ended {
			if err := os.Remove(path); err != nil {
				return nil, err
			}
			continue
		}
		f := &spoolFile{path: path}
		err := f.scan(func(r *cf.LogRecord, is spooled) error {
			switch {
			case at != 0 && is.after != at:
				return errSpoolEnds
			case is.last <= applied:
				s.done = is
			case at == 0 && is.after != applied, is.after < applied: // it does not continue the database
				return errSpoolEnds
			default:
				if err := note(r); err != nil {
					return err
				}
			}
			at, s.last = is.last, is
			f.size += is.size
			if is.last <= applied {
				f.applied = f.size
			}
			return nil
		})
		if err != nil && !errors.Is(err, errSpoolEnds) {
			return nil, err
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if ended = f.size == 0 || f.size < info.Size(); f.size == 0 {
			if err := os.Remove(path); err != nil {
				return nil, err
			}
			continue
		}
		if err := os.Truncate(path, f.size); err != nil {
			return nil, err
		}
		s.files = append(s.files, f)
	}
	return s, s.openEnds()
}

// errSpoolEnds: what follows in a file is no record that continues the spool.
var errSpoolEnds = errors.New("the spool ends")

// scan calls fn for each record of a file, until one is cut off.
func (f *spoolFile) scan(fn func(*cf.LogRecord, spooled) error) error {
	in, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer in.Close()
	for at := int64(0); ; {
		r, is, err := readSpooled(in, at)
		if err != nil {
			return err
		}
		if err := fn(r, is); err != nil {
			return err
		}
		at += is.size
	}
}

// readSpooled reads the record at a place of a file; the error is errSpoolEnds without one.
func readSpooled(in io.ReaderAt, at int64) (*cf.LogRecord, spooled, error) {
	var head [spoolHead]byte
	if _, err := in.ReadAt(head[:], at); err != nil {
		return nil, spooled{}, cutOff(err)
	}
	size := binary.BigEndian.Uint32(head[4:])
	if size > mostRecord {
		return nil, spooled{}, errSpoolEnds
	}
	data := make([]byte, size)
	if _, err := in.ReadAt(data, at+spoolHead); err != nil {
		return nil, spooled{}, cutOff(err)
	}
	if binary.BigEndian.Uint32(head[:]) != crcOfSpooled(head[4:], data) {
		return nil, spooled{}, errSpoolEnds
	}
	is := spooled{
		after: cf.Position(binary.BigEndian.Uint64(head[8:])), last: cf.Position(binary.BigEndian.Uint64(head[16:])),
		time: int64(binary.BigEndian.Uint64(head[24:])), crc: crc(data), size: spoolHead + int64(size),
	}
	return &cf.LogRecord{After: is.after, Last: is.last, Time: is.time, Data: data}, is, nil
}

func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errSpoolEnds
	}
	return err
}

func crcOfSpooled(head, data []byte) uint32 { return crc(slices.Concat(head, data)) }

// openEnds opens the files that are written and read.
func (s *spool) openEnds() (err error) {
	if s.in, s.out = nil, nil; len(s.files) == 0 {
		return nil
	}
	s.offset = s.files[0].applied
	if s.in, err = os.Open(s.files[0].path); err != nil {
		return err
	}
	s.out, err = os.OpenFile(s.files[len(s.files)-1].path, os.O_RDWR, 0)
	return err
}

// append adds a record. It is on the disk after the next sync.
func (s *spool) append(r *cf.LogRecord) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.files); n == 0 || s.files[n-1].size >= s.fileBytes() {
		if err := s.begin(r.After); err != nil {
			return err
		}
	}
	text := make([]byte, 4, spoolHead+len(r.Data))
	text = binary.BigEndian.AppendUint32(text, uint32(len(r.Data)))
	for _, n := range []uint64{uint64(r.After), uint64(r.Last), uint64(r.Time)} {
		text = binary.BigEndian.AppendUint64(text, n)
	}
	text = append(text, r.Data...)
	binary.BigEndian.PutUint32(text, crc(text[4:]))
	f := s.files[len(s.files)-1]
	if _, err := s.out.WriteAt(text, f.size); err != nil { // the next one is written over it
		return err
	}
	f.size += int64(len(text))
	s.last, s.dirty = spooled{r.After, r.Last, r.Time, crc(r.Data), int64(len(text))}, true
	close(s.changed)
	s.changed = make(chan struct{})
	return nil
}

// fileBytes is when a file ends. Only whole files are removed.
func (s *spool) fileBytes() int64 {
	if s.most == 0 {
		return spoolFileBytes
	}
	return min(spoolFileBytes, s.most/8)
}

// bytes are on the disk.
func (s *spool) bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytesLocked()
}

func (s *spool) bytesLocked() int64 {
	sum := s.loads
	for _, f := range s.files {
		sum += f.size
	}
	if s.ended != nil {
		sum += s.ended.size
	}
	return sum
}

// room waits until there is room for a record. One that is too large has room when all others were applied.
func (s *spool) room(ctx context.Context, data int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.wanted = spoolHead + int64(data); s.tightLocked(); {
		close(s.changed) // the reader looks
		s.changed = make(chan struct{})
		freed := s.freed
		s.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-freed:
		}
		s.mu.Lock()
		if err := ctx.Err(); err != nil {
			s.wanted = 0
			return err
		}
	}
	s.wanted = 0
	return nil
}

// tight reports whether records have to be applied before it is their time.
func (s *spool) tight() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tightLocked()
}

func (s *spool) tightLocked() bool {
	return s.most > 0 && s.bytesLocked()+s.wanted > s.most && s.last.last != s.done.last
}

// addLoads counts bytes of files of loads.
func (s *spool) addLoads(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loads += n
}

// sizeBelow is the size of the files in a directory, 0 without one.
func sizeBelow(dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}

// begin begins a file.
func (s *spool) begin(after cf.Position) error {
	if s.out != nil {
		if err := cmp.Or(s.out.Sync(), s.out.Close()); err != nil {
			return err
		}
	}
	path := filepath.Join(s.dir, spoolName(after))
	out, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	s.out, s.files = out, append(s.files, &spoolFile{path: path})
	return syncDir(s.dir)
}

// sync puts all records on the disk, and says up to which position.
func (s *spool) sync() (cf.Position, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dirty {
		if err := s.out.Sync(); err != nil {
			return 0, err
		}
		s.dirty = false
	}
	return s.last.last, nil
}

// end is the position of the newest record, 0 without one.
func (s *spool) end() cf.Position { return s.newest().last }

func (s *spool) newest() spooled {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// empty reports whether all records were applied.
func (s *spool) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last.last == s.done.last
}

// news is closed when a record was added.
func (s *spool) news() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// next is the oldest record that was not applied, nil without one.
func (s *spool) next() (*cf.LogRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last.last == s.done.last {
		return nil, nil
	}
	if s.in != nil && s.offset >= s.files[0].size && len(s.files) > 1 {
		return nil, fmt.Errorf("%w: a file of received records is missing", cf.ErrCorrupt)
	}
	if s.in == nil {
		var err error
		if s.in, err = os.Open(s.files[0].path); err != nil {
			return nil, err
		}
	}
	r, _, err := readSpooled(s.in, s.offset)
	if errors.Is(err, errSpoolEnds) {
		err = fmt.Errorf("%w: %s has no record at %d", cf.ErrCorrupt, s.files[0].path, s.offset)
	}
	return r, err
}

// applied notes that the next record was applied.
func (s *spool) applied(r *cf.LogRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = spooled{after: r.After, last: r.Last, time: r.Time, size: spoolHead + int64(len(r.Data))}
	s.offset += s.done.size
}

// tidy removes the files that were applied, once sync has put what was applied on the
// disk, with a record of a later file: when the spool is opened again, it has the time of the last one.
func (s *spool) tidy(sync func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.ended != nil && s.offset > 0 {
			if err := cmp.Or(sync(), os.Remove(s.ended.path)); err != nil {
				return err
			}
			s.ended = nil
		}
		if len(s.files) < 2 || s.offset < s.files[0].size {
			break
		}
		if s.in != nil {
			_ = s.in.Close() // it was only read
		}
		s.in, s.offset, s.ended, s.files = nil, s.files[1].applied, s.files[0], s.files[1:]
	}
	close(s.freed)
	s.freed = make(chan struct{})
	return nil
}

// begins returns the time of the first moment in the spool: when the last applied record
// was written, or else the first one.
func (s *spool) begins() (micros int64, known bool, err error) {
	if at := s.appliedTime(); at != 0 {
		return at, true, nil
	}
	r, err := s.next()
	if r == nil || err != nil {
		return 0, false, err
	}
	return r.Time, true, nil
}

// appliedTime is the time of the last record that was applied, 0 if it is not known.
func (s *spool) appliedTime() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done.time
}

// cut leaves out the records after a position, which were not applied.
func (s *spool) cut(after cf.Position, note func(*cf.LogRecord) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last.last <= after {
		return nil
	}
	for i, f := range s.files {
		at, last, found := int64(0), spooled{}, false
		err := f.scan(func(r *cf.LogRecord, is spooled) error {
			if is.last > after {
				found = true
				return errSpoolEnds
			}
			at, last = at+is.size, is
			return nil
		})
		if err != nil && !errors.Is(err, errSpoolEnds) {
			return err
		}
		if !found {
			s.last = last
			continue
		}
		if err := s.truncate(i, at); err != nil {
			return err
		}
		if at > 0 {
			s.last = last
		}
		break
	}
	applied := s.done.last
	if s.last.last > after || s.last.last < applied {
		s.last = s.done
	}
	for _, f := range s.files {
		err := f.scan(func(r *cf.LogRecord, is spooled) error {
			if is.last <= applied {
				return nil
			}
			return note(r)
		})
		if err != nil && !errors.Is(err, errSpoolEnds) {
			return err
		}
	}
	return nil
}

// truncate cuts a file off, and removes those after it.
func (s *spool) truncate(i int, size int64) error {
	if s.out != nil {
		if err := s.out.Close(); err != nil {
			return err
		}
		s.out = nil
	}
	for _, f := range slices.Backward(s.files[i+1:]) {
		if err := os.Remove(f.path); err != nil {
			return err
		}
	}
	s.files = s.files[:i+1]
	if err := os.Truncate(s.files[i].path, size); err != nil {
		return err
	}
	s.files[i].size = size
	var err error
	s.out, err = os.OpenFile(s.files[i].path, os.O_RDWR, 0)
	return err
}

func (s *spool) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for _, f := range []*os.File{s.in, s.out} {
		if f != nil {
			err = cmp.Or(err, f.Close())
		}
	}
	s.in, s.out = nil, nil
	return err
}

// remove removes the spool.
func (s *spool) remove() error {
	err := cmp.Or(s.close(), os.RemoveAll(s.dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
