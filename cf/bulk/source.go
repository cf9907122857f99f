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
	// group is the current group. It is valid until next.
	group() []byte
	close()
}

// A spillSource reads rows of one family from a spill, and frees frames after reading
// them. A frame with rows of two parts stays until the whole family is read.
type spillSource struct {
	packer  *packer
	frames  []frame // still to be read
	lo, hi  []byte  // row prefixes, lo inclusive, hi exclusive; nil is no bound
	shared  bool    // the part before also needs the frame that is being read
	reading *frame
	segment *segment // the open one
	file    *os.File
	packed  []byte
	raw     []byte // of the frame
	pos     int    // in raw, of the next group
	current []byte
}

// newSpillSource reads the rows of a family from lo, inclusive, to hi, exclusive; nil
// is no bound.
func newSpillSource(s *spill, family int, lo, hi []byte, p *packer) *spillSource {
	all := s.runs[family].frames
	from, to := 0, len(all)
	find := func(row []byte) int { // the first frame that begins at the row or after it
		return sort.Search(len(all), func(i int) bool { return all[i].row >= string(row) }) // not released: other parts change it
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
		if s.lo == nil || bytes.Compare(rowAt(s.current, 0), s.lo) >= 0 {
			s.lo = nil
			return s.hi == nil || bytes.Compare(rowAt(s.current, 0), s.hi) < 0, nil
		}
	}
}

func (s *spillSource) length() (int, bool) {
	left := s.raw[s.pos:]
	if len(left) < spillHeader {
		return 0, false
	}
	n := int(binary.NativeEndian.Uint32(left))
	return n, n <= len(left)-spillHeader
}

// frame reads the next frame. It is false at the end.
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

// release frees the frame that was read, unless another part needs it.
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

func (s *spillSource) close() {
	if s.file != nil {
		_ = s.file.Close()
		s.file = nil
	}
}

func cutShort(err error) error {
	return fmt.Errorf("%w: a file of the load cannot be read back: %w", cf.ErrUnavailable, err)
}

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

func (s *memorySource) group() []byte { return groupOf(s.data, s.entries[s.at-1]) }
