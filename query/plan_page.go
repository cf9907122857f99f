package query

import (
	"github.com/smolwc/smolwc/cf"
)

// singleRow reports whether the read has one row key.
func (r *readSpec) singleRow() bool {
	if r.Rows == nil || len(r.rows) != 1 {
		return false
	}
	_, ok := r.rows[0].Single()
	return ok
}

// goOn narrows the read to the keys behind a row.
func (r *readSpec) goOn(row string) {
	r.Offset = 0
	if r.Reverse {
		r.rows = cf.ClipRanges(r.rows, cf.Range{End: row})
	} else {
		r.rows = cf.ClipRanges(r.rows, cf.Range{Start: row + "\x00"})
	}
}

// startBehind narrows a scan to the qualifiers behind q and reports whether
// there can be any.
func (s *familyScan) startBehind(q string) bool {
	f := &s.scan.Filter
	from := q + "\x00"
	if f.Qualifiers == nil {
		f.Qualifiers = []cf.Range{{Start: from}}
		return true
	}
	var rest []cf.Range
	for _, r := range f.Qualifiers {
		if r.Start = max(r.Start, from); !r.Empty() {
			rest = append(rest, r)
		}
	}
	f.Qualifiers = rest
	return len(rest) > 0
}
