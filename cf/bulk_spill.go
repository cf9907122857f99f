package cf

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"

	"github.com/klauspost/compress/zstd"
)

// A spill is a file with sorted groups, one family behind the other, in compressed
// frames. It belongs to the machine and the process that wrote it.
//
// A frame is the length of what follows, and, compressed, the groups, each behind
// its length. A frame holds groups of one family.
type spill struct {
	file *os.File
	tier int        // 0 of an arena; one more than that of the spills it was merged from
	runs []spillRun // by family
}

// A spillRun is a family's part of the file.
type spillRun struct {
	from, to int64
	raw      int64 // bytes of the groups, uncompressed
	index    []spillMark
}

// A spillMark is the place of a frame.
type spillMark struct {
	row string // the prefix of the frame's first row
	at  int64
}

const (
	spillStep   = 64 << 10 // bytes of groups from which on a frame ends
	spillHeader = 4        // the length of a frame, and of a group
)

// A packer compresses the frames of a load and reads them again. It is safe for
// concurrent use.
type packer struct {
	in  *zstd.Encoder
	out *zstd.Decoder
}

func newPacker(readers int) (*packer, error) {
	in, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(2*spillStep))
	if err != nil {
		return nil, err
	}
	out, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(readers), zstd.WithDecoderMaxMemory(maxArena+arenaStart))
	return &packer{in, out}, err
}

// A spillWriter writes a spill, family by family.
type spillWriter struct {
	spill  *spill
	packer *packer
	out    *bufio.Writer
	run    *spillRun // of the current family
	at     int64
	raw    []byte // of the frame that is open
	row    string // the prefix of its first row
	packed []byte
}

// newSpillWriter begins a spill in a directory.
func newSpillWriter(dir string, families, tier int, p *packer) (*spillWriter, error) {
	f, err := os.CreateTemp(dir, "spill-")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	s := &spill{file: f, tier: tier, runs: make([]spillRun, families)}
	return &spillWriter{spill: s, packer: p, out: bufio.NewWriterSize(f, 4*spillStep)}, nil
}

// begin begins the groups of a family.
func (w *spillWriter) begin(family int) {
	w.run = &w.spill.runs[family]
	w.run.from, w.run.to = w.at, w.at
}

func (w *spillWriter) add(group []byte) error {
	if len(w.raw) == 0 {
		w.row = string(rowAt(group, 0))
	}
	w.raw = binary.NativeEndian.AppendUint32(w.raw, uint32(len(group)))
	w.raw = append(w.raw, group...)
	if len(w.raw) < spillStep {
		return nil
	}
	return w.endFrame()
}

// groups adds groups, one behind the other in c.Data.
func (w *spillWriter) groups(c CellGroups) error {
	for i, at := range c.At {
		end := len(c.Data)
		if i+1 < len(c.At) {
			end = int(c.At[i+1])
		}
		if err := w.add(c.Data[at:end]); err != nil {
			return err
		}
	}
	return nil
}

// endFrame ends the frame that is open. A family ends with one.
func (w *spillWriter) endFrame() error {
	if len(w.raw) == 0 {
		return nil
	}
	w.packed = append(w.packed[:0], "\x00\x00\x00\x00"...)
	w.packed = w.packer.in.EncodeAll(w.raw, w.packed)
	binary.NativeEndian.PutUint32(w.packed, uint32(len(w.packed)-spillHeader))
	if _, err := w.out.Write(w.packed); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	w.run.index = append(w.run.index, spillMark{w.row, w.at})
	w.at += int64(len(w.packed))
	w.run.to = w.at
	w.run.raw += int64(len(w.raw))
	w.raw = w.raw[:0]
	return nil
}

// end ends the spill.
func (w *spillWriter) end() error {
	if err := w.out.Flush(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}

// remove removes the file.
func (s *spill) remove() {
	_ = s.file.Close()
	_ = os.Remove(s.file.Name())
}

// spill writes the sorted arena to a new file. A file that was begun is returned
// with the error.
func (a *arena) spill(dir string, p *packer) (*spill, error) {
	w, err := newSpillWriter(dir, len(a.entries), 0, p)
	if err != nil {
		return nil, err
	}
	for i, es := range a.entries {
		w.begin(i)
		for _, e := range es {
			if err := w.add(e.group(a.data)); err != nil {
				return w.spill, err
			}
		}
		if err := w.endFrame(); err != nil {
			return w.spill, err
		}
	}
	return w.spill, w.end()
}
