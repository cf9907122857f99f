package bulk

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// An entry represents a group while groups are sorted.
type entry struct {
	key uint64 // the eight bytes of the row prefix that are compared now
	at  uint32 // the group's place in the arena; later groups have greater places
	len uint32 // of the group; the upper bit marks an entry with the same row as the one before
}

const againBit = 1 << 31

func (e *entry) again() bool { return e.len&againBit != 0 }

func (e *entry) group(data []byte) []byte { return data[e.at : e.at+e.len&^againBit] }

// sortEntries sorts groups by row, and groups of one row by arrival. It sets againBit
// in all but the first group of a row. It sorts by words of eight bytes: the words are
// compared in the entries, and the next eight bytes are fetched only for rows that are
// equal so far.
func sortEntries(data []byte, es []entry) {
	if len(es) < 2 {
		return
	}
	sortFrom(data, es, commonPrefix(data, es))
}

// commonPrefix is the length of the longest prefix that all rows share.
func commonPrefix(data []byte, es []entry) int {
	first := rowAt(data, es[0].at)
	n := len(first)
	for i := 1; i < len(es) && n > 0; i++ {
		row := rowAt(data, es[i].at)
		if n <= len(row) && bytes.Equal(row[:n], first[:n]) {
			continue
		}
		n = min(n, len(row))
		for k := range n {
			if row[k] != first[k] {
				n = k
				break
			}
		}
	}
	return n
}

// sortFrom sorts rows whose first depth bytes are equal.
func sortFrom(data []byte, es []entry, depth int) {
	for i := range es {
		es[i].key = wordAt(rowAt(data, es[i].at), depth)
	}
	slices.SortFunc(es, func(a, b entry) int {
		if a.key != b.key {
			if a.key < b.key {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.at, b.at)
	})
	for from := 0; from < len(es); {
		to := from + 1
		for to < len(es) && es[to].key == es[from].key {
			to++
		}
		if to > from+1 {
			if ended(data, es[from:to], depth+8) {
				for i := from + 1; i < to; i++ {
					es[i].len |= againBit
				}
			} else {
				sortFrom(data, es[from:to], depth+8)
			}
		}
		from = to
	}
}

// ended reports whether rows that are equal up to depth all end there. A row may
// continue where another ends: 01 61 00, and 01 61 00 ff 00. No row continues with 00,
// so the zeros after a row's end sort it first.
func ended(data []byte, es []entry, depth int) bool {
	return !slices.ContainsFunc(es, func(e entry) bool { return len(rowAt(data, e.at)) > depth })
}

// wordAt is the eight bytes of a row from depth on, with zeros after its end, as a
// number that sorts like them.
func wordAt(row []byte, depth int) uint64 {
	if depth+8 <= len(row) {
		return binary.BigEndian.Uint64(row[depth:])
	}
	var word [8]byte
	if depth < len(row) {
		copy(word[:], row[depth:])
	}
	return binary.BigEndian.Uint64(word[:])
}
