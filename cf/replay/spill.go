package replay

import (
	"bufio"
	"bytes"
	"container/heap"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/klauspost/compress/s2"

	"github.com/smolwc/smolwc/cf"
)

// A spill is a file of the rest of the changes in an arena: frames of one family after the
// other, each in the order of its keys. A frame is changes: kind, lengths of key and value, key
// and value.
type spill struct {
	path   string
	frames map[string][]frame
}

// A frame is at a place of a file, compressed.
type frame struct {
	at   int64
	size int
}

const frameBytes = 64 << 10

// A spiller writes a spill.
type spiller struct {
	spill  *spill
	out    *bufio.Writer
	family string
	at     int64
	raw    []byte
	packed []byte
}

// spillTo writes the arena to a file in a directory.
func (a *arena) spillTo(dir string) (*spill, error) {
	file, err := os.CreateTemp(dir, "replay-")
	if err != nil {
		return nil, unavailable(err)
	}
	w := &spiller{spill: &spill{path: file.Name(), frames: map[string][]frame{}}, out: bufio.NewWriterSize(file, 4*frameBytes)}
	for _, w.family = range slices.Sorted(maps.Keys(a.entries)) {
		if err = a.sorted(context.Background(), w.family, w.add); err == nil {
			err = w.end()
		}
		if err != nil {
			break
		}
	}
	if err == nil {
		err = unavailable(w.out.Flush())
	}
	if e := unavailable(file.Close()); err == nil {
		err = e
	}
	return w.spill, err
}

func unavailable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
}

func (w *spiller) add(c change) error {
	w.raw = append(w.raw, byte(c.kind))
	w.raw = binary.AppendUvarint(w.raw, uint64(len(c.key)))
	w.raw = binary.AppendUvarint(w.raw, uint64(len(c.value)))
	w.raw = append(append(w.raw, c.key...), c.value...)
	if len(w.raw) < frameBytes {
		return nil
	}
	return w.end()
}

// end ends a frame.
func (w *spiller) end() error {
	if len(w.raw) == 0 {
		return nil
	}
	if n := s2.MaxEncodedLen(len(w.raw)); n > cap(w.packed) {
		w.packed = make([]byte, n)
	}
	packed := s2.Encode(w.packed[:cap(w.packed)], w.raw)
	w.spill.frames[w.family] = append(w.spill.frames[w.family], frame{w.at, len(packed)})
	w.at, w.raw = w.at+int64(len(packed)), w.raw[:0]
	_, err := w.out.Write(packed)
	return unavailable(err)
}

// A source gives changes in the order of their keys. Their bytes stay as they are.
type source interface {
	next() (c change, ok bool, err error)
	close()
}

// A spillSource reads a family from a spill.
type spillSource struct {
	file   *os.File
	frames []frame
	packed []byte
	rest   []byte
}

func (s *spill) source(family string) (*spillSource, error) {
	file, err := os.Open(s.path)
	if err != nil {
		return nil, unavailable(err)
	}
	return &spillSource{file: file, frames: s.frames[family]}, nil
}

func (s *spillSource) close() { _ = s.file.Close() } // it was only read

func (s *spillSource) next() (c change, ok bool, err error) {
	if len(s.rest) == 0 {
		if len(s.frames) == 0 {
			return c, false, nil
		}
		f := s.frames[0]
		s.frames, s.packed = s.frames[1:], slices.Grow(s.packed[:0], f.size)[:f.size]
		if _, err := s.file.ReadAt(s.packed, f.at); err != nil {
			return c, false, unavailable(err)
		}
		if s.rest, err = s2.Decode(nil, s.packed); err != nil {
			return c, false, unavailable(err)
		}
	}
	c.kind = cf.OpKind(s.rest[0])
	s.rest = s.rest[1:]
	k, err := s.number()
	v, err2 := s.number()
	if err != nil || err2 != nil || k > uint64(len(s.rest)) || v > uint64(len(s.rest))-k {
		return c, false, unavailable(io.ErrUnexpectedEOF)
	}
	c.key, c.value, s.rest = s.rest[:k:k], s.rest[k:k+v:k+v], s.rest[k+v:]
	return c, true, nil
}

func (s *spillSource) number() (uint64, error) {
	n, size := binary.Uvarint(s.rest)
	if size <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	s.rest = s.rest[size:]
	return n, nil
}

// A memorySource gives the rest of the changes in an arena.
type memorySource struct{ left []change }

func (s *memorySource) close() {}

func (s *memorySource) next() (c change, ok bool, err error) {
	if len(s.left) == 0 {
		return c, false, nil
	}
	c, s.left = s.left[0], s.left[1:]
	return c, true, nil
}

// A head is a source with its next change.
type head struct {
	change
	source
}

// heads are ordered by keys, and then by seq: the number of the source, from 1.
type heads []*head

func (h heads) Len() int { return len(h) }
func (h heads) Less(i, j int) bool {
	if c := bytes.Compare(h[i].key, h[j].key); c != 0 {
		return c < 0
	}
	return h[i].seq < h[j].seq
}
func (h heads) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *heads) Push(x any)   { *h = append(*h, x.(*head)) }
func (h *heads) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// mergeSources gives the rest of the changes of sources, each of which is later than the one
// before it.
func mergeSources(ctx context.Context, sources []source, give func(change) error) error {
	var h heads
	for i, s := range sources {
		c, ok, err := s.next()
		if err != nil {
			return err
		}
		if ok {
			c.seq = uint64(i + 1)
			h = append(h, &head{c, s})
		}
	}
	heap.Init(&h)
	f := fold{ctx: ctx, give: give}
	for len(h) > 0 {
		first := h[0]
		if err := f.take(first.change); err != nil {
			return err
		}
		c, ok, err := first.next()
		if err != nil {
			return err
		}
		if !ok {
			heap.Pop(&h)
			continue
		}
		c.seq = first.seq
		first.change = c
		heap.Fix(&h, 0)
	}
	return f.end()
}
