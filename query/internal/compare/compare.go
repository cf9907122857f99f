// Package compare turns a comparison with a value into ranges of encoded values, so
// that a store can evaluate it.
package compare

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
)

// Ranges is the ranges of encoded values for which a comparison with v holds, sorted
// and disjoint. Within a type the encodings ascend or descend with the values, in at
// most two pieces: the numbers from zero on, and the negative numbers.
func Ranges(op cells.Op, v cells.Value) []cf.Range {
	if op == cells.OpNotEqual {
		return Complement(Ranges(cells.OpEqual, v))
	}
	var ranges []cf.Range
	switch {
	case v.Type().Numeric() && op == cells.OpEqual:
		ranges = equalRanges(v)
	case v.Type().Numeric():
		for _, d := range numbers {
			ranges = append(ranges, d.ranges(op, v)...)
		}
	case v.Type() == cells.TypeBool:
		ranges = booleans.ranges(op, v)
	default:
		ranges = textRanges(op, v)
	}
	slices.SortFunc(ranges, func(a, b cf.Range) int { return cmp.Compare(a.Start, b.Start) })
	return ranges
}

// equalRanges are the encodings of the numbers of all types that equal a number. There may
// be many numbers to look for, and it takes a search to find the ranges of other comparisons.
func equalRanges(v cells.Value) (ranges []cf.Range) {
	n, isInt := v.Int()
	f, _ := v.Float()
	if isInt {
		f = float64(n)
	} else if f == math.Trunc(f) && f >= -1<<63 && f < 1<<63 {
		n = int64(f)
	}
	equal := []cells.Value{cells.Byte(byte(n)), cells.I32(int32(n)), cells.I64(n), cells.F32(float32(f)), cells.F64(f)}
	if f == 0 {
		minus := math.Copysign(0, -1)
		equal[3], equal[4] = cells.F32(0), cells.F64(0)
		equal = append(equal, cells.F32(float32(minus)), cells.F64(minus))
	}
	for _, w := range equal {
		if order, ok := cells.Compare(w, v); ok && order == 0 {
			at := string(cells.AppendValue(nil, w))
			ranges = append(ranges, cf.Range{Start: at, End: at + "\x00"})
		}
	}
	return ranges
}

// textRanges is for strings and bytes, whose encodings are in their order.
func textRanges(op cells.Op, v cells.Value) []cf.Range {
	at := string(cells.AppendValue(nil, v))
	r := cf.Range{Start: at[:1], End: string([]byte{at[0] + 1})}
	behind := at + "\x00" // the encoding that comes next
	switch op {
	case cells.OpEqual:
		r.Start, r.End = at, behind
	case cells.OpLess:
		r.End = at
	case cells.OpLessOrEqual:
		r.End = behind
	case cells.OpGreaterOrEqual:
		r.Start = at
	case cells.OpGreater:
		r.Start = behind
	}
	if r.Start >= r.End {
		return nil
	}
	return []cf.Range{r}
}

// Complement is the ranges of all other encoded values. The ranges are sorted and
// disjoint.
func Complement(ranges []cf.Range) []cf.Range {
	var rest []cf.Range
	from := ""
	for _, r := range ranges {
		if from < r.Start {
			rest = append(rest, cf.Range{Start: from, End: r.Start})
		}
		if from = r.End; from == "" {
			return rest
		}
	}
	return append(rest, cf.Range{Start: from})
}

// A domain is the values of one type in ascending order, numbered from first to
// last.
type domain struct {
	bits        uint // of the payload
	first, last uint64
	value       func(n uint64) cells.Value
	descending  bool // the payloads of the lower half descend, as negative floats' do
	unsigned    bool // the payloads ascend over the whole domain
}

var (
	booleans = domain{bits: 8, last: 1, unsigned: true, value: func(n uint64) cells.Value { return cells.Bool(n == 1) }}
	numbers  = []domain{
		{bits: 8, last: math.MaxUint8, unsigned: true, value: func(n uint64) cells.Value { return cells.Byte(byte(n)) }},
		{bits: 32, last: math.MaxUint32, value: func(n uint64) cells.Value { return cells.I32(int32(uint32(n) ^ 1<<31)) }},
		{bits: 64, last: math.MaxUint64, value: func(n uint64) cells.Value { return cells.I64(int64(n ^ 1<<63)) }},
		{bits: 32, first: floatNumber(0xff800000, 32), last: floatNumber(0x7f800000, 32), descending: true, value: func(n uint64) cells.Value {
			return cells.F32(math.Float32frombits(uint32(floatBits(n, 32))))
		}},
		{bits: 64, first: floatNumber(0xfff0000000000000, 64), last: floatNumber(0x7ff0000000000000, 64), descending: true, value: func(n uint64) cells.Value {
			return cells.F64(math.Float64frombits(floatBits(n, 64)))
		}},
	}
)

// floatNumber is the place of a float, given by its bits, in the order of floats;
// -0 comes right before 0. floatBits is the way back.
func floatNumber(u uint64, bits uint) uint64 {
	if half := uint64(1) << (bits - 1); u&half == 0 {
		return u | half
	}
	return ^u & mask(bits)
}

func floatBits(n uint64, bits uint) uint64 {
	if half := uint64(1) << (bits - 1); n&half != 0 {
		return n ^ half
	}
	return ^n & mask(bits)
}

func mask(bits uint) uint64 { return math.MaxUint64 >> (64 - bits) }

// ranges is the encodings of the domain's values for which a comparison with v holds.
func (d *domain) ranges(op cells.Op, v cells.Value) []cf.Range {
	if order, ok := cells.Compare(v, v); !ok || order != 0 {
		return nil // NaN
	}
	from, to := d.first, d.last // inclusive
	lo, hi := d.search(v, 0), d.search(v, 1)
	ok := true
	switch op {
	case cells.OpEqual:
		from, to, ok = lo.n, hi.n-1, lo.ok && (!hi.ok || hi.n > lo.n)
		if !hi.ok {
			to = d.last
		}
	case cells.OpLess:
		to, ok = d.before(lo)
	case cells.OpLessOrEqual:
		to, ok = d.before(hi)
	case cells.OpGreaterOrEqual:
		from, ok = lo.n, lo.ok
	case cells.OpGreater:
		from, ok = hi.n, hi.ok
	}
	if !ok || from > to {
		return nil
	}
	return d.encode(from, to)
}

// A spot is the number of a value; ok is false after the last one.
type spot struct {
	n  uint64
	ok bool
}

// search is the first value that compares with v as order or more; see [cells.Compare].
func (d *domain) search(v cells.Value, order int) spot {
	n := d.first
	for bit := uint(64); bit > 0; bit-- {
		step := uint64(1) << (bit - 1)
		if next := n + step - 1; next >= n && next <= d.last && !d.reaches(next, v, order) {
			n = next + 1
			if next == d.last {
				return spot{}
			}
		}
	}
	return spot{n, d.reaches(n, v, order)}
}

func (d *domain) reaches(n uint64, v cells.Value, order int) bool {
	got, _ := cells.Compare(d.value(n), v)
	return got >= order
}

// before is the last value before a spot.
func (d *domain) before(p spot) (uint64, bool) {
	if !p.ok {
		return d.last, true
	}
	return p.n - 1, p.n > d.first
}

// encode is the encodings of the values from one to another, inclusive.
func (d *domain) encode(from, to uint64) []cf.Range {
	half := uint64(1) << (d.bits - 1)
	if d.unsigned {
		return []cf.Range{d.span(from, to)}
	}
	var ranges []cf.Range
	if from < half {
		end := min(to, half-1)
		if d.descending {
			ranges = append(ranges, d.span(^end&mask(d.bits), ^from&mask(d.bits)))
		} else {
			ranges = append(ranges, d.span(from^half, end^half))
		}
	}
	if to >= half {
		ranges = append(ranges, d.span(max(from, half)^half, to^half))
	}
	return ranges
}

// span is the encodings from one payload to another, inclusive.
func (d *domain) span(from, to uint64) cf.Range {
	tag := byte(d.value(d.first).Type())
	payload := func(u uint64) string {
		b := binary.BigEndian.AppendUint64([]byte{}, u<<(64-d.bits))
		return string([]byte{tag}) + string(b[:d.bits/8])
	}
	return cf.Range{Start: payload(from), End: payload(to) + "\x00"}
}
