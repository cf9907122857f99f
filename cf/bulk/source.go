package bulk

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"

	"github.com/smolwc/smolwc/cf"
)

// A source gives groups of one family in order.
type source interface {
	// next moves to the next group. It is false at the end.
	next() (bool, error)
	// row and group are the current group's row prefix and bytes. They are valid until
	// next.
	row() []byte
	group() []byte
	close()
}

// A spillSource reads rows of a run from a spill, and frees the frames that it has
// read. A frame in which one part of the rows ends and the next begins stays until the
// family has been read.
type spillSource struct {
	packer  *packer
	frames  []frame // still to be read
	lo, hi  []byte  // row prefixes, lo inclusive, hi exclusive; nil is no bound
	shared  bool    // the frame that is being read belongs to the part before, too
	reading *frame
	segment *segment // the open one
	file    *os.File
	packed  []byte
	raw     []byte // of the frame
	pos     int    // in raw, of the next group
	current []byte
}

// newSpillSource reads the rows of a run from lo, inclusive, to hi, exclusive;
// nil is no bound.
func newSpillSource(s *spill, family int, lo, hi []byte, p *packer) *spillSource {
	all := s.runs[family].frames
	from, to := 0, len(all)
	find := func(row []byte) int { // the first frame that begins at the row or after it
		return sort.Search(len(all), func(i int) bool { return all[i].row >= string(row) }) // others release frames
	}
	src := &spillSource{packer: p, lo: lo, hi: hi}
	if lo != nil {
		if from = find(lo); from > 0 { // the row may begin in the frame before
			from--
			src.shared = true
		}
	}
	if hi != nil {
		to = find(hi)
	}
	src.frames = all[from:max(from, to)]
	return src
}

func (s *spillSource) next() (bool, error) {
	for {
		if s.pos == len(s.raw) {
			if ok, err := s.frame(); !ok || err != nil {
				return false, err
			}
		}
		n, ok := s.length()
		if !ok {
			return false, cutShort(io.ErrUnexpectedEOF)
		}
		s.current = s.raw[s.pos+spillHeader : s.pos+spillHeader+n]
		s.pos += spillHeader + n
		if s.lo == nil || bytes.Compare(s.row(), s.lo) >= 0 {
			s.lo = nil
			return s.hi == nil || bytes.Compare(s.row(), s.hi) < 0, nil
		}
	}
}

// length is the length of the next group in the frame.
func (s *spillSource) length() (int, bool) {
	left := s.raw[s.pos:]
	if len(left) < spillHeader {
		return 0, false
	}
	n := int(binary.NativeEndian.Uint32(left))
	return n, n <= len(left)-spillHeader
}

// frame reads the next frame. It is false when there is none.
func (s *spillSource) frame() (bool, error) {
	if len(s.frames) == 0 {
		if s.hi == nil {
			s.release()
		}
		return false, nil
	}
	s.release()
	f := &s.frames[0]
	s.frames, s.reading = s.frames[1:], f
	if err := s.open(f.segment); err != nil {
		return false, cutShort(err)
	}
	s.packed = slices.Grow(s.packed[:0], f.size)[:f.size]
	if _, err := s.file.ReadAt(s.packed, f.at); err != nil {
		return false, cutShort(err)
	}
	var err error
	if s.raw, err = s.packer.out.DecodeAll(s.packed, s.raw[:0]); err != nil {
		return false, cutShort(err)
	}
	s.pos = 0
	return true, nil
}

// release frees the frame that has been read, if no other part needs it.
func (s *spillSource) release() {
	f, shared := s.reading, s.shared
	if f == nil {
		return
	}
	s.reading, s.shared = nil, false
	if shared {
		return
	}
	if len(s.frames) == 0 || s.frames[0].segment != s.segment {
		s.close() // so that the system can free the file
	}
	f.release()
}

func (s *spillSource) open(f *segment) (err error) {
	if s.file != nil && s.segment == f {
		return nil
	}
	s.close()
	s.file, err = os.Open(f.path)
	s.segment = f
	return err
}

// close closes the file that is open.
func (s *spillSource) close() {
	if s.file != nil {
		_ = s.file.Close()
		s.file = nil
	}
}

func cutShort(err error) error {
	return fmt.Errorf("%w: a file of the load cannot be read back: %w", cf.ErrUnavailable, err)
}

func (s *spillSource) row() []byte   { return rowAt(s.current, 0) }
func (s *spillSource) group() []byte { return s.current }

// A memorySource reads sorted entries of an arena.
type memorySource struct {
	data    []byte
	entries []entry
	at      int // of the next
}

func (s *memorySource) next() (bool, error) {
	if s.at == len(s.entries) {
		return false, nil
	}
	s.at++
	return true, nil
}

func (s *memorySource) close() {}

func (s *memorySource) row() []byte { return rowAt(s.data, s.entries[s.at-1].at) }

func (s *memorySource) group() []byte {
	return s.entries[s.at-1].group(s.data)
}
