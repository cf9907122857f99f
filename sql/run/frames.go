package run

import (
	"bytes"
	"cmp"
	"math"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// A Frame is the rows around each row that a function sees.
type Frame struct {
	Rows       bool // ROWS; else RANGE
	Start, End FrameBound
}

// A FrameBound is the start or the end of a frame.
type FrameBound struct {
	Kind parse.BoundKind
	// By is how far the bound of PRECEDING and FOLLOWING is away, the same for every row: with
	// ROWS an INT64, with RANGE of the type of the only expression of ORDER BY.
	By Eval
	// Refused is the error of NULL, NaN, or a negative number.
	Refused func(v any) error
}

// moves reports whether the frame of a later row may start later.
func (f *Frame) moves() bool { return f.Start.Kind != parse.UnboundedPreceding }

// reaches reports whether a bound is as far away as values say.
func (f *Frame) reaches() bool { return !f.Rows && (f.Start.By != nil || f.End.By != nil) }

// A frame is the frame of one row after another in a partition.
type frame struct {
	*Frame
	p          *partition
	start, end reach
}

// A reach is a bound of a frame under way.
type reach struct {
	by   any     // nil: the bound is no number away
	at   int     // with RANGE: of the last row
	rows *cursor // with RANGE
}

// begin begins the frames of a partition.
func (f *Frame) begin(p *partition) (*frame, error) {
	made := &frame{Frame: f, p: p}
	for _, b := range []struct {
		of FrameBound
		to *reach
	}{{f.Start, &made.start}, {f.End, &made.end}} {
		if b.of.By == nil {
			continue
		}
		v, err := b.of.By(p.x.tuple(nil))
		if err != nil {
			return nil, err
		}
		if v == nil || value.IsNaN(v) || value.ToFloat(v) < 0 {
			return nil, b.of.Refused(v)
		}
		b.to.by, b.to.rows = v, p.cursor()
	}
	return made, nil
}

// of is the frame of row i: from start, inclusive, to end, exclusive. Neither is less than those
// of the row before.
func (f *frame) of(i int) (start, end int, err error) {
	if f.Rows {
		start, end = f.rowsOf(i)
		return start, max(start, end), nil
	}
	if start, err = f.bound(i, f.Start.Kind, &f.start, false); err != nil {
		return 0, 0, err
	}
	end, err = f.bound(i, f.End.Kind, &f.end, true)
	return start, max(start, end), err
}

func (f *frame) rowsOf(i int) (start, end int) {
	at := func(kind parse.BoundKind, by any, after int) int {
		far := f.p.n
		if n, ok := by.(int64); ok {
			far = int(min(n, int64(f.p.n)))
		}
		switch kind {
		case parse.UnboundedPreceding:
			return 0
		case parse.Preceding:
			return max(i-far+after, 0)
		case parse.CurrentRow:
			return i + after
		case parse.Following:
			return min(i+far+after, f.p.n)
		}
		return f.p.n
	}
	return at(f.Start.Kind, f.start.by, 0), at(f.End.Kind, f.end.by, 1)
}

// bound is a bound of RANGE for row i. last says that it is the end.
func (f *frame) bound(i int, kind parse.BoundKind, to *reach, last bool) (int, error) {
	switch kind {
	case parse.UnboundedPreceding:
		return 0, nil
	case parse.UnboundedFollowing:
		return f.p.n, nil
	case parse.CurrentRow:
		start, end, err := f.p.peersOf(i)
		if last {
			return end, err
		}
		return start, err
	}
	start, end, err := f.p.peersOf(i)
	if err != nil || i > start { // its peers have the same frame
		return to.at, err
	}
	own := f.p.peers.by
	if own == nil || value.IsNaN(own) { // only peers are near
		if to.at = start; last {
			to.at = end
		}
		return to.at, nil
	}
	for ; to.at < f.p.n; to.at++ {
		if to.at%rowsBetween == 0 && f.p.x.ctx.Err() != nil {
			return 0, f.p.x.ctx.Err()
		}
		key, err := to.rows.value(to.at, f.p.by)
		if err != nil {
			return 0, err
		}
		c := 0
		if key == nil || value.IsNaN(key) {
			r, err := to.rows.row(to.at)
			if err != nil {
				return 0, err
			}
			c = bytes.Compare(r.key, f.p.peers.key)
		} else {
			c = compareAway(key, own, to.by, (kind == parse.Preceding) != f.p.desc)
			if f.p.desc {
				c = -c
			}
		}
		if c > 0 || c == 0 && !last {
			break
		}
	}
	return to.at, nil
}

// compareAway compares a number with another one plus by, or minus by if less is set.
func compareAway(key, own, by any, less bool) int {
	if n, ok := by.(value.Numeric); ok {
		if less {
			n = n.Negated()
		}
		if to, ok := own.(value.Numeric).Plus(n); ok {
			return key.(value.Numeric).Compare(to)
		}
		return -n.Sign() // no number is as far away
	}
	k, ok := key.(int64)
	if !ok {
		to := value.ToFloat(own) + value.ToFloat(by)
		if less {
			to = value.ToFloat(own) - value.ToFloat(by)
		}
		if math.IsNaN(to) { // of two infinities
			to = value.ToFloat(own)
		}
		return cmp.Compare(value.ToFloat(key), to)
	}
	n, far := own.(int64), uint64(by.(int64))
	if less {
		if k > n {
			return 1
		}
		return cmp.Compare(far, uint64(n)-uint64(k)) // the difference is exact in 64 bits
	}
	if k < n {
		return -1
	}
	return cmp.Compare(uint64(k)-uint64(n), far)
}
