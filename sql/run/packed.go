package run

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"

	"github.com/smolwc/smolwc/sql/value"
)

// packedRows are rows as bytes in a few large blocks, so that they take little memory, are
// sorted by comparing bytes, and go to a file as they are. The zero value has no rows.
type packedRows struct {
	blocks [][]byte // full but for the last
	rows   []packedRow
}

// A packedRow is where a row is, and the beginning of its key, by which most rows are compared.
type packedRow struct {
	first uint64 // the first eight bytes of the key
	at    uint64 // the number of the block, the place in it, and whether first is the whole key
}

const (
	firstIsAll   = 1
	leastBlock   = 1 << 10
	mostBlock    = 1 << 20
	packedMemory = 2 * 16 // of a row beside its bytes; sorting takes as much again
)

var errPacked = errors.New("a temporary file of the query is damaged")

// A row is the key of a row, whose first bytes are those of its partition, and its values. It is
// valid until its source gives the next one.
type row struct{ partition, key, values []byte }

// appendRow appends what unpack reads: the sizes of the partition's part of the key and of the
// key, the key, and the values.
func appendRow(dst, key []byte, partition int, values []byte) []byte {
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(partition)), uint64(len(key)))
	return append(append(dst, key...), values...)
}

func unpack(b []byte) (r row, err error) {
	partition, n := binary.Uvarint(b)
	size, m := binary.Uvarint(b[max(n, 0):])
	if n <= 0 || m <= 0 || size > uint64(len(b)-n-m) || partition > size {
		return row{}, errPacked
	}
	b = b[n+m:]
	return row{b[:partition], b[:size], b[size:]}, nil
}

// decode appends the first values of the row, as many as are wanted.
func (r row) decode(dst []any, wanted int) (_ []any, err error) {
	for b := r.values; wanted > 0; wanted-- {
		var v any
		if v, b, err = value.Cut(b); err != nil {
			return nil, diskError(err)
		}
		dst = append(dst, v)
	}
	return dst, nil
}

// decodeAll are all values of the row.
func (r row) decodeAll() (all []any, err error) {
	for b := r.values; len(b) > 0; {
		var v any
		if v, b, err = value.Cut(b); err != nil {
			return nil, diskError(err)
		}
		all = append(all, v)
	}
	return all, nil
}

// add adds a row, whose bytes are copied.
func (p *packedRows) add(packed []byte) {
	r, _ := unpack(packed) // it was made here, or checked as it was read
	last := len(p.blocks) - 1
	if last < 0 || cap(p.blocks[last])-len(p.blocks[last]) < len(packed)+binary.MaxVarintLen32 {
		size := leastBlock
		if last >= 0 {
			size = min(2*cap(p.blocks[last]), mostBlock)
		}
		last++
		p.blocks = append(p.blocks, make([]byte, 0, max(size, len(packed)+binary.MaxVarintLen32)))
	}
	made := packedRow{at: uint64(last)<<40 | uint64(len(p.blocks[last]))<<1}
	if len(r.key) >= 8 {
		made.first = binary.BigEndian.Uint64(r.key)
	} else {
		var all [8]byte
		copy(all[:], r.key)
		made.first = binary.BigEndian.Uint64(all[:])
	}
	if len(r.key) <= 8 {
		made.at |= firstIsAll
	}
	p.blocks[last] = append(binary.AppendUvarint(p.blocks[last], uint64(len(packed))), packed...)
	p.rows = append(p.rows, made)
}

// bytes are those that add was given.
func (p *packedRows) bytes(r packedRow) []byte {
	b := p.blocks[r.at>>40][r.at&(1<<40-1)>>1:]
	size, n := binary.Uvarint(b)
	return b[n : n+int(size)]
}

func (p *packedRows) of(r packedRow) row {
	of, _ := unpack(p.bytes(r))
	return of
}

// compare orders rows by their keys, and equal ones as they were added. A key that is the
// beginning of another one, followed by zeros, would equal it here; keys are never the beginning
// of others.
func (p *packedRows) compare(a, b packedRow) int {
	switch {
	case a.first != b.first:
		return cmp.Compare(a.first, b.first)
	case a.at&b.at&firstIsAll == 0:
		if c := bytes.Compare(p.of(a).key, p.of(b).key); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.at, b.at)
}

// clear removes the rows, and gives their memory back.
func (p *packedRows) clear() { *p = packedRows{} }
