// Package tally adds cells up: their number, their size and a checksum that does not depend
// on their order. Two stores have the same cells if their sums are equal.
package tally

import (
	"cmp"
	"context"
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/smolwc/smolwc/cf"
)

// A Walk visits the cells of a scan one by one. It belongs to one goroutine.
type Walk struct {
	Key, Qualifier string // of the current cell
	Timestamp      int64
	Value          []byte
	Over           bool // there is no current cell

	cursor    cf.Cursor
	block     *cf.Block
	row, cell int // of the next cell
}

// Start begins a walk before its first cell. The caller closes it before the snapshot.
func Start(ctx context.Context, snap cf.Snapshot, s cf.Scan) (*Walk, error) {
	cursor, err := snap.Scan(ctx, s)
	if err != nil {
		return nil, err
	}
	return &Walk{cursor: cursor}, nil
}

// Next goes to the next cell, or sets Over.
func (w *Walk) Next(ctx context.Context) (err error) {
	for w.block == nil || w.row == len(w.block.Rows) {
		if w.block, err = w.cursor.Next(ctx); err != nil {
			return err
		}
		if w.block == nil {
			w.Over = true
			return nil
		}
		w.row, w.cell = 0, 0
	}
	r := &w.block.Rows[w.row]
	all := w.block.RowCells(r)
	if w.cell == len(all) {
		w.row, w.cell = w.row+1, 0
		return w.Next(ctx)
	}
	c := &all[w.cell]
	w.cell++
	w.Key, w.Qualifier, w.Timestamp, w.Value = w.block.RowKey(r), w.block.Qualifier(c), c.Timestamp, w.block.Value(c)
	return nil
}

// Close ends the walk.
func (w *Walk) Close() { w.cursor.Close() }

// Compare is the order of the current cells of two walks; the end comes last.
func (w *Walk) Compare(v *Walk) int {
	switch {
	case w.Over || v.Over:
		return cmp.Compare(order(w.Over), order(v.Over))
	case w.Key != v.Key:
		return cmp.Compare(w.Key, v.Key)
	case w.Qualifier != v.Qualifier:
		return cmp.Compare(w.Qualifier, v.Qualifier)
	}
	return cmp.Compare(v.Timestamp, w.Timestamp) // newest first
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

// A Summer adds up cells of a family. It keeps a buffer.
type Summer struct {
	Sum
	Family string // is part of each cell's hash
	buf    []byte
}

// Add counts the current cell of a walk. It hashes the length of each text and
// the text, and the timestamp.
func (s *Summer) Add(w *Walk) {
	b := appendText(s.buf[:0], s.Family)
	b = appendText(b, w.Key)
	b = appendText(b, w.Qualifier)
	b = binary.BigEndian.AppendUint64(b, uint64(w.Timestamp))
	s.buf = append(b, w.Value...)
	s.Sum.Add(Sum{1, int64(len(w.Key) + len(w.Qualifier) + len(w.Value)), xxhash.Sum64(s.buf)})
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// Entry is the sum of an entry of the catalog.
func Entry(key string, value []byte) Sum {
	return Sum{1, int64(len(key) + len(value)), xxhash.Sum64(append(appendText(nil, key), value...))}
}
