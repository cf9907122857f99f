package read_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/query/read"
)

// A request that is used as an option is shared by the requests that are made from it:
// options after it change only their own request.
func TestARequestIsSharedAsAnOption(t *testing.T) {
	shared := &read.Request{
		Rows:    slices.Grow(read.Key("a").Ranges, 4),
		Columns: slices.Grow([]read.ColumnSpec{read.Family("f")}, 4),
		Where:   slices.Grow([]read.Condition{read.Exists("f", "q")}, 4),
	}
	made := func(name string) *read.Request {
		r, err := read.New(shared, read.Key(name), read.Family(name), read.Exists(name, name))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	b, c := made("b"), made("c")
	for name, r := range map[string]*read.Request{"b": b, "c": c} {
		if key, _ := r.Rows[1].Single(); key != name || r.Columns[1].Family != name || r.Where[1].Family != name {
			t.Errorf("the request for %s is %+v", name, r)
		}
	}
}

// Options are counted from 1.
func TestANilOptionIsNamed(t *testing.T) {
	_, err := read.New(read.Limit(1), nil)
	if err == nil || err.Error() != "read option 2 is nil" {
		t.Errorf("a nil option: %v", err)
	}
}

// Patterns are bounded together, wherever they stand in the conditions.
func TestPatternsAreBoundedTogether(t *testing.T) {
	many := func(n int, pattern string) []read.Condition {
		return slices.Repeat([]read.Condition{read.WhereMatch("f", "q", pattern)}, n)
	}
	for _, c := range []struct {
		where []read.Condition
		want  string // "": they are taken
	}{
		{nil, ""},
		{many(2, strings.Repeat("a", 32<<10)), ""},
		{many(2, strings.Repeat("a", 32<<10+1)), "65538 bytes together; they may have up to 65536"},
		{many(20, `(\C{100}){10}`), ""},
		{many(200, `(\C{100}){10}`), "more than 100000 steps together"},
		{[]read.Condition{read.Negate(read.Any(read.All(many(200, `(\C{100}){10}`)...)))}, "more than 100000 steps together"},
		{many(1, "("), ""}, // a mistake that Prepare finds
	} {
		if err := read.CheckPatterns(c.where); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.100v: %v, want %q", c.where, err, c.want)
		}
	}
}
