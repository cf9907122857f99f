package parquetrows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	meta "github.com/parquet-go/parquet-go/format"
)

// A value is a value that is not null: of a number or a boolean its bits, of other types
// its bytes, which are good until the next value.
type value struct {
	bits uint64
	raw  []byte
}

// A decoder gives the values of a page one by one. It fails at the end of the data, and
// never takes other bytes in place of it. Its memory does not depend on what the page
// claims.
type decoder interface{ next() (value, error) }

var errShort = errors.New("its data has fewer values than its header says")

// decoderOf returns the values of a page. n is the number of those that are not null.
func (l *leaf) decoderOf(encoding meta.Encoding, data []byte, n int, dictionary []value) (decoder, error) {
	kind := l.Type.V
	switch {
	case n == 0: // some writers then write nothing
		return short{}, nil
	case encoding == meta.Plain:
		return l.plain(data), nil
	//lint:ignore SA1019 files of the first version have it
	case encoding == meta.RLEDictionary || encoding == meta.PlainDictionary:
		if dictionary == nil {
			return nil, errors.New("its values are in a dictionary, which does not come before them")
		}
		if len(data) == 0 {
			return nil, errShort
		}
		width := int(data[0])
		if width > 32 {
			return nil, fmt.Errorf("its data is damaged: it has numbers of %d bits", width)
		}
		return &indexed{dictionary, runs{src: data[1:], width: width}}, nil
	case encoding == meta.RLE && kind == meta.Boolean:
		if len(data) < 4 || uint64(binary.LittleEndian.Uint32(data)) > uint64(len(data)-4) {
			return nil, errShort
		}
		return &bools{runs{src: data[4 : 4+binary.LittleEndian.Uint32(data)], width: 1}}, nil
	case encoding == meta.DeltaBinaryPacked && (kind == meta.Int32 || kind == meta.Int64):
		return newDeltas(data, n)
	case encoding == meta.DeltaLengthByteArray && kind == meta.ByteArray:
		lengths, rest, err := newLengths(data, n)
		return &joined{lengths: lengths, data: rest, fixed: -1}, err
	case encoding == meta.DeltaByteArray && (kind == meta.ByteArray || kind == meta.FixedLenByteArray):
		prefixes, rest, err := newLengths(data, n)
		if err != nil {
			return nil, err
		}
		lengths, rest, err := newLengths(rest, n)
		fixed := -1
		if kind == meta.FixedLenByteArray {
			fixed = int(l.TypeLength.V)
		}
		return &joined{prefixes: prefixes, lengths: lengths, data: rest, fixed: fixed}, err
	case encoding == meta.ByteStreamSplit && l.width() > 0:
		if len(data)%l.width() != 0 {
			return nil, fmt.Errorf("its data is damaged: %d bytes are no values of %d bytes", len(data), l.width())
		}
		if len(data)/l.width() < n { // the places of all bytes depend on it
			return nil, errShort
		}
		return &split{kind: kind, data: data, width: l.width()}, nil
	}
	return nil, fmt.Errorf("its encoding %s is not supported for %s", encoding, kind)
}

// width is the number of bytes of a value of fixed size, else 0.
func (l *leaf) width() int {
	switch l.Type.V {
	case meta.Int32, meta.Float:
		return 4
	case meta.Int64, meta.Double:
		return 8
	case meta.Int96:
		return 12
	case meta.FixedLenByteArray:
		return int(l.TypeLength.V)
	}
	return 0
}

func (l *leaf) plain(data []byte) decoder {
	switch l.Type.V {
	case meta.Boolean:
		return &packedBools{src: data}
	case meta.ByteArray:
		return &prefixed{data}
	}
	return &fixed{kind: l.Type.V, data: data, width: l.width()}
}

// valueOf is the value that these bytes are.
func valueOf(kind meta.Type, b []byte) value {
	switch kind {
	case meta.Int32, meta.Float:
		return value{bits: uint64(binary.LittleEndian.Uint32(b))}
	case meta.Int64, meta.Double:
		return value{bits: binary.LittleEndian.Uint64(b)}
	}
	return value{raw: b}
}

type short struct{}

func (short) next() (value, error) { return value{}, errShort }

// fixed are values of one length, one after the other.
type fixed struct {
	kind  meta.Type
	data  []byte
	width int
}

func (f *fixed) next() (value, error) {
	if len(f.data) < f.width {
		return value{}, errShort
	}
	v := valueOf(f.kind, f.data[:f.width:f.width])
	f.data = f.data[f.width:]
	return v, nil
}

// split are values of one length: their first bytes, then their second ones, and so on.
type split struct {
	kind      meta.Type
	data      []byte
	width, at int
	one       []byte
}

func (s *split) next() (value, error) {
	n := len(s.data) / s.width
	if s.at == n {
		return value{}, errShort
	}
	s.one = resized(s.one, s.width)
	for i := range s.one {
		s.one[i] = s.data[i*n+s.at]
	}
	s.at++
	return valueOf(s.kind, s.one), nil
}

// prefixed are byte arrays with their lengths before them.
type prefixed struct{ data []byte }

func (p *prefixed) next() (value, error) {
	if len(p.data) < 4 {
		return value{}, errShort
	}
	n := binary.LittleEndian.Uint32(p.data)
	if p.data = p.data[4:]; uint64(n) > uint64(len(p.data)) {
		return value{}, errShort
	}
	v := value{raw: p.data[:n:n]}
	p.data = p.data[n:]
	return v, nil
}

// packedBools are booleans, the first in the lowest bit.
type packedBools struct {
	src []byte
	at  int
}

func (b *packedBools) next() (value, error) {
	if b.at >= 8*len(b.src) {
		return value{}, errShort
	}
	v := value{bits: uint64(b.src[b.at/8] >> (b.at % 8) & 1)}
	b.at++
	return v, nil
}

// indexed are values of a dictionary.
type indexed struct {
	dictionary []value
	runs       runs
}

func (d *indexed) next() (value, error) {
	i, err := d.runs.next()
	if err == nil && i.bits >= uint64(len(d.dictionary)) {
		err = fmt.Errorf("its data is damaged: it has value %d of a dictionary of %d", i.bits, len(d.dictionary))
	}
	if err != nil {
		return value{}, err
	}
	return d.dictionary[i.bits], nil
}

// runs are numbers of some bits, in the hybrid of run lengths and packed bits: a run
// begins with twice the count of a number that follows, or with one more than twice a
// count of groups of eight numbers that follow.
type runs struct {
	src    []byte
	width  int
	number uint64
	equal  uint64 // how often number comes again
	packed []byte
	at     int // of the bits of packed
	groups int // numbers left in packed
}

// bools are runs of bits. Some writers fill the byte of a run of true with ones.
type bools struct{ runs }

func (b *bools) next() (value, error) {
	v, err := b.runs.next()
	v.bits &= 1
	return v, err
}

func (r *runs) next() (value, error) {
	for r.equal == 0 && r.groups == 0 {
		head, n := binary.Uvarint(r.src)
		count := head >> 1
		if n <= 0 {
			return value{}, errShort
		}
		if count > math.MaxInt32 {
			return value{}, fmt.Errorf("its data is damaged: a run has %d values", count)
		}
		if r.src = r.src[n:]; count == 0 {
			continue
		}
		if head&1 == 1 {
			r.groups, r.at = 8*int(count), 0
			size := min(int(count)*r.width, len(r.src)) // the last group may be cut
			r.packed, r.src = r.src[:size], r.src[size:]
			continue
		}
		size := (r.width + 7) / 8
		if size > len(r.src) {
			return value{}, errShort
		}
		var number [8]byte
		copy(number[:], r.src[:size])
		r.equal, r.number, r.src = count, binary.LittleEndian.Uint64(number[:]), r.src[size:]
	}
	if r.equal > 0 {
		r.equal--
		return value{bits: r.number}, nil
	}
	if r.at+r.width > 8*len(r.packed) {
		return value{}, errShort
	}
	v := value{bits: bitsAt(r.packed, r.at, r.width)}
	r.at += r.width
	r.groups--
	return v, nil
}

// bitsAt is the number of width bits at a bit of b, which must contain them all.
func bitsAt(b []byte, at, width int) uint64 {
	var window [9]byte
	copy(window[:], b[at/8:])
	shift := uint(at % 8)
	n := binary.LittleEndian.Uint64(window[:])>>shift | uint64(window[8])<<1<<(63-shift)
	return n & (1<<uint(width) - 1)
}

// oldLevels are levels in the encoding BIT_PACKED: the first in the highest bits.
type oldLevels struct {
	src       []byte
	width, at int
}

func (o *oldLevels) next() (v value, err error) {
	if o.at+o.width > 8*len(o.src) {
		return v, errShort
	}
	for range o.width {
		v.bits = v.bits<<1 | uint64(o.src[o.at/8]>>(7-o.at%8)&1)
		o.at++
	}
	return v, nil
}
