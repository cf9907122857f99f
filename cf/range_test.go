package cf_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cf"
)

// Operations on ranges agree with operations on lists of their strings.
func TestRangesAreSetsOfStrings(t *testing.T) {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("\x00ab")), 0, 2, -1)
	ranges := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) cf.Range {
		return cf.Range{Start: text.Draw(t, "start"), End: text.Draw(t, "end")}
	}), 0, 5)
	in := func(ranges []cf.Range, s string) bool {
		return slices.ContainsFunc(ranges, func(r cf.Range) bool { return r.Contains(s) })
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := ranges.Draw(t, "a"), ranges.Draw(t, "b")
		mergedA, mergedB := cf.MergeRanges(a), cf.MergeRanges(b)
		both := cf.IntersectRanges(mergedA, mergedB)
		for _, list := range [][]cf.Range{mergedA, both} {
			if slices.ContainsFunc(list, cf.Range.Empty) {
				t.Fatalf("%q has an empty range", list)
			}
			for i := 1; i < len(list); i++ {
				if end := list[i-1].End; end == "" || end > list[i].Start {
					t.Fatalf("%q is not sorted and disjoint", list)
				}
			}
		}
		s := text.Draw(t, "s")
		if in(mergedA, s) != in(a, s) || cf.InRanges(mergedA, s) != in(a, s) {
			t.Fatalf("%q merged is %q, which differs for %q", a, mergedA, s)
		}
		if in(both, s) != (in(a, s) && in(b, s)) {
			t.Fatalf("%q and %q have %q, which is wrong for %q", mergedA, mergedB, both, s)
		}
		if p := cf.Prefix(s); p.Contains(s+"\xff") != true || p.Contains(s[:max(0, len(s)-1)]) != (s == "") {
			t.Fatalf("prefix %q is %q", s, p)
		}
		if one, ok := cf.Single(s).Single(); !ok || one != s {
			t.Fatalf("single %q is %q", s, one)
		}
	})
}
