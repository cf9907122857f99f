package ordered

import (
	"bytes"

	"github.com/smolwc/smolwc/cf"
)

// A row is the row that a cursor reads, and the column.
type row struct {
	open   bool
	back   bool // a scan in reverse went to the row's first key
	key    []byte
	prefix []byte // of all its keys

	column    []byte // the prefix of the column's keys
	qualifier []byte
	rank      int // of the cell, in its column
	passed    int // cells of the column
	// The column is not wanted, but may show that there is a row.
	witness bool

	columns, cells int  // that passed
	any            bool // a cell passed, perhaps except for its value
	at             int  // the range of qualifiers that the column is in, or the next one
	held           []bool
}

// again returns an empty row that reuses this one's memory.
func (r *row) again() row {
	return row{key: r.key[:0], prefix: r.prefix[:0], column: r.column[:0], qualifier: r.qualifier[:0], held: r.held}
}

func (r *row) enter(key, prefix []byte, f *cf.Filter) {
	r.open, r.any, r.columns, r.cells, r.at = true, false, 0, 0, 0
	r.key = append(r.key[:0], key...)
	r.prefix = append(r.prefix[:0], prefix...)
	r.column = r.column[:0]
	if n := len(f.Where); n > 0 {
		if len(r.held) != n {
			r.held = make([]bool, n)
		}
		clear(r.held)
	}
}

// begin begins the column of a key.
func (r *row) begin(key, qualifier []byte) {
	r.column = append(r.column[:0], key[:len(key)-cf.VersionLen]...)
	r.qualifier = append(r.qualifier[:0], qualifier...)
	r.rank, r.passed, r.witness = 0, 0, false
}

// After an element's end, 0x00, comes the first byte of the next element; 0xff there is
// part of a longer element.
const (
	qualifierTag = 0x01
	versionTag   = 0x1c
)

// has reports whether a key belongs to the row.
func (r *row) has(key []byte) bool { return follows(key, r.prefix, qualifierTag) }

// inColumn reports whether a key belongs to the column.
func (r *row) inColumn(key []byte) bool {
	return len(r.column) > 0 && follows(key, r.column, versionTag)
}

func follows(key, prefix []byte, tag byte) bool {
	return len(key) > len(prefix) && key[len(prefix)] == tag && bytes.HasPrefix(key, prefix)
}

// rangeOf is the range of qualifiers with a qualifier, or else the next one; qualifiers
// ascend within a row.
func (r *row) rangeOf(qualifier []byte, ranges []cf.Range) int {
	for r.at < len(ranges) && ranges[r.at].End != "" && string(qualifier) >= ranges[r.at].End {
		r.at++
	}
	return r.at
}

// inLast reports whether the column is the last one that ranges of qualifiers allow.
func (r *row) inLast(ranges []cf.Range) bool {
	if n := len(ranges); n == 0 || r.at != n-1 {
		return false
	}
	_, single := ranges[r.at].Single()
	return single
}

// judge judges the conditions on the column by its newest value.
func (r *row) judge(value []byte, where []cf.RowCondition) bool {
	for i := range where {
		if where[i].Qualifier != string(r.qualifier) {
			continue
		}
		if !where[i].Holds(value, true) {
			return false
		}
		r.held[i] = true
	}
	return true
}

// satisfied judges the conditions on columns that the row does not have.
func (r *row) satisfied(where []cf.RowCondition) bool {
	for i := range where {
		if !r.held[i] && !where[i].Holds(nil, false) {
			return false
		}
	}
	return true
}
