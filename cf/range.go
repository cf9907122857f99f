package cf

import (
	"slices"
	"sort"
	"strings"
)

// A Range is the strings from Start, inclusive, to End, exclusive. The strings are row
// keys, qualifiers or the bytes of values. An empty End is no bound. The zero Range is
// all strings.
type Range struct{ Start, End string }

// Single is the range that holds one string.
func Single(s string) Range { return Range{Start: s, End: s + "\x00"} }

// Prefix is the range of the strings that start with p.
func Prefix(p string) Range {
	end, _ := PrefixSuccessor(p)
	return Range{Start: p, End: end}
}

// Single returns the string of a range that holds exactly one string.
func (r Range) Single() (s string, ok bool) {
	if len(r.End) == len(r.Start)+1 && r.End[len(r.Start)] == 0 && r.End[:len(r.Start)] == r.Start {
		return r.Start, true
	}
	return "", false
}

// Empty reports whether no string lies in the range.
func (r Range) Empty() bool { return r.End != "" && r.Start >= r.End }

// Contains reports whether a string lies in the range.
func (r Range) Contains(s string) bool { return s >= r.Start && (r.End == "" || s < r.End) }

// Bounds are the physical bounds of a range of row keys: keys of the range lie in
// [start, end).
func (r Range) Bounds() (start, end []byte) { return AppendRowBound(nil, r.Start), r.AppendEnd(nil) }

// AppendEnd appends to dst the physical bound at the end of a range of row keys, or of
// a range of qualifiers within a row. [AppendRowBound] gives the bound at its start.
// The keys of the range lie between the two bounds, the start inclusive, the end
// exclusive.
func (r Range) AppendEnd(dst []byte) []byte {
	if r.End == "" {
		return append(dst, rowsEnd...)
	}
	return AppendRowBound(dst, r.End)
}

// MergeRanges returns the ranges sorted and disjoint, without empty ranges. Adjacent
// ranges are not joined.
func MergeRanges(ranges []Range) []Range {
	ranges = slices.DeleteFunc(slices.Clone(ranges), Range.Empty)
	slices.SortFunc(ranges, func(a, b Range) int { return strings.Compare(a.Start, b.Start) })
	merged := ranges[:0]
	for _, r := range ranges {
		if n := len(merged); n > 0 && (merged[n-1].End == "" || r.Start < merged[n-1].End) {
			if last := &merged[n-1]; endsBefore(last.End, r.End) {
				last.End = r.End
			}
			continue
		}
		merged = append(merged, r)
	}
	return merged
}

// ClipRanges cuts ranges to bounds, in place.
func ClipRanges(ranges []Range, bounds Range) []Range {
	clipped := ranges[:0]
	for _, r := range ranges {
		r.Start = max(r.Start, bounds.Start)
		if endsBefore(bounds.End, r.End) {
			r.End = bounds.End
		}
		if !r.Empty() {
			clipped = append(clipped, r)
		}
	}
	return clipped
}

// endsBefore reports whether a range with the end a ends before one with the end b.
func endsBefore(a, b string) bool { return a != "" && (b == "" || a < b) }

// IntersectRanges returns the ranges of the strings that are in both lists. Each list
// is sorted and disjoint.
func IntersectRanges(a, b []Range) []Range {
	var both []Range
	for i, j := 0, 0; i < len(a) && j < len(b); {
		r := Range{Start: max(a[i].Start, b[j].Start), End: a[i].End}
		if endsBefore(b[j].End, r.End) {
			r.End = b[j].End
		}
		if !r.Empty() {
			both = append(both, r)
		}
		if endsBefore(a[i].End, b[j].End) {
			i++
		} else {
			j++
		}
	}
	return both
}

// InRanges reports whether sorted, disjoint ranges contain s.
func InRanges(ranges []Range, s string) bool {
	behind := sort.Search(len(ranges), func(i int) bool { return ranges[i].Start > s })
	return behind > 0 && ranges[behind-1].Contains(s)
}
