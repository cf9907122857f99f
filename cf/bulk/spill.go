package bulk

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"github.com/smolwc/smolwc/cf"
)

// A spill is sorted groups in files, one family after the other. Only the process that
// wrote it can read it.
//
// The groups lie in compressed frames, each group after its length. A frame holds
// groups of one family, and lies in one of the spill's segments. Segments are files
// that are removed one by one as they are read, so that a load does not need twice its
// size on the disk.
type spill struct {
	tier     int        // 0 for a spilled arena; a merged spill is one tier above the spills in it
	runs     []spillRun // by family
	segments []*segment
}

// A spillRun is a family's part of a spill.
type spillRun struct {
	raw    int64 // bytes of the groups, uncompressed
	frames []frame
}

// A frame is a compressed run of groups in a segment.
type frame struct {
	row      string // the prefix of its first row
	segment  *segment
	at       int64
	size     int
	released bool
}

// A segment is a file of a spill.
type segment struct {
	path string
	left atomic.Int64 // bytes of frames that are still to be read
}

// release frees a frame, and after its last frame the segment's file.
func (f *frame) release() {
	if !f.released {
		f.released = true
		if f.segment.left.Add(-int64(f.size)) == 0 {
			_ = os.Remove(f.segment.path) // otherwise it is removed with the load's directory
		}
	}
}

// release frees the rest of a family.
func (s *spill) release(family int) {
	for i := range s.runs[family].frames {
		s.runs[family].frames[i].release()
	}
}

func (s *spill) remove() {
	for _, f := range s.segments {
		_ = os.Remove(f.path) // it may be gone
	}
}

const (
	spillStep   = 64 << 10 // bytes of groups at which a frame ends
	spillHeader = 4        // bytes of a group's length
)

// A packer compresses and decompresses frames. It is safe for concurrent use.
type packer struct {
	in  *zstd.Encoder
	out *zstd.Decoder
}

func newPacker(readers int) (*packer, error) {
	in, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(2*spillStep))
	if err != nil {
		return nil, err
	}
	out, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(readers), zstd.WithDecoderMaxMemory(2*maxArena))
	return &packer{in, out}, err
}

// A spillWriter writes a spill, family by family.
type spillWriter struct {
	dir    string
	packer *packer
	spill  *spill
	most   int64 // bytes of groups at which a segment ends
	run    *spillRun

	file   *os.File // of the open segment; nil when no segment is open
	out    *bufio.Writer
	at     int64  // in the segment
	held   int64  // bytes of groups in the segment
	raw    []byte // of the open frame
	row    string // the prefix of its first row
	packed []byte
}

// newSpillWriter begins a spill of about raw bytes of groups in dir. For each processor
// a goroutine will read a part of the spill, and keep one segment.
func newSpillWriter(dir string, families, tier int, raw int64, p *packer) *spillWriter {
	return &spillWriter{
		dir: dir, packer: p, spill: &spill{tier: tier, runs: make([]spillRun, families)},
		most: max(8*spillStep, raw/int64(8*runtime.GOMAXPROCS(0))), out: bufio.NewWriterSize(nil, 4*spillStep),
	}
}

func (w *spillWriter) begin(family int) { w.run = &w.spill.runs[family] }

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

// groups adds groups that follow one another in c.Data.
func (w *spillWriter) groups(c cf.CellGroups) error {
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

// endFrame ends the open frame. A frame holds groups of one family, so each family ends
// with a call of endFrame.
func (w *spillWriter) endFrame() error {
	if len(w.raw) == 0 {
		return nil
	}
	if w.file == nil {
		if err := w.beginSegment(); err != nil {
			return err
		}
	}
	w.packed = w.packer.in.EncodeAll(w.raw, w.packed[:0])
	if _, err := w.out.Write(w.packed); err != nil {
		return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	segment := w.spill.segments[len(w.spill.segments)-1]
	segment.left.Add(int64(len(w.packed)))
	w.run.frames = append(w.run.frames, frame{row: w.row, segment: segment, at: w.at, size: len(w.packed)})
	w.run.raw += int64(len(w.raw))
	w.at += int64(len(w.packed))
	w.held += int64(len(w.raw))
	w.raw = w.raw[:0]
	if w.held < w.most {
		return nil
	}
	return w.end()
}

func (w *spillWriter) beginSegment() (err error) {
	if w.file, err = os.CreateTemp(w.dir, "spill-"); err != nil {
		return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	w.out.Reset(w.file)
	w.at, w.held = 0, 0
	w.spill.segments = append(w.spill.segments, &segment{path: w.file.Name()})
	return nil
}

// end ends the open segment. The end of the last segment is the end of the spill.
func (w *spillWriter) end() error {
	if w.file == nil {
		return nil
	}
	err := w.out.Flush()
	if closeErr := w.file.Close(); err == nil {
		err = closeErr
	}
	w.file = nil
	if err != nil {
		return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	return nil
}

func (w *spillWriter) abandon() {
	_ = w.end()
	w.spill.remove()
}

func (a *arena) spill(dir string, p *packer) (*spill, error) {
	w := newSpillWriter(dir, len(a.entries), 0, int64(len(a.data)), p)
	err := a.spillTo(w)
	if err != nil {
		w.abandon()
		return nil, err
	}
	return w.spill, nil
}

func (a *arena) spillTo(w *spillWriter) error {
	for i, es := range a.entries {
		w.begin(i)
		for _, e := range es {
			if err := w.add(groupOf(a.data, e)); err != nil {
				return err
			}
		}
		if err := w.endFrame(); err != nil {
			return err
		}
	}
	return w.end()
}
