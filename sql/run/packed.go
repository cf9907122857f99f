package run

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/smolwc/smolwc/internal/keysort"
	"github.com/smolwc/smolwc/sql/value"
)

// packedRows are rows as bytes in a few large blocks, so that they take little memory, are
// sorted by comparing bytes, and go to a file as they are. The zero value has no rows.
type packedRows struct {
	blocks  [][]byte // full but for the last
	rows    []packedRow
	touched byte // by fetch, which would otherwise do nothing
}

// A packedRow is where a row is: the number of the block, and the place in it.
type packedRow = keysort.Entry

const (
	leastBlock   = 1 << 10
	mostBlock    = 1 << 20
	packedMemory = 2 * 16 // of a row beside its bytes, and as much again while their slice grows
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
	partition, n := uvarint(b)
	size, m := uvarint(b[max(n, 0):])
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

// value is the value of a number, from 0.
func (r row) value(number int) (v any, err error) {
	b := r.values
	for ; number > 0 && err == nil; number-- {
		b, err = value.Skip(b)
	}
	if err == nil {
		v, _, err = value.Cut(b)
	}
	if err != nil {
		return nil, diskError(err)
	}
	return v, nil
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
	last := len(p.blocks) - 1
	if last < 0 || cap(p.blocks[last])-len(p.blocks[last]) < len(packed)+binary.MaxVarintLen32 {
		size := leastBlock
		if last >= 0 {
			size = min(2*cap(p.blocks[last]), mostBlock)
		}
		last++
		p.blocks = append(p.blocks, make([]byte, 0, max(size, len(packed)+binary.MaxVarintLen32)))
	}
	made := packedRow{At: uint64(last)<<40 | uint64(len(p.blocks[last]))}
	p.blocks[last] = append(binary.AppendUvarint(p.blocks[last], uint64(len(packed))), packed...)
	p.rows = append(p.rows, made)
}

// bytes are those that add was given.
func (p *packedRows) bytes(r packedRow) []byte {
	b := p.blocks[r.At>>40][r.At&(1<<40-1):]
	size, n := uvarint(b)
	return b[n : n+int(size)]
}

// uvarint is binary.Uvarint, and quicker for small numbers.
func uvarint(b []byte) (uint64, int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	return binary.Uvarint(b)
}

func (p *packedRows) of(r packedRow) row {
	of, _ := unpack(p.bytes(r)) // it was made here, or checked as it was read
	return of
}

// fetched is the number of rows that are fetched at once.
const fetched = 16

// fetch brings the next rows into the processor's cache. Sorted rows lie apart in memory: one by
// one, each costs a wait, and a loop that does nothing else waits for several at once.
func (p *packedRows) fetch(rows []packedRow) {
	for _, r := range rows[:min(len(rows), fetched)] {
		p.touched += p.blocks[r.At>>40][r.At&(1<<40-1)]
	}
}

// sort sorts the rows by their keys; equal ones stay as they were added. It stops when the context
// ends.
func (p *packedRows) sort(ctx context.Context) {
	keysort.Sort(ctx, p.rows, func(at uint64) []byte { return p.of(packedRow{At: at}).key }, nil)
}

// clear removes the rows, and gives their memory back.
func (p *packedRows) clear() { *p = packedRows{} }
