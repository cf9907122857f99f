package twin

import (
	"cmp"
	"context"
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/smolwc/smolwc/cf"
)

// A walk visits the cells of a scan one by one.
type walk struct {
	cursor    cf.Cursor
	block     *cf.Block
	row, cell int // of the next cell

	key, qualifier string // of the current cell
	ts             int64
	value          []byte
	over           bool
}

func startWalk(ctx context.Context, snap cf.Snapshot, s cf.Scan) (*walk, error) {
	cursor, err := snap.Scan(ctx, s)
	if err != nil {
		return nil, err
	}
	return &walk{cursor: cursor}, nil
}

// next goes to the next cell, or sets over.
func (w *walk) next(ctx context.Context) (err error) {
	for w.block == nil || w.row == len(w.block.Rows) {
		if w.block, err = w.cursor.Next(ctx); err != nil {
			return err
		}
		if w.block == nil {
			w.over = true
			return nil
		}
		w.row, w.cell = 0, 0
	}
	r := &w.block.Rows[w.row]
	all := w.block.RowCells(r)
	if w.cell == len(all) {
		w.row, w.cell = w.row+1, 0
		return w.next(ctx)
	}
	c := &all[w.cell]
	w.cell++
	w.key, w.qualifier, w.ts, w.value = w.block.RowKey(r), w.block.Qualifier(c), c.Timestamp, w.block.Value(c)
	return nil
}

// compare is the order of the current cells of two walks; the end comes last.
func (w *walk) compare(v *walk) int {
	switch {
	case w.over || v.over:
		return cmp.Compare(order(w.over), order(v.over))
	case w.key != v.key:
		return cmp.Compare(w.key, v.key)
	case w.qualifier != v.qualifier:
		return cmp.Compare(w.qualifier, v.qualifier)
	}
	return cmp.Compare(v.ts, w.ts) // newest first
}

func order(over bool) int {
	if over {
		return 1
	}
	return 0
}

// A Sum is the number, the size and the checksum of cells. The checksum does not depend
// on their order, so that the sums of parts add up.
type Sum struct {
	Cells    int64
	Bytes    int64  // of row keys, qualifiers and values
	Checksum uint64 // the sum of the hashes of the cells
}

// Add adds the cells of another sum.
func (s *Sum) Add(t Sum) {
	s.Cells += t.Cells
	s.Bytes += t.Bytes
	s.Checksum += t.Checksum
}

// A summer counts cells of a family. It keeps a buffer.
type summer struct {
	Sum
	family string
	buf    []byte
}

// add counts the current cell of a walk. What is hashed is the length of each text and
// the text, and the timestamp.
func (s *summer) add(w *walk) {
	b := appendText(s.buf[:0], s.family)
	b = appendText(b, w.key)
	b = appendText(b, w.qualifier)
	b = binary.BigEndian.AppendUint64(b, uint64(w.ts))
	s.buf = append(b, w.value...)
	s.Sum.Add(Sum{1, int64(len(w.key) + len(w.qualifier) + len(w.value)), xxhash.Sum64(s.buf)})
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
