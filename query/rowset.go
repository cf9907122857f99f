package query

import (
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/tuple"
)

// A RowSet is row keys, prefixes and ranges to read or delete. Several RowSets
// given to one read are read as their union: each row once, in key order.
type RowSet struct {
	ranges []cf.Range
	err    error
}

func (s RowSet) apply(r *readSpec) {
	r.rows = append(r.rows, s.ranges...)
	r.hasRows = true
	if r.err == nil {
		r.err = s.err
	}
}

// Key is the rows with these keys.
func Key(keys ...string) RowSet {
	s := RowSet{ranges: make([]cf.Range, 0, len(keys))}
	for _, k := range keys {
		if err := checkRowKey(k); err != nil {
			s.err = err
			return s
		}
		s.ranges = append(s.ranges, cf.Single(k))
	}
	return s
}

// Prefix is the rows whose keys start with p, the row p itself included; all
// rows when p is empty.
func Prefix(p string) RowSet {
	return RowSet{ranges: []cf.Range{cf.Prefix(p)}}
}

// Range is the rows from start, inclusive, to end, exclusive. An empty start is
// the first row; an empty end means no end.
func Range(start, end string) RowSet {
	s := RowSet{ranges: []cf.Range{{Start: start, End: end}}}
	if end != "" && start > end {
		s.err = faultf(InvalidArgument, "range start %q is after its end %q", shorten(start), shorten(end))
	}
	return s
}

// TuplePrefix is the rows whose keys are tuples that start with these elements,
// the tuple of just these elements included; package tuple lists the types that
// an element can have.
func TuplePrefix(elems ...any) RowSet {
	t := tuple.Tuple(elems)
	key, err := t.Pack()
	if err != nil {
		return RowSet{err: faultf(InvalidArgument, "row-key prefix: %w", err)}
	}
	// Not all keys that start with these bytes: a string may go on with 00 ff.
	begin, end, err := tuple.Range(t)
	if err != nil {
		return RowSet{err: faultf(InvalidArgument, "row-key prefix: %w", err)}
	}
	s := RowSet{ranges: []cf.Range{{Start: string(begin), End: string(end)}}}
	if len(key) > 0 {
		s.ranges = append(s.ranges, cf.Single(string(key)))
	}
	return s
}

// checkRowKey is the rule for row keys.
func checkRowKey(key string) error {
	switch {
	case key == "":
		return faultf(InvalidArgument, "row key is empty; it must have 1 to %d bytes", MaxRowKey)
	case len(key) > MaxRowKey:
		return faultf(InvalidArgument, "row key of %d bytes starting %q is too long; it must have 1 to %d bytes", len(key), key[:40], MaxRowKey)
	}
	return nil
}
