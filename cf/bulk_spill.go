package cf

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// A spill is a file with the groups of an arena, sorted, one family behind the
// other. It is of the machine and the process that wrote it.
type spill struct {
	file *os.File
	runs []spillRun // by family
}

// A spillRun is a family's part of the file.
type spillRun struct {
	from, to int64
	index    []spillMark
}

// A spillMark is the place of a group, one for every spillStep bytes.
type spillMark struct {
	row string // prefix
	at  int64
}

const (
	spillStep   = 64 << 10
	spillHeader = 4 // the length of the group behind it
)

// spill writes the sorted arena to a new file.
func (a *arena) spill(dir string) (*spill, error) {
	f, err := os.CreateTemp(dir, "spill-")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	s := &spill{file: f, runs: make([]spillRun, len(a.entries))}
	w := bufio.NewWriterSize(f, 1<<20)
	at := int64(0)
	var size [spillHeader]byte
	for i, es := range a.entries {
		run := &s.runs[i]
		run.from = at
		marked := at - spillStep
		for _, e := range es {
			group := e.group(a.data)
			if at-marked >= spillStep {
				run.index = append(run.index, spillMark{string(rowAt(a.data, e.at)), at})
				marked = at
			}
			binary.NativeEndian.PutUint32(size[:], uint32(len(group)))
			_, err := w.Write(size[:])
			if err == nil {
				_, err = w.Write(group)
			}
			if err != nil {
				return s, fmt.Errorf("%w: %w", ErrUnavailable, err)
			}
			at += int64(len(size) + len(group))
		}
		run.to = at
	}
	if err := w.Flush(); err != nil {
		return s, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return s, nil
}

// A source gives groups of one family in order.
type source interface {
	// next moves to the next group, and is false at the end.
	next() (bool, error)
	// row and group are the current group's row prefix and bytes; they are
	// good until next.
	row() []byte
	group() []byte
}

// A spillSource reads a run from a file.
type spillSource struct {
	in      *bufio.Reader
	until   []byte // the row prefix at which it ends; nil: none
	current []byte
}

// newSpillSource reads the rows of a run from lo, inclusive, to hi, exclusive;
// nil is no bound.
func newSpillSource(s *spill, family int, lo, hi []byte, buffer int) (*spillSource, error) {
	run := s.runs[family]
	from := run.from
	if lo != nil {
		// The last mark before lo: a row's groups may begin behind a mark
		// with the same row.
		i, _ := slices.BinarySearchFunc(run.index, lo, func(m spillMark, lo []byte) int { return bytes.Compare([]byte(m.row), lo) })
		if i > 0 {
			from = run.index[i-1].at
		}
	}
	src := &spillSource{in: bufio.NewReaderSize(io.NewSectionReader(s.file, from, run.to-from), buffer), until: hi}
	if lo == nil {
		return src, nil
	}
	return src, src.skipTo(lo)
}

// skipTo passes over groups of rows before lo; the next is the first that is not.
func (s *spillSource) skipTo(lo []byte) error {
	const header = spillHeader + groupHeader
	for {
		head, err := s.in.Peek(header)
		if errors.Is(err, io.EOF) && len(head) == 0 {
			return nil
		}
		if err == nil {
			head, err = s.in.Peek(header + int(binary.NativeEndian.Uint32(head[spillHeader:])))
		}
		if err == nil && bytes.Compare(head[header:], lo) >= 0 {
			return nil
		}
		if err == nil {
			_, err = s.in.Discard(spillHeader + int(binary.NativeEndian.Uint32(head)))
		}
		if err != nil {
			return cutShort(err)
		}
	}
}

// minSpillBuffer is above the longest row prefix with its header.
const minSpillBuffer = 64 << 10

func (s *spillSource) next() (bool, error) {
	var size [spillHeader]byte
	if _, err := io.ReadFull(s.in, size[:]); errors.Is(err, io.EOF) {
		return false, nil
	} else if err != nil {
		return false, cutShort(err)
	}
	n := int(binary.NativeEndian.Uint32(size[:]))
	s.current = slices.Grow(s.current[:0], n)[:n]
	if _, err := io.ReadFull(s.in, s.current); err != nil {
		return false, cutShort(err)
	}
	return s.until == nil || bytes.Compare(s.row(), s.until) < 0, nil
}

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
