package sql

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/query"
)

// A keyRange is the row keys from start on and before end; an empty end is that
// of the table.
type keyRange struct{ start, end string }

// keyRanges are ascending and do not touch.
type keyRanges []keyRange

// allKeys is every row.
var allKeys = keyRanges{{}}

func (r keyRange) empty() bool { return r.end != "" && r.start >= r.end }

// endsBefore orders the ends of ranges.
func endsBefore(a, b string) bool { return a != "" && (b == "" || a < b) }

func (rs keyRanges) and(others keyRanges) keyRanges {
	var both keyRanges
	for i, j := 0, 0; i < len(rs) && j < len(others); {
		r := keyRange{max(rs[i].start, others[j].start), rs[i].end}
		if endsBefore(others[j].end, r.end) {
			r.end = others[j].end
		}
		if !r.empty() {
			both = append(both, r)
		}
		if endsBefore(rs[i].end, others[j].end) {
			i++
		} else {
			j++
		}
	}
	return both
}

// intersectionOf is the keys that all have, of which there is one at least. Halves
// are combined, so that many small ones beside a large one do not walk it each.
func intersectionOf(all []keyRanges) keyRanges {
	if len(all) == 1 {
		return all[0]
	}
	half := len(all) / 2
	return intersectionOf(all[:half]).and(intersectionOf(all[half:]))
}

// unionOf joins ranges in any order.
func unionOf(rs keyRanges) keyRanges {
	slices.SortFunc(rs, func(a, b keyRange) int { return strings.Compare(a.start, b.start) })
	var union keyRanges
	for _, r := range rs {
		last := len(union) - 1
		switch {
		case r.empty():
		case last < 0 || union[last].end != "" && union[last].end < r.start:
			union = append(union, r)
		case endsBefore(union[last].end, r.end):
			union[last].end = r.end
		}
	}
	return union
}

// keysThat are those for which a comparison holds.
func keysThat(op, key string) keyRanges {
	after := key + "\x00"
	var rs keyRanges
	switch op {
	case "=":
		rs = keyRanges{{key, after}}
	case "<":
		if key == "" {
			return nil
		}
		rs = keyRanges{{"", key}}
	case "<=":
		rs = keyRanges{{"", after}}
	case ">":
		rs = keyRanges{{after, ""}}
	case ">=":
		rs = keyRanges{{key, ""}}
	default:
		rs = allKeys
	}
	return rs
}

// keysWith are those with a prefix.
func keysWith(prefix string) keyRanges {
	for end := []byte(prefix); len(end) > 0; end = end[:len(end)-1] {
		if end[len(end)-1]++; end[len(end)-1] != 0 {
			return keyRanges{{prefix, string(end)}}
		}
	}
	return keyRanges{{prefix, ""}}
}

// options are the rows of a read. There must be a range.
func (rs keyRanges) options() []query.ReadOption {
	if len(rs) == 1 && rs[0] == (keyRange{}) {
		return nil
	}
	opts := make([]query.ReadOption, len(rs))
	for i, r := range rs {
		if r.end == r.start+"\x00" && r.start != "" {
			opts[i] = query.Key(r.start)
		} else {
			opts[i] = query.Range(r.start, r.end)
		}
	}
	return opts
}
