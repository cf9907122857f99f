package plan

import (
	"github.com/smolwc/smolwc/cf"
)

// SingleRow reports whether the read is of one row key.
func (r *Spec) SingleRow() bool {
	if r.Rows == nil || len(r.Ranges) != 1 {
		return false
	}
	_, ok := r.Ranges[0].Single()
	return ok
}

// GoOn narrows the read to the keys after a row.
func (r *Spec) GoOn(row string) {
	r.Offset = 0
	if r.Reverse {
		r.Ranges = cf.ClipRanges(r.Ranges, cf.Range{End: row})
	} else {
		r.Ranges = cf.ClipRanges(r.Ranges, cf.Range{Start: row + "\x00"})
	}
}

// StartBehind narrows a scan to the qualifiers after q and reports whether
// there can be any.
func (s *FamilyScan) StartBehind(q string) bool {
	f := &s.Scan.Filter
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
