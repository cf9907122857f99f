package read

import (
	"fmt"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/excerpt"
	"github.com/smolwc/smolwc/tuple"
)

// A RowRange is the rows from Start, inclusive, to End, exclusive. An empty Start is the
// first row; an empty End is no bound.
type RowRange = cf.Range

// A RowSet is row keys, prefixes and ranges to read or delete. Several RowSets given to
// one read are read as their union: each row once, in key order.
type RowSet struct {
	// Ranges are in any order and may overlap.
	Ranges []RowRange
	// Err is a fault of the arguments: a key that is empty or too long, a range
	// whose start is after its end, an element that no tuple can have.
	Err error
}

func (s RowSet) apply(r *Request) {
	if r.Rows == nil {
		r.Rows = make([]RowRange, 0, len(s.Ranges))
	}
	r.Rows = append(r.Rows, s.Ranges...)
	if r.err == nil {
		r.err = s.Err
	}
}

// Key is the rows with these keys.
func Key(keys ...string) RowSet {
	s := RowSet{Ranges: make([]RowRange, 0, len(keys))}
	for _, k := range keys {
		if err := cells.CheckRowKey(k); err != nil {
			s.Err = err
			return s
		}
		s.Ranges = append(s.Ranges, cf.Single(k))
	}
	return s
}

// Prefix is the rows whose keys start with p, the row p itself included; all rows when
// p is empty.
func Prefix(p string) RowSet {
	return RowSet{Ranges: []RowRange{cf.Prefix(p)}}
}

// Range is the rows from start, inclusive, to end, exclusive. An empty start is the
// first row; an empty end means no end.
func Range(start, end string) RowSet {
	s := RowSet{Ranges: []RowRange{{Start: start, End: end}}}
	if end != "" && start > end {
		s.Err = fmt.Errorf("range start %q is after its end %q", excerpt.Of(start), excerpt.Of(end))
	}
	return s
}

// TuplePrefix is the rows whose keys are tuples that start with these elements, the
// tuple of just these elements included; package tuple lists the types that an element
// can have.
func TuplePrefix(elems ...any) RowSet {
	t := tuple.Tuple(elems)
	key, err := t.Pack()
	if err != nil {
		return RowSet{Err: fmt.Errorf("row-key prefix: %w", err)}
	}
	// This excludes some keys that start with these bytes: a string may continue with
	// 00 ff.
	begin, end, err := tuple.Range(t)
	if err != nil {
		return RowSet{Err: fmt.Errorf("row-key prefix: %w", err)}
	}
	s := RowSet{Ranges: []RowRange{{Start: string(begin), End: string(end)}}}
	if len(key) > 0 {
		s.Ranges = append(s.Ranges, cf.Single(string(key)))
	}
	return s
}
