//go:build cgo

package query_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// openFiltered is a table of two rows for the tests of single filters.
func openFiltered(t *testing.T) *query.Table {
	t.Helper()
	db := openMemory(t, declare(schema.Family{Name: "f"}, schema.Family{Name: "g"}))
	table := db.Table("t")
	for row, m := range map[string]*query.Mutation{
		"r1": mutate(
			setAt("f", "a", 3, cells.String("new")), setAt("f", "a", 2, cells.String("mid")), setAt("f", "a", 1, cells.String("old")),
			setAt("f", "b\n", 2, cells.String("x\ny")),
			setAt("g", "a", 2, cells.I64(258)), setAt("g", "\xe9", 1, cells.Bytes([]byte("\xff")))),
		"r2\n": mutate(setAt("f", "a", 2, cells.F64(1.5)), setAt("g", "c", 2, cells.Bool(true))),
	} {
		if err := table.Apply(ctx, row, m); err != nil {
			t.Fatal(err)
		}
	}
	return table
}

// shown is what a read returns, in one line: rows between bars, cells as
// family:qualifier@timestamp, with =value where it was stripped, and #label.
func shown(t *testing.T, table *query.Table, opts ...query.ReadOption) string {
	t.Helper()
	var rows []string
	for row, err := range table.ReadRows(ctx, opts...) {
		if err != nil {
			t.Fatal(err)
		}
		texts := []string{row.Key()}
		i := 0
		for c := range row.Cells() {
			text := fmt.Sprintf("%s@%d", c.Column(), c.Timestamp)
			if b, ok := c.Value.AsBytes(); ok && len(b) == 0 {
				text += "="
			}
			if label := row.Label(i); label != "" {
				text += "#" + label
			}
			texts = append(texts, text)
			i++
		}
		rows = append(rows, strings.Join(texts, " "))
	}
	return strings.ReplaceAll(strings.Join(rows, " | "), "\n", `\n`)
}

const (
	r1   = "r1 f:a@3 f:a@2 f:a@1 f:b\\n@2 g:a@2 g:\xe9@1"
	r2   = "r2\\n f:a@2 g:c@2"
	both = r1 + " | " + r2
)

// The rules are those in the comments of google/bigtable/v2/data.proto, on the
// field named, where nothing else is said.
func TestFilters(t *testing.T) {
	table := openFiltered(t)
	chain, interleave := query.ChainFilters, query.InterleaveFilters
	all, none, sink := query.PassAllFilter(), query.BlockAllFilter(), query.SinkFilter()
	for _, test := range []struct {
		rule   string
		filter query.Filter
		want   string
	}{
		{"no filter", nil, both},
		{"pass_all_filter", all, both},
		{"block_all_filter", none, ""},

		{"chain: each sees what the one before left", chain(query.FamilyFilter("f"), query.CellsPerRowLimitFilter(1)), "r1 f:a@3 | r2\\n f:a@2"},
		{"chain: and the other way round", chain(query.CellsPerRowOffsetFilter(3), query.FamilyFilter("g")), "r1 g:a@2 g:\xe9@1"},
		{"chain: versions are counted before the time range cuts", chain(query.LatestNFilter(1), query.TimestampRangeFilter(0, 3)),
			"r1 f:b\\n@2 g:a@2 g:\xe9@1 | " + r2},
		{"chain: or after it", chain(query.TimestampRangeFilter(0, 3), query.LatestNFilter(1)), "r1 f:a@2 f:b\\n@2 g:a@2 g:\xe9@1 | " + r2},

		{"chain: a limit before the columns are chosen", chain(query.CellsPerRowLimitFilter(4), query.FamilyFilter("g")), "r2\\n g:c@2"},

		{"chain: versions, time range, versions", chain(query.ColumnFilter("a"), query.LatestNFilter(2), query.TimestampRangeFilter(0, 3), query.LatestNFilter(1)),
			"r1 f:a@2 g:a@2 | r2\\n f:a@2"},
		{"chain: versions of those with a value", chain(query.ValueFilter("old"), query.LatestNFilter(1)), "r1 f:a@1"},
		{"chain: the range of those", chain(query.ValueFilter("mid|old"), query.LatestNFilter(1), query.TimestampRangeFilter(0, 2)), ""},
		{"chain: the first of a column that a range only narrows", chain(query.ColumnFilter(`b.*|\xe9.*`), query.CellsPerRowLimitFilter(1)), "r1 g:\xe9@1"},

		{"interleave: each branch sees the whole row", interleave(chain(query.CellsPerRowLimitFilter(1), query.FamilyFilter("g")), query.ColumnFilter("c")), "r2\\n g:c@2"},
		{"interleave: sorted as a row, copies stay", interleave(query.FamilyFilter("g"), query.ColumnFilter("a")),
			"r1 f:a@3 f:a@2 f:a@1 g:a@2 g:a@2 g:\xe9@1 | r2\\n f:a@2 g:c@2"},
		{"interleave: one branch may be empty", interleave(none, query.ColumnFilter("c")), "r2\\n g:c@2"},
		{"cells_per_column_limit: copies count each", chain(query.ColumnFilter("a"), query.RowKeyFilter("r1"), interleave(all, all), query.LatestNFilter(3)),
			"r1 f:a@3 f:a@3 f:a@2 g:a@2 g:a@2"},
		{"cells_per_row_limit: copies count each", chain(interleave(all, all), query.CellsPerRowLimitFilter(3)), "r1 f:a@3 f:a@3 f:a@2 | r2\\n f:a@2 f:a@2 g:c@2"},
		{"cells_per_row_offset: copies count each", chain(interleave(all, all), query.CellsPerRowOffsetFilter(11)), "r1 g:\xe9@1"},

		{"condition: true filter on the input row", query.ConditionFilter(query.ColumnFilter("c"), query.FamilyFilter("f"), query.FamilyFilter("g")),
			"r1 g:a@2 g:\xe9@1 | r2\\n f:a@2"},
		{"condition: no true filter, no results", query.ConditionFilter(query.ColumnFilter("c"), nil, all), r1},
		{"condition: no false filter, no results", query.ConditionFilter(query.ColumnFilter("c"), all, nil), r2},
		{"condition: the predicate's changes are not seen", query.ConditionFilter(chain(query.StripValueFilter(), query.LabelFilter("l")), query.ColumnFilter("c"), nil),
			"r2\\n g:c@2"},
		{"condition: in a chain the predicate sees what is left", chain(query.FamilyFilter("f"), query.ConditionFilter(query.FamilyFilter("g"), all, none)), ""},

		// The example in the comment on sink, on these rows.
		{"sink: past the filters that follow, and not to them",
			chain(query.FamilyFilter("g"), interleave(all, chain(query.LabelFilter("foo"), sink)), query.ColumnFilter("a")),
			"r1 g:a@2#foo g:a@2 g:\xe9@1#foo | r2\\n g:c@2#foo"},
		{"sink: nothing reaches the next filter of its chain", chain(sink, query.LabelFilter("l")), both},
		{"sink: alone", sink, both},
		{"sink: twice", interleave(sink, chain(query.FamilyFilter("g"), sink)), "r1 f:a@3 f:a@2 f:a@1 f:b\\n@2 g:a@2 g:a@2 g:\xe9@1 g:\xe9@1 | r2\\n f:a@2 g:c@2 g:c@2"},
		{"sink: in a branch that leaves one column", interleave(chain(sink, query.ColumnFilter("c")), query.ColumnFilter("x")), both},
		{"sink: what it let out survives a block", chain(interleave(chain(query.ColumnFilter("c"), sink), all), none), "r2\\n g:c@2"},

		{"row_key_regex: the whole key", query.RowKeyFilter("r"), ""},
		{"row_key_regex: the dot is no newline", query.RowKeyFilter("r.*"), r1},
		{`row_key_regex: \C is any byte`, query.RowKeyFilter(`r\C*`), both},
		{"row_key_regex: alternatives are anchored both", query.RowKeyFilter("r1|x"), r1},
		{"family_name_regex", query.FamilyFilter("[^f]"), "r1 g:a@2 g:\xe9@1 | r2\\n g:c@2"},
		{"family_name_regex: none matches", query.FamilyFilter("ff"), ""},
		{"column_qualifier_regex: $ is the end, not before a newline", query.ColumnFilter("b$"), ""},
		{"column_qualifier_regex: newline", query.ColumnFilter(`b\n`), "r1 f:b\\n@2"},
		{"column_qualifier_regex: Latin-1, a byte written raw", query.ColumnFilter("\xe9"), "r1 g:\xe9@1"},
		{"column_qualifier_regex: Latin-1, a byte escaped", query.ColumnFilter(`\xe9`), "r1 g:\xe9@1"},
		{"column_qualifier_regex: a byte in a class", query.ColumnFilter("[\xe0-\xef]"), "r1 g:\xe9@1"},
		{"column_qualifier_regex: two bytes are two characters", query.ColumnFilter("é"), ""},
		{"column_qualifier_regex: quoted to the end", query.ColumnFilter(`\Qa`), "r1 f:a@3 f:a@2 f:a@1 g:a@2 | r2\\n f:a@2"},
		{"value_regex: on the text", query.ValueFilter("ne."), "r1 f:a@3"},
		{"value_regex: the dot is no newline", query.ValueFilter("x.*"), ""},
		{`value_regex: \C is`, query.ValueFilter(`x\C*`), "r1 f:b\\n@2"},
		{"value_regex: on the big-endian bytes of an i64", query.ValueFilter(`\x00{6}\x01\x02`), "r1 g:a@2"},
		{"value_regex: on those of an f64", query.ValueFilter(`\x3f\xf8\C{6}`), "r2\\n f:a@2"},
		{"value_regex: on the byte of a bool", query.ValueFilter(`\x01`), "r2\\n g:c@2"},

		{"column_range: half open", query.ColumnRangeFilter("f", "a", "b\n"), "r1 f:a@3 f:a@2 f:a@1 | r2\\n f:a@2"},
		{"column_range: without end", query.ColumnRangeFilter("g", "b", ""), "r1 g:\xe9@1 | r2\\n g:c@2"},
		{"column_range: start open, end closed", query.ColumnBoundsFilter("f", query.Excluding("a"), query.Including("b\n")), "r1 f:b\\n@2"},
		{"column_range: no bounds", query.ColumnBoundsFilter("f", query.Bound{}, query.Bound{}), "r1 f:a@3 f:a@2 f:a@1 f:b\\n@2 | r2\\n f:a@2"},
		{"column_range: nothing between", query.ColumnBoundsFilter("f", query.Excluding("a"), query.Including("a")), ""},
		{"column_range: no such family", query.ColumnRangeFilter("h", "", ""), ""},
		{"value_range: on raw bytes", query.ValueRangeFilter([]byte("mid"), []byte("old")), "r1 f:a@3 f:a@2"},
		{"value_range: end closed", query.ValueBoundsFilter(query.Excluding("mid"), query.Including("old")), "r1 f:a@3 f:a@1"},
		{"value_range: numbers are big-endian", query.ValueBoundsFilter(query.Including("\x00\x00\x00\x00\x00\x00\x01\x02"), query.Excluding("\x01")), "r1 g:a@2"},
		{"timestamp_range: start in, end out", query.TimestampRangeFilter(2, 3), "r1 f:a@2 f:b\\n@2 g:a@2 | " + r2},
		{"timestamp_range: no end", query.TimestampRangeFilter(3, 0), "r1 f:a@3"},
		{"timestamp_range: empty", query.TimestampRangeFilter(2, 2), ""},

		{"cells_per_row_offset", query.CellsPerRowOffsetFilter(5), "r1 g:\xe9@1"},
		{"cells_per_row_offset: none", query.CellsPerRowOffsetFilter(0), both},
		{"cells_per_row_limit: over families", query.CellsPerRowLimitFilter(5), "r1 f:a@3 f:a@2 f:a@1 f:b\\n@2 g:a@2 | " + r2},
		{"cells_per_column_limit", query.LatestNFilter(1), "r1 f:a@3 f:b\\n@2 g:a@2 g:\xe9@1 | " + r2},
		{"strip_value_transformer", chain(query.StripValueFilter(), query.ColumnFilter("c")), "r2\\n g:c@2="},
		{"strip_value_transformer: later filters see the empty value", chain(query.StripValueFilter(), query.ValueFilter("new")), ""},
		{"strip_value_transformer: earlier ones saw the value", chain(query.ValueFilter("new"), query.StripValueFilter()), "r1 f:a@3="},
		{"apply_label_transformer", chain(query.ColumnFilter("c"), query.LabelFilter("it-1")), "r2\\n g:c@2#it-1"},
		{"apply_label_transformer: each copy its own", chain(query.ColumnFilter("c"), interleave(query.LabelFilter("x"), all, query.LabelFilter("y"))),
			"r2\\n g:c@2#x g:c@2 g:c@2#y"},

		// Not Bigtable's: the rule is that of query.Where.
		{"value compare: numbers of all types", query.ValueCompareFilter(query.GE, cells.I32(1)), "r1 g:a@2 | r2\\n f:a@2"},
		{"value compare: within a type", query.ValueCompareFilter(query.LT, cells.String("new")), "r1 f:a@2"},
		{"value compare: NE takes the incomparable", query.ValueCompareFilter(query.NE, cells.I64(258)), "r1 f:a@3 f:a@2 f:a@1 f:b\\n@2 g:\xe9@1 | " + r2},
	} {
		t.Run(test.rule, func(t *testing.T) {
			if got := shown(t, table, query.RowFilter(test.filter)); got != test.want {
				t.Errorf("pushed down: got\n%s\nwant\n%s", got, test.want)
			}
			if got := shown(t, table, query.RowFilter(test.filter), query.Unpushed()); got != test.want {
				t.Errorf("whole: got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func nested(levels int) query.Filter {
	f := query.PassAllFilter()
	for range levels {
		f = query.ChainFilters(f, query.PassAllFilter())
	}
	return f
}

func TestWrongFiltersAreNamed(t *testing.T) {
	table := openFiltered(t)
	all := query.PassAllFilter()
	for _, test := range []struct {
		filter query.Filter
		parts  []string
	}{
		{query.ChainFilters(), []string{"chain has 0 filters", "at least two"}},
		{query.ChainFilters(all), []string{"chain has 1 filters"}},
		{query.InterleaveFilters(all), []string{"interleave has 1 filters"}},
		{query.ChainFilters(all, nil), []string{"chain: filter 2 is nil"}},
		{query.ChainFilters(all, query.InterleaveFilters(query.RowSampleFilter(1), all)), []string{"chain, filter 2: interleave, filter 1: row_sample(1)"}},
		{query.ConditionFilter(nil, all, all), []string{"condition has no predicate"}},
		{query.ConditionFilter(query.SinkFilter(), all, nil), []string{"sink"}},
		{query.ConditionFilter(all, query.ChainFilters(all, query.SinkFilter()), nil), []string{"sink"}},
		{query.ConditionFilter(all, nil, query.SinkFilter()), []string{"sink"}},
		{query.ChainFilters(query.LabelFilter("a"), query.LabelFilter("b")), []string{"chain has labels in more than one"}},
		{query.ChainFilters(query.LabelFilter("a"), query.InterleaveFilters(all, query.LabelFilter("b"))), []string{"chain has labels in more than one"}},
		{query.RowKeyFilter(""), []string{"row_key_regex", "empty"}},
		{query.ColumnFilter("("), []string{`column_qualifier_regex("(")`, "missing closing )"}},
		{query.ValueFilter("a)(b"), []string{"value_regex"}}, // not made whole by parentheses around it
		{query.ValueFilter(`\x{100}`), []string{`value_regex`, `\x{100} is not a byte`}},
		{query.FamilyFilter("(?:f)"), []string{"family_name_regex", "colon"}},
		{query.RowSampleFilter(0), []string{"row_sample(0)"}},
		{query.RowSampleFilter(-0.5), []string{"row_sample(-0.5)"}},
		{query.ColumnRangeFilter("f", "b", "a"), []string{"column_range", `start "b" is after end "a"`}},
		{query.ColumnRangeFilter("", "a", "b"), []string{"column_range has no family"}},
		{query.ValueRangeFilter([]byte("b"), []byte("a")), []string{"value_range", `start "b" is after end "a"`}},
		{query.TimestampRangeFilter(3, 2), []string{"timestamp_range(3, 2)", "start is after end"}},
		{query.TimestampRangeFilter(-1, 2), []string{"start", "negative"}},
		{query.TimestampRangeFilter(0, -2), []string{"end", "negative"}},
		{query.CellsPerRowOffsetFilter(-1), []string{"cells_per_row_offset(-1)", "at least 0"}},
		{query.CellsPerRowLimitFilter(0), []string{"cells_per_row_limit(0)", "at least 1"}},
		{query.LatestNFilter(0), []string{"cells_per_column_limit(0)", "at least 1"}},
		{query.LabelFilter(""), []string{`label("")`}},
		{query.LabelFilter("Upper"), []string{`label("Upper")`, "lower-case"}},
		{query.LabelFilter("more-than-15-bytes"), []string{"1 to 15"}},
		{query.ValueCompareFilter(query.Op(9), cells.I64(1)), []string{"unknown comparison op(9)"}},
		{query.ValueCompareFilter(query.EQ, cells.Value{}), []string{"no type"}},
		{nested(21), []string{"nested too deep", "20"}},
		{query.ChainFilters(all, query.ValueFilter(strings.Repeat("a", 20480))), []string{"row filter has 204", "up to 20480"}},
		{query.ValueFilter(strings.Repeat("a", 20481)), []string{"up to 20480"}},
	} {
		_, err := table.ReadRow(ctx, "r1", query.RowFilter(test.filter))
		wantError(t, err, query.InvalidArgument, append([]string{"row filter"}, test.parts...)...)
		_, err = table.Explain(query.RowFilter(test.filter))
		wantError(t, err, query.InvalidArgument, test.parts...)
	}
	for _, f := range []query.Filter{nested(20), query.LabelFilter("exactly-15-byte"), query.ValueFilter(strings.Repeat("a", 20476))} {
		if _, err := table.Explain(query.RowFilter(f)); err != nil {
			t.Error(err)
		}
	}
}

func TestTheFilterComesAfterTheOtherOptions(t *testing.T) {
	table := openFiltered(t)
	filter := query.RowFilter(query.ChainFilters(query.ValueFilter("mid|old"), query.LatestNFilter(1)))
	for _, test := range []struct {
		opts []query.ReadOption
		want string
	}{
		{nil, "r1 f:a@2"},
		{[]query.ReadOption{query.Versions(1)}, ""},
		{[]query.ReadOption{query.TimeRange(0, 2)}, "r1 f:a@1"},
		{[]query.ReadOption{query.Columns("g:*")}, ""},
		{[]query.ReadOption{query.CellsPerRow(1)}, ""},
		{[]query.ReadOption{query.KeysOnly()}, "r1"},
		{[]query.ReadOption{query.Offset(1)}, ""},
		{[]query.ReadOption{query.Limit(1), query.Reverse()}, "r1 f:a@2"},
		{[]query.ReadOption{query.Exists("g", "c")}, ""},
	} {
		if got := shown(t, table, append(test.opts, filter)...); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
	for want, f := range map[string]query.Filter{
		"r1 g:a@2 | r2\\n g:c@2":                query.ChainFilters(query.FamilyFilter("g"), query.CellsPerRowLimitFilter(1)),
		"r1 f:a@3 f:b\\n@2 | r2\\n f:a@2 g:c@2": query.ChainFilters(query.LatestNFilter(1), query.CellsPerRowLimitFilter(2)),
	} {
		if got := shown(t, table, query.CellsPerRow(5), query.RowFilter(f)); got != want {
			t.Errorf("of the first five cells %s leaves %q, want %q", f, got, want)
		}
	}
	n, err := table.Count(ctx, filter, query.KeysOnly())
	if err != nil || n != (query.Count{Rows: 1}) {
		t.Errorf("counted %+v, %v", n, err)
	}
}

func TestARowThatWasFilteredAnswersLikeAnyOther(t *testing.T) {
	table := openFiltered(t)
	row, err := table.ReadRow(ctx, "r1", query.RowFilter(query.InterleaveFilters(query.PassAllFilter(), query.ColumnFilter("a"))))
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := row.I64("g", "a"); n != 258 || !ok || row.String("f", "a") != "new" || row.Len() != 10 {
		t.Errorf("row of %d cells has g:a %d and f:a %q", row.Len(), n, row.String("f", "a"))
	}
	versions := 0
	for range row.Versions("f", "a") {
		versions++
	}
	if versions != 6 {
		t.Errorf("f:a has %d versions with copies, want 6", versions)
	}
}

func TestCheckAndMutateAsksAFilter(t *testing.T) {
	table := openFiltered(t)
	mark := mutate(set("f", "mark", cells.Bool(true)))
	for _, test := range []struct {
		row    string
		filter query.Filter
		want   bool
	}{
		{"r1", query.ChainFilters(query.ColumnFilter("a"), query.LatestNFilter(1), query.ValueFilter("new")), true},
		{"r1", query.ChainFilters(query.ColumnFilter("a"), query.LatestNFilter(1), query.ValueFilter("old")), false},
		{"r1", query.ValueCompareFilter(query.GT, cells.I64(257)), true},
		{"r1", query.BlockAllFilter(), false},
		{"none", query.PassAllFilter(), false},
	} {
		matched, err := table.CheckAndMutate(ctx, test.row, query.RowFilter(test.filter), nil, nil)
		if matched != test.want || err != nil {
			t.Errorf("%s: %v, %v", test.filter, matched, err)
		}
	}
	if matched, err := table.CheckAndMutate(ctx, "r2\n", query.RowFilter(query.ColumnFilter("c")), mark, nil); !matched || err != nil {
		t.Fatal(matched, err)
	}
	if got := shown(t, table, query.Columns("f:mark"), query.KeysOnly()); got != `r2\n` {
		t.Errorf("marked %q", got)
	}
	_, err := table.CheckAndMutate(ctx, "r1", query.RowFilter(query.ColumnFilter("(")), mark, nil)
	wantError(t, err, query.InvalidArgument, "row filter: column_qualifier_regex")
}

// A chain of n interleaves of ten filters makes 10^n copies of each cell.
func copies(n int, leaf query.Filter) query.Filter {
	ten := query.InterleaveFilters(slices.Repeat([]query.Filter{leaf}, 10)...)
	return query.ChainFilters(slices.Repeat([]query.Filter{ten}, n)...)
}

func TestCopiesOfACellTakeRoomOfTheRow(t *testing.T) {
	table := openFiltered(t)
	for name, f := range map[string]query.Filter{
		"in a row":  copies(9, query.PassAllFilter()),
		"sunk":      query.ChainFilters(copies(8, query.PassAllFilter()), query.InterleaveFilters(query.SinkFilter(), query.SinkFilter())),
		"stripped":  query.ChainFilters(copies(9, query.StripValueFilter()), query.CellsPerRowLimitFilter(1)),
		"predicate": query.ConditionFilter(copies(9, query.PassAllFilter()), nil, nil),
	} {
		for _, err := range table.ReadRows(ctx, query.RowFilter(f)) {
			if query.KindOf(err) != query.ResourceExhausted || !strings.Contains(err.Error(), "copies") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	row, err := table.ReadRow(ctx, "r2\n", query.RowFilter(copies(3, query.PassAllFilter())))
	if err != nil || row.Len() != 2000 {
		t.Errorf("1000 copies of 2 cells are %d: %v", row.Len(), err)
	}
}

// A large value counts with each copy that goes out.
func TestCopiesOfALargeValueTakeRoomOfTheRow(t *testing.T) {
	db := openMemory(t, declare(schema.Family{Name: "f"}))
	if err := db.Table("t").Apply(ctx, "r", mutate(setAt("f", "q", 1, cells.Bytes(make([]byte, 1<<20))))); err != nil {
		t.Fatal(err)
	}
	_, err := db.Table("t").ReadRow(ctx, "r", query.RowFilter(copies(3, query.PassAllFilter())))
	if query.KindOf(err) != query.ResourceExhausted {
		t.Errorf("a GiB of copies: %v", err)
	}
}

// An evaluation that is under way ends with its context.
func TestAFilterLooksAtTheContext(t *testing.T) {
	table := openFiltered(t)
	ctx, cancel := context.WithCancel(ctx)
	looks := &cancelingContext{Context: ctx, cancel: cancel}
	for _, err := range table.ReadRows(looks, query.RowFilter(copies(6, query.ValueFilter(`\C*`)))) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("read of a filter whose context ended: %v", err)
		}
	}
}

// A cancelingContext ends at the hundredth look at it.
type cancelingContext struct {
	context.Context
	looks  int
	cancel func()
}

func (c *cancelingContext) Err() error {
	if c.looks++; c.looks == 100 {
		c.cancel()
	}
	return c.Context.Err()
}

func TestRowSampleTakesAShareOfTheRows(t *testing.T) {
	db := openMemory(t, declare(schema.Family{Name: "f"}))
	const rows = 2000
	b := query.NewBatch()
	for i := range rows {
		b.Add("t", fmt.Sprint("r", i), mutate(setAt("f", "a", 1, cells.Bool(true)), setAt("f", "b", 1, cells.Bool(true))))
	}
	if err := db.Apply(ctx, b); err != nil {
		t.Fatal(err)
	}
	n, err := db.Table("t").Count(ctx, query.RowFilter(query.RowSampleFilter(0.25)))
	if err != nil {
		t.Fatal(err)
	}
	// Ten standard deviations of a binomial distribution are 194.
	if n.Rows < rows/4-194 || n.Rows > rows/4+194 || n.Cells != 2*n.Rows {
		t.Errorf("%d rows and %d cells of %d rows", n.Rows, n.Cells, rows)
	}
}
