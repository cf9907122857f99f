//go:build cgo && linux && !norocksdb

package scan

// #include "kept.h"
import "C"

import (
	"strings"
	"unsafe"

	"github.com/smolwc/smolwc/cf"
)

const (
	// A chunk covers about this many bytes of a family: enough to make the seek to it
	// cheap, and few enough for its blocks to wait in memory. The best number depends
	// on the compression of the files.
	firstChunk = 1 << 20
	minChunk   = 128 << 10
	maxChunk   = 4 << 20
	// chunkRanges is the number of ranges of rows in a chunk of a scan with more ranges
	// than that.
	chunkRanges = 256
	// coldRanges is the number of rows in a chunk of a list that is read from the disk.
	coldRanges = 16
	// chunkProbes limits the search for one bound. No bound lies inside a row that is
	// larger than a chunk.
	chunkProbes = 200
)

// A chunker divides the rest of a scan into chunks, in the order of the scan. It uses
// sizes from the engine's index, and the engine's estimates of sizes in memory. It
// finds each bound only when it is needed.
type chunker struct {
	view    *View
	family  *Family
	spec    cf.Scan
	bytes   uint64 // in a chunk
	ranges  int    // in a chunk, when there are many; else 0
	pending []span // a stack: the next span is at the end
}

// A span is a range of rows that is not yet cut into chunks. Its rows lie between lo
// and hi.
type span struct {
	rows   cf.Range
	lo, hi string
	bytes  uint64
}

// newChunker divides the rows of a scan from row at on; "" is the beginning of the
// scan. cold says that it is a list of rows that are read from the disk.
func newChunker(s *View, f *Family, spec cf.Scan, at string, cold bool) *chunker {
	c := &chunker{view: s, family: f, spec: spec, bytes: firstChunk}
	for i := range spec.Rows {
		rows := spec.Rows[i]
		if !spec.Reverse {
			rows = spec.Rows[len(spec.Rows)-1-i]
			rows.Start = max(rows.Start, at)
		} else if end := at + "\x00"; at != "" && (rows.End == "" || rows.End > end) {
			rows.End = end
		}
		if !rows.Empty() {
			c.pending = append(c.pending, span{rows: rows})
		}
	}
	switch {
	case cold:
		c.ranges = coldRanges
	case len(c.pending) > chunkRanges:
		c.ranges = chunkRanges
	default:
		for i := range c.pending {
			c.measure(&c.pending[i])
		}
	}
	return c
}

// learn adapts the size of later chunks to one fill each: blocks of a chunk beyond one
// fill are not filled ahead.
func (c *chunker) learn(blocks int) {
	switch {
	case blocks > maxFill:
		c.bytes = max(c.bytes*3/4, minChunk)
	case blocks <= maxFill/2:
		c.bytes = min(c.bytes*5/4, maxChunk)
	}
}

// measure finds the bounds and the size of a span.
func (c *chunker) measure(s *span) {
	s.lo, s.hi = s.rows.Start, s.rows.End
	if s.hi == "" {
		s.hi = c.lastRow(s.rows) + "\x00"
	}
	s.bytes = c.size(s.rows)
}

// next returns the ranges of the next chunk in ascending order, nil at the end.
func (c *chunker) next() []cf.Range {
	switch {
	case len(c.pending) == 0:
		return nil
	case c.ranges > 0:
		return c.take(min(c.ranges, len(c.pending)))
	}
	for probes := 0; probes < chunkProbes && c.divide(); probes++ {
	}
	return c.take(1)
}

// take returns the ranges of the next n spans.
func (c *chunker) take(n int) []cf.Range {
	rows := make([]cf.Range, 0, n)
	for i := range n {
		at := len(c.pending) - 1 - i
		if c.spec.Reverse {
			at = len(c.pending) - n + i
		}
		rows = append(rows, c.pending[at].rows)
	}
	c.pending = c.pending[:len(c.pending)-n]
	return rows
}

// divide does one step of bisection on the next span's row keys. It reports whether
// there is more to divide.
func (c *chunker) divide() bool {
	s := &c.pending[len(c.pending)-1]
	if s.bytes <= c.bytes {
		return false
	}
	mid, ok := Midway(s.lo, s.hi)
	if !ok {
		return false
	}
	switch before := min(c.size(cf.Range{Start: s.rows.Start, End: mid}), s.bytes); before {
	case 0:
		s.lo = mid
	case s.bytes:
		s.hi = mid
	default:
		near, far := *s, *s
		near.rows.End, near.hi, near.bytes = mid, mid, before
		far.rows.Start, far.lo, far.bytes = mid, mid, s.bytes-before
		if c.spec.Reverse {
			near, far = far, near
		}
		*s = far
		c.pending = append(c.pending, near)
	}
	return true
}

// size estimates the bytes of rows in files and memtables. It is zero on an error: the
// rows are then not divided, and the scan meets the same error. It does not lock the
// store, which the scan's cursor keeps open.
func (c *chunker) size(rows cf.Range) uint64 {
	start, end := rows.Bounds()
	return uint64(C.smolwc_size(c.view.Engine.c, c.family.c, (*C.char)(unsafe.Pointer(unsafe.SliceData(start))), C.size_t(len(start)),
		(*C.char)(unsafe.Pointer(unsafe.SliceData(end))), C.size_t(len(end))))
}

// lastRow is the last row of a range, "" for a range without rows.
func (c *chunker) lastRow(rows cf.Range) string {
	spec := cf.Scan{Family: c.family.Name, Rows: []cf.Range{rows}, Reverse: true, Limit: 1, Hint: 1, Filter: cf.Filter{KeysOnly: true}}
	f, err := newFiller(c.view, c.family, spec, 0)
	if err != nil {
		return ""
	}
	defer f.free()
	for {
		switch b := f.fill(1); {
		case f.at != "":
			return strings.Clone(f.at)
		case b.end || b.err != nil:
			return ""
		}
	}
}
