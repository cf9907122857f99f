package ahead

import "github.com/smolwc/smolwc/cf"

// MaxFill is the largest number of blocks in one fill.
const MaxFill = 6

const (
	// A chunk covers about this many bytes of a family: enough to make the seek to it
	// cheap, and few enough for its blocks to wait in memory. The best number depends
	// on the compression of the files.
	firstChunk = 1 << 20
	minChunk   = 128 << 10
	maxChunk   = 4 << 20
	// ManyRanges is the number of ranges of rows in a chunk of a scan with more ranges
	// than that.
	ManyRanges = 256
	// chunkProbes limits the search for one bound. No bound lies inside a row that is
	// larger than a chunk.
	chunkProbes = 200
)

// Sizes tell how large parts of a scan are.
type Sizes interface {
	// Size estimates the bytes of rows. It is 0 on an error: the rows are then not
	// divided, and the scan meets the same error.
	Size(rows cf.Range) uint64
	// LastRow is the last row of a range, or a key after it if many rows at the end are
	// deleted; "" for a range without rows.
	LastRow(rows cf.Range) string
}

// Chunks divide the rest of a scan, in the order of the scan. Each bound is found only
// when it is needed.
type Chunks struct {
	sizes   Sizes
	reverse bool
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

// Cut divides ranges of rows, which ascend, from row at on in the direction of the scan;
// "" is the beginning of the scan. ranges is the number of ranges in a chunk; 0 leaves it to
// their sizes.
func Cut(sizes Sizes, rows []cf.Range, reverse bool, at string, ranges int) *Chunks {
	c := &Chunks{sizes: sizes, reverse: reverse, bytes: firstChunk, ranges: ranges}
	for i := range rows {
		r := rows[i]
		if !reverse {
			r = rows[len(rows)-1-i]
			r.Start = max(r.Start, at)
		} else if end := at + "\x00"; at != "" && (r.End == "" || r.End > end) {
			r.End = end
		}
		if !r.Empty() {
			c.pending = append(c.pending, span{rows: r})
		}
	}
	switch {
	case ranges > 0:
	case len(c.pending) > ManyRanges:
		c.ranges = ManyRanges
	default:
		for i := range c.pending {
			c.measure(&c.pending[i])
		}
	}
	return c
}

// More reports whether there is another chunk.
func (c *Chunks) More() bool { return len(c.pending) > 0 }

// learn adapts the size of later chunks to one fill each: blocks of a chunk beyond one
// fill are not filled ahead.
func (c *Chunks) learn(blocks int) {
	switch {
	case blocks > MaxFill:
		c.bytes = max(c.bytes*3/4, minChunk)
	case blocks <= MaxFill/2:
		c.bytes = min(c.bytes*5/4, maxChunk)
	}
}

// measure finds the bounds and the size of a span.
func (c *Chunks) measure(s *span) {
	s.lo, s.hi = s.rows.Start, s.rows.End
	if s.hi == "" {
		s.hi = c.sizes.LastRow(s.rows) + "\x00"
	}
	s.bytes = c.sizes.Size(s.rows)
}

// Next returns the ranges of the next chunk in ascending order, nil at the end.
func (c *Chunks) Next() []cf.Range {
	switch {
	case len(c.pending) == 0:
		return nil
	case c.ranges > 0:
		return c.take(min(c.ranges, len(c.pending)))
	}
	for probes := 0; probes < chunkProbes && c.divide(); probes++ {
	}
	last := len(c.pending) - 1
	n, bytes := 1, c.pending[last].bytes // small ranges share a chunk
	for ; n <= last && bytes+c.pending[last-n].bytes <= c.bytes; n++ {
		bytes += c.pending[last-n].bytes
	}
	return c.take(n)
}

// take returns the ranges of the next n spans.
func (c *Chunks) take(n int) []cf.Range {
	rows := make([]cf.Range, 0, n)
	for i := range n {
		at := len(c.pending) - 1 - i
		if c.reverse {
			at = len(c.pending) - n + i
		}
		rows = append(rows, c.pending[at].rows)
	}
	c.pending = c.pending[:len(c.pending)-n]
	return rows
}

// divide does one step of bisection on the next span's row keys. It reports whether
// there is more to divide.
func (c *Chunks) divide() bool {
	s := &c.pending[len(c.pending)-1]
	if s.bytes <= c.bytes {
		return false
	}
	mid, ok := Midway(s.lo, s.hi)
	if !ok {
		return false
	}
	switch before := min(c.sizes.Size(cf.Range{Start: s.rows.Start, End: mid}), s.bytes); before {
	case 0:
		s.lo = mid
	case s.bytes:
		s.hi = mid
	default:
		near, far := *s, *s
		near.rows.End, near.hi, near.bytes = mid, mid, before
		far.rows.Start, far.lo, far.bytes = mid, mid, s.bytes-before
		if c.reverse {
			near, far = far, near
		}
		*s = far
		c.pending = append(c.pending, near)
	}
	return true
}
