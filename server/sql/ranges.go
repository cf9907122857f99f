package sql

import (
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/read"
)

// keyRanges are row keys: sorted ranges that do not touch.
type keyRanges []cf.Range

// allKeys is every row.
var allKeys = keyRanges{{}}

func (rs keyRanges) and(others keyRanges) keyRanges { return cf.IntersectRanges(rs, others) }

// intersectionOf is the keys that are in all elements of all; there is at least one
// range. Halves are combined, so that many small ranges do not each walk a large one.
func intersectionOf(all []keyRanges) keyRanges {
	if len(all) == 1 {
		return all[0]
	}
	half := len(all) / 2
	return intersectionOf(all[:half]).and(intersectionOf(all[half:]))
}

// unionOf joins ranges in any order.
func unionOf(rs keyRanges) keyRanges {
	var union keyRanges
	for _, r := range cf.MergeRanges(rs) {
		if last := len(union) - 1; last >= 0 && union[last].End == r.Start {
			union[last].End = r.End
		} else {
			union = append(union, r)
		}
	}
	return union
}

// keysThat are the row keys for which a comparison holds.
func keysThat(op, key string) keyRanges {
	after := key + "\x00"
	var rs keyRanges
	switch op {
	case "=":
		rs = keyRanges{cf.Single(key)}
	case "<":
		if key == "" {
			return nil
		}
		rs = keyRanges{{End: key}}
	case "<=":
		rs = keyRanges{{End: after}}
	case ">":
		rs = keyRanges{{Start: after}}
	case ">=":
		rs = keyRanges{{Start: key}}
	default:
		rs = allKeys
	}
	return rs
}

// keysWith are the row keys with a prefix.
func keysWith(prefix string) keyRanges { return keyRanges{cf.Prefix(prefix)} }

// options are the rows of a read. There must be a range.
func (rs keyRanges) options() []read.Option {
	if len(rs) == 1 && rs[0] == (cf.Range{}) {
		return nil
	}
	return []read.Option{read.RowSet{Ranges: rs}}
}
