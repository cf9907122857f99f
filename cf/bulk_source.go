package cf

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// A source gives groups of one family in order.
type source interface {
	// next moves to the next group, and is false at the end.
	next() (bool, error)
	// row and group are the current group's row prefix and bytes; they are
	// good until next.
	row() []byte
	group() []byte
}

// A spillSource reads rows of a run from a spill, and gives the disk back what it
// has read: each frame is read for the last time by one source, except for those in
// which one part of the rows ends and the next begins. Those stay until the family
// has been read.
type spillSource struct {
	spill   *spill
	packer  *packer
	at, to  int64  // of the next frame, and where the frames end
	lo, hi  []byte // row prefixes, lo inclusive, hi exclusive; nil is no bound
	free    int64  // the space from here on can be given back once it has been read
	packed  []byte
	raw     []byte // of the frame
	pos     int    // in raw, of the next group
	current []byte
}

// newSpillSource reads the rows of a run from lo, inclusive, to hi, exclusive;
// nil is no bound.
func newSpillSource(s *spill, family int, lo, hi []byte, p *packer) *spillSource {
	run := &s.runs[family]
	src := &spillSource{spill: s, packer: p, at: run.from, to: run.to, lo: lo, hi: hi}
	find := func(row []byte) int {
		i, _ := slices.BinarySearchFunc(run.index, row, func(m spillMark, row []byte) int { return cmp.Compare(m.row, string(row)) })
		return i
	}
	if hi != nil {
		if i := find(hi); i < len(run.index) {
			src.to = run.index[i].at
		}
	}
	src.free = pageUp(run.from)
	if lo != nil {
		i := find(lo)
		if i > 0 { // the row may begin in the frame before, which belongs to the part before too
			src.at = run.index[i-1].at
		}
		src.free = run.to
		if i < len(run.index) {
			src.free = pageUp(run.index[i].at)
		}
	}
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

// length is that of the next group in the frame.
func (s *spillSource) length() (int, bool) {
	left := s.raw[s.pos:]
	if len(left) < spillHeader {
		return 0, false
	}
	n := int(binary.NativeEndian.Uint32(left))
	return n, n <= len(left)-spillHeader
}

// frame reads the next frame, and is false when there is none.
func (s *spillSource) frame() (bool, error) {
	s.release()
	if s.at >= s.to {
		return false, nil
	}
	var size [spillHeader]byte
	if _, err := s.spill.file.ReadAt(size[:], s.at); err != nil {
		return false, cutShort(err)
	}
	n := int(binary.NativeEndian.Uint32(size[:]))
	if int64(n) > s.to-s.at {
		return false, cutShort(io.ErrUnexpectedEOF)
	}
	s.packed = slices.Grow(s.packed[:0], n)[:n]
	if _, err := s.spill.file.ReadAt(s.packed, s.at+spillHeader); err != nil {
		return false, cutShort(err)
	}
	var err error
	if s.raw, err = s.packer.out.DecodeAll(s.packed, s.raw[:0]); err != nil {
		return false, cutShort(err)
	}
	s.pos = 0
	s.at += spillHeader + int64(n)
	return true, nil
}

// spillRelease is how many bytes are given back at once.
const spillRelease = 16 << 10

// release gives back what has been read. The last frame of a part is read by the next
// part too.
func (s *spillSource) release() {
	end := pageDown(s.at)
	if s.at >= s.to || end-s.free < spillRelease {
		return
	}
	punch(s.spill.file, s.free, end-s.free)
	s.free = end
}

// release gives back a family's part of the file.
func (s *spill) release(family int) {
	run := &s.runs[family]
	if from, to := pageUp(run.from), pageDown(run.to); from < to {
		punch(s.file, from, to-from)
	}
}

const page = 4096 // file systems give space back in such pieces

func pageUp(n int64) int64   { return (n + page - 1) &^ (page - 1) }
func pageDown(n int64) int64 { return n &^ (page - 1) }

func cutShort(err error) error {
	return fmt.Errorf("%w: a file of the load cannot be read back: %w", ErrUnavailable, err)
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

func (s *memorySource) row() []byte { return rowAt(s.data, s.entries[s.at-1].at) }

func (s *memorySource) group() []byte {
	return s.entries[s.at-1].group(s.data)
}
