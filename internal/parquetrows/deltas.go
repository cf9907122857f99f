package parquetrows

import (
	"encoding/binary"
	"fmt"
)

// deltas are whole numbers in the encoding DELTA_BINARY_PACKED: the first, then the
// differences, in blocks of a lowest difference and of the remainders in packed bits.
type deltas struct {
	src    []byte
	left   int // numbers that were not read
	first  bool
	last   int64
	per    int    // numbers in a miniblock
	minis  int    // miniblocks in a block
	lowest int64  // of the block
	widths []byte // of the block's miniblocks that were not read
	packed []byte // the miniblock
	width  int
	at     int // of the bits of packed
	inMini int // numbers left in the miniblock
}

// newDeltas reads the header of n numbers.
func newDeltas(src []byte, n int) (*deltas, error) {
	d := &deltas{src: src, left: n, first: true}
	block, minis, total, first := d.uvarint(), d.uvarint(), d.uvarint(), d.varint()
	const most = 1 << 16 // numbers in a block; writers make 128
	switch {
	case d.src == nil:
		return nil, errShort
	case total < uint64(n):
		return nil, errShort
	case total > uint64(n):
		return nil, fmt.Errorf("its data has %d values, and its header says %d", total, n)
	case minis == 0 || minis > most || block > most || block%128 != 0 || block/minis%32 != 0 || block == 0 || block < minis:
		return nil, fmt.Errorf("its data is damaged: it has blocks of %d numbers in %d parts", block, minis)
	}
	d.minis, d.per, d.last = int(minis), int(block/minis), first
	return d, nil
}

// uvarint reads a number of a header; src is nil afterwards if the number is missing.
func (d *deltas) uvarint() uint64 {
	n, size := binary.Uvarint(d.src)
	if size <= 0 {
		d.src = nil
		return 0
	}
	d.src = d.src[size:]
	return n
}

func (d *deltas) varint() int64 {
	n := d.uvarint()
	return int64(n>>1) ^ -int64(n&1)
}

func (d *deltas) next() (value, error) {
	if d.left == 0 {
		return value{}, errShort
	}
	d.left--
	if d.first {
		d.first = false
		return value{bits: uint64(d.last)}, nil
	}
	if d.inMini == 0 {
		if err := d.nextMini(); err != nil {
			return value{}, err
		}
	}
	if d.at+d.width > 8*len(d.packed) {
		return value{}, errShort
	}
	d.last += d.lowest + int64(bitsAt(d.packed, d.at, d.width))
	d.at += d.width
	d.inMini--
	return value{bits: uint64(d.last)}, nil
}

func (d *deltas) nextMini() error {
	if len(d.widths) == 0 {
		d.lowest = d.varint()
		if d.minis > len(d.src) {
			return errShort
		}
		d.widths, d.src = d.src[:d.minis], d.src[d.minis:]
	}
	if d.width = int(d.widths[0]); d.width > 64 {
		return fmt.Errorf("its data is damaged: it has numbers of %d bits", d.width)
	}
	d.widths, d.inMini, d.at = d.widths[1:], d.per, 0
	size := min(d.per*d.width/8, len(d.src)) // the last one may be cut
	d.packed, d.src = d.src[:size], d.src[size:]
	return nil
}

// newLengths reads the header of n lengths, and returns the rest.
func newLengths(src []byte, n int) (lengths *deltas, rest []byte, err error) {
	if lengths, err = newDeltas(src, n); err != nil {
		return nil, nil, err
	}
	over := *lengths
	for range n {
		if _, err := over.next(); err != nil {
			return nil, nil, err
		}
	}
	return lengths, over.src, nil
}

// joined are byte arrays whose lengths precede all of them. If there are prefixes, each
// begins with that number of bytes of the one before.
type joined struct {
	prefixes, lengths *deltas
	data              []byte
	one               []byte
	fixed             int // the length of each; -1: they differ
}

func (j *joined) next() (value, error) {
	var prefix value
	var err error
	if j.prefixes != nil {
		if prefix, err = j.prefixes.next(); err != nil {
			return value{}, err
		}
	}
	length, err := j.lengths.next()
	if err != nil {
		return value{}, err
	}
	if prefix.bits > uint64(len(j.one)) || length.bits > uint64(len(j.data)) {
		return value{}, errShort
	}
	if j.prefixes == nil {
		j.one = j.data[:length.bits:length.bits]
	} else {
		j.one = append(j.one[:prefix.bits], j.data[:length.bits]...)
	}
	j.data = j.data[length.bits:]
	if j.fixed >= 0 && len(j.one) != j.fixed {
		return value{}, fmt.Errorf("its data is damaged: a value has %d bytes in place of %d", len(j.one), j.fixed)
	}
	return value{raw: j.one}, nil
}
