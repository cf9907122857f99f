package query_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// openFiltered is a table of two rows for the tests of single filters.
func openFiltered(t *testing.T) *query.Table {
	t.Helper()
	db := openMemory(t, declare(schema.Family{Name: "f"}, schema.Family{Name: "g"}))
	table := db.Table("t")
	for row, m := range map[string]*write.Mutation{
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

// shown is the result of a read in one line: rows between bars, cells as
// family:qualifier@timestamp, with =value if it was stripped, and #label.
func shown(t *testing.T, table *query.Table, opts ...read.Option) string {
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

// Unless noted otherwise, the rules are in the comments of
// google/bigtable/v2/data.proto, at the named field.
func TestFilters(t *testing.T) {
	table := openFiltered(t)
	chain := func(fs ...filter.Filter) filter.Filter { return filter.Chain(fs) }
	interleave := func(fs ...filter.Filter) filter.Filter { return filter.Interleave(fs) }
	all, none, sink := filter.PassAll{}, filter.BlockAll{}, filter.Sink{}
	for _, test := range []struct {
		rule   string
		filter filter.Filter
		want   string
	}{
		{"no filter", nil, both},
		{"pass_all_filter", all, both},
		{"block_all_filter", none, ""},

		{"chain: each sees what the one before left", chain(filter.Family("f"), filter.CellsPerRowLimit(1)), "r1 f:a@3 | r2\\n f:a@2"},
		{"chain: and the other way round", chain(filter.CellsPerRowOffset(3), filter.Family("g")), "r1 g:a@2 g:\xe9@1"},
		{"chain: versions are counted before the time range cuts", chain(filter.Latest(1), filter.TimestampRange{Since: 0, Until: 3}),
			"r1 f:b\\n@2 g:a@2 g:\xe9@1 | " + r2},
		{"chain: or after it", chain(filter.TimestampRange{Since: 0, Until: 3}, filter.Latest(1)), "r1 f:a@2 f:b\\n@2 g:a@2 g:\xe9@1 | " + r2},

		{"chain: a limit before the columns are chosen", chain(filter.CellsPerRowLimit(4), filter.Family("g")), "r2\\n g:c@2"},

		{"chain: versions, time range, versions", chain(filter.Column("a"), filter.Latest(2), filter.TimestampRange{Since: 0, Until: 3}, filter.Latest(1)),
			"r1 f:a@2 g:a@2 | r2\\n f:a@2"},
		{"chain: versions of those with a value", chain(filter.Value("old"), filter.Latest(1)), "r1 f:a@1"},
		{"chain: the range of those", chain(filter.Value("mid|old"), filter.Latest(1), filter.TimestampRange{Since: 0, Until: 2}), ""},
		{"chain: the first of a column that a range only narrows", chain(filter.Column(`b.*|\xe9.*`), filter.CellsPerRowLimit(1)), "r1 g:\xe9@1"},

		{"interleave: each branch sees the whole row", interleave(chain(filter.CellsPerRowLimit(1), filter.Family("g")), filter.Column("c")), "r2\\n g:c@2"},
		{"interleave: sorted as a row, copies stay", interleave(filter.Family("g"), filter.Column("a")),
			"r1 f:a@3 f:a@2 f:a@1 g:a@2 g:a@2 g:\xe9@1 | r2\\n f:a@2 g:c@2"},
		{"interleave: one branch may be empty", interleave(none, filter.Column("c")), "r2\\n g:c@2"},
		{"cells_per_column_limit: copies count each", chain(filter.Column("a"), filter.RowKey("r1"), interleave(all, all), filter.Latest(3)),
			"r1 f:a@3 f:a@3 f:a@2 g:a@2 g:a@2"},
		{"cells_per_row_limit: copies count each", chain(interleave(all, all), filter.CellsPerRowLimit(3)), "r1 f:a@3 f:a@3 f:a@2 | r2\\n f:a@2 f:a@2 g:c@2"},
		{"cells_per_row_offset: copies count each", chain(interleave(all, all), filter.CellsPerRowOffset(11)), "r1 g:\xe9@1"},

		{"condition: true filter on the input row", filter.Condition{If: filter.Column("c"), Then: filter.Family("f"), Else: filter.Family("g")},
			"r1 g:a@2 g:\xe9@1 | r2\\n f:a@2"},
		{"condition: no true filter, no results", filter.Condition{If: filter.Column("c"), Then: nil, Else: all}, r1},
		{"condition: no false filter, no results", filter.Condition{If: filter.Column("c"), Then: all, Else: nil}, r2},
		{"condition: the predicate's changes are not seen", filter.Condition{If: chain(filter.StripValue{}, filter.Label("l")), Then: filter.Column("c"), Else: nil},
			"r2\\n g:c@2"},
		{"condition: in a chain the predicate sees what is left", chain(filter.Family("f"), filter.Condition{If: filter.Family("g"), Then: all, Else: none}), ""},

		// The example in the comment on sink, on these rows.
		{"sink: past the filters that follow, and not to them",
			chain(filter.Family("g"), interleave(all, chain(filter.Label("foo"), sink)), filter.Column("a")),
			"r1 g:a@2#foo g:a@2 g:\xe9@1#foo | r2\\n g:c@2#foo"},
		{"sink: nothing reaches the next filter of its chain", chain(sink, filter.Label("l")), both},
		{"sink: alone", sink, both},
		{"sink: twice", interleave(sink, chain(filter.Family("g"), sink)), "r1 f:a@3 f:a@2 f:a@1 f:b\\n@2 g:a@2 g:a@2 g:\xe9@1 g:\xe9@1 | r2\\n f:a@2 g:c@2 g:c@2"},
		{"sink: in a branch that leaves one column", interleave(chain(sink, filter.Column("c")), filter.Column("x")), both},
		{"sink: what it let out survives a block", chain(interleave(chain(filter.Column("c"), sink), all), none), "r2\\n g:c@2"},

		{"row_key_regex: the whole key", filter.RowKey("r"), ""},
		{"row_key_regex: the dot is no newline", filter.RowKey("r.*"), r1},
		{`row_key_regex: \C is any byte`, filter.RowKey(`r\C*`), both},
		{"row_key_regex: alternatives are anchored both", filter.RowKey("r1|x"), r1},
		{"family_name_regex", filter.Family("[^f]"), "r1 g:a@2 g:\xe9@1 | r2\\n g:c@2"},
		{"family_name_regex: none matches", filter.Family("ff"), ""},
		{"column_qualifier_regex: $ is the end, not before a newline", filter.Column("b$"), ""},
		{"column_qualifier_regex: newline", filter.Column(`b\n`), "r1 f:b\\n@2"},
		{"column_qualifier_regex: Latin-1, a byte written raw", filter.Column("\xe9"), "r1 g:\xe9@1"},
		{"column_qualifier_regex: Latin-1, a byte escaped", filter.Column(`\xe9`), "r1 g:\xe9@1"},
		{"column_qualifier_regex: a byte in a class", filter.Column("[\xe0-\xef]"), "r1 g:\xe9@1"},
		{"column_qualifier_regex: two bytes are two characters", filter.Column("é"), ""},
		{"column_qualifier_regex: quoted to the end", filter.Column(`\Qa`), "r1 f:a@3 f:a@2 f:a@1 g:a@2 | r2\\n f:a@2"},
		{"value_regex: on the text", filter.Value("ne."), "r1 f:a@3"},
		{"value_regex: the dot is no newline", filter.Value("x.*"), ""},
		{`value_regex: \C is`, filter.Value(`x\C*`), "r1 f:b\\n@2"},
		{"value_regex: on the big-endian bytes of an i64", filter.Value(`\x00{6}\x01\x02`), "r1 g:a@2"},
		{"value_regex: on those of an f64", filter.Value(`\x3f\xf8\C{6}`), "r2\\n f:a@2"},
		{"value_regex: on the byte of a bool", filter.Value(`\x01`), "r2\\n g:c@2"},

		{"column_range: half open", filter.ColumnRange{Family: "f", From: filter.Including("a"), To: filter.Excluding("b\n")}, "r1 f:a@3 f:a@2 f:a@1 | r2\\n f:a@2"},
		{"column_range: without end", filter.ColumnRange{Family: "g", From: filter.Including("b")}, "r1 g:\xe9@1 | r2\\n g:c@2"},
		{"column_range: start open, end closed", filter.ColumnRange{Family: "f", From: filter.Excluding("a"), To: filter.Including("b\n")}, "r1 f:b\\n@2"},
		{"column_range: no bounds", filter.ColumnRange{Family: "f", From: filter.Bound{}, To: filter.Bound{}}, "r1 f:a@3 f:a@2 f:a@1 f:b\\n@2 | r2\\n f:a@2"},
		{"column_range: nothing between", filter.ColumnRange{Family: "f", From: filter.Excluding("a"), To: filter.Including("a")}, ""},
		{"column_range: no such family", filter.ColumnRange{Family: "h"}, ""},
		{"value_range: on raw bytes", filter.ValueRange{From: filter.Including("mid"), To: filter.Excluding("old")}, "r1 f:a@3 f:a@2"},
		{"value_range: end closed", filter.ValueRange{From: filter.Excluding("mid"), To: filter.Including("old")}, "r1 f:a@3 f:a@1"},
		{"value_range: numbers are big-endian", filter.ValueRange{From: filter.Including("\x00\x00\x00\x00\x00\x00\x01\x02"), To: filter.Excluding("\x01")}, "r1 g:a@2"},
		{"timestamp_range: start in, end out", filter.TimestampRange{Since: 2, Until: 3}, "r1 f:a@2 f:b\\n@2 g:a@2 | " + r2},
		{"timestamp_range: no end", filter.TimestampRange{Since: 3, Until: 0}, "r1 f:a@3"},
		{"timestamp_range: empty", filter.TimestampRange{Since: 2, Until: 2}, ""},

		{"cells_per_row_offset", filter.CellsPerRowOffset(5), "r1 g:\xe9@1"},
		{"cells_per_row_offset: none", filter.CellsPerRowOffset(0), both},
		{"cells_per_row_limit: over families", filter.CellsPerRowLimit(5), "r1 f:a@3 f:a@2 f:a@1 f:b\\n@2 g:a@2 | " + r2},
		{"cells_per_column_limit", filter.Latest(1), "r1 f:a@3 f:b\\n@2 g:a@2 g:\xe9@1 | " + r2},
		{"strip_value_transformer", chain(filter.StripValue{}, filter.Column("c")), "r2\\n g:c@2="},
		{"strip_value_transformer: later filters see the empty value", chain(filter.StripValue{}, filter.Value("new")), ""},
		{"strip_value_transformer: earlier ones saw the value", chain(filter.Value("new"), filter.StripValue{}), "r1 f:a@3="},
		{"apply_label_transformer", chain(filter.Column("c"), filter.Label("it-1")), "r2\\n g:c@2#it-1"},
		{"apply_label_transformer: each copy its own", chain(filter.Column("c"), interleave(filter.Label("x"), all, filter.Label("y"))),
			"r2\\n g:c@2#x g:c@2 g:c@2#y"},

		// Not Bigtable's: the rule is that of query.Where.
		{"value compare: numbers of all types", filter.ValueCompare{Op: cells.OpGreaterOrEqual, Value: cells.I32(1)}, "r1 g:a@2 | r2\\n f:a@2"},
		{"value compare: within a type", filter.ValueCompare{Op: cells.OpLess, Value: cells.String("new")}, "r1 f:a@2"},
		{"value compare: NE takes the incomparable", filter.ValueCompare{Op: cells.OpNotEqual, Value: cells.I64(258)}, "r1 f:a@3 f:a@2 f:a@1 f:b\\n@2 g:\xe9@1 | " + r2},
	} {
		t.Run(test.rule, func(t *testing.T) {
			if got := shown(t, table, read.Filter(test.filter)); got != test.want {
				t.Errorf("pushed down: got\n%s\nwant\n%s", got, test.want)
			}
			if got := shown(t, query.Unpushed(table), read.Filter(test.filter)); got != test.want {
				t.Errorf("whole: got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func nested(levels int) filter.Filter {
	var f filter.Filter = filter.PassAll{}
	for range levels {
		f = filter.Chain{f, filter.PassAll{}}
	}
	return f
}

func TestWrongFiltersAreNamed(t *testing.T) {
	table := openFiltered(t)
	all := filter.PassAll{}
	for _, test := range []struct {
		filter filter.Filter
		parts  []string
	}{
		{filter.Chain{}, []string{"chain has 0 filters", "at least two"}},
		{filter.Chain{all}, []string{"chain has 1 filters"}},
		{filter.Interleave{all}, []string{"interleave has 1 filters"}},
		{filter.Chain{all, nil}, []string{"chain: filter 2 is nil"}},
		{filter.Chain{all, filter.Interleave{filter.RowSample(1), all}}, []string{"chain, filter 2: interleave, filter 1: row_sample(1)"}},
		{filter.Condition{If: nil, Then: all, Else: all}, []string{"condition has no predicate"}},
		{filter.Condition{If: filter.Sink{}, Then: all, Else: nil}, []string{"sink"}},
		{filter.Condition{If: all, Then: filter.Chain{all, filter.Sink{}}, Else: nil}, []string{"sink"}},
		{filter.Condition{If: all, Then: nil, Else: filter.Sink{}}, []string{"sink"}},
		{filter.Chain{filter.Label("a"), filter.Label("b")}, []string{"chain has labels in more than one"}},
		{filter.Chain{filter.Label("a"), filter.Interleave{all, filter.Label("b")}}, []string{"chain has labels in more than one"}},
		{filter.RowKey(""), []string{"row_key_regex", "empty"}},
		{filter.Column("("), []string{`column_qualifier_regex("(")`, "missing closing )"}},
		{filter.Value("a)(b"), []string{"value_regex"}}, // not anchored by parentheses around it
		{filter.Value(`\x{100}`), []string{`value_regex`, `\x{100} is not a byte`}},
		{filter.Family("(?:f)"), []string{"family_name_regex", "colon"}},
		{filter.RowSample(0), []string{"row_sample(0)"}},
		{filter.RowSample(-0.5), []string{"row_sample(-0.5)"}},
		{filter.ColumnRange{Family: "f", From: filter.Including("b"), To: filter.Excluding("a")}, []string{"column_range", `start "b" is after end "a"`}},
		{filter.ColumnRange{Family: "", From: filter.Including("a"), To: filter.Excluding("b")}, []string{"column_range has no family"}},
		{filter.ValueRange{From: filter.Including("b"), To: filter.Excluding("a")}, []string{"value_range", `start "b" is after end "a"`}},
		{filter.TimestampRange{Since: 3, Until: 2}, []string{"timestamp_range(3, 2)", "start is after end"}},
		{filter.TimestampRange{Since: -1, Until: 2}, []string{"start", "negative"}},
		{filter.TimestampRange{Since: 0, Until: -2}, []string{"end", "negative"}},
		{filter.CellsPerRowOffset(-1), []string{"cells_per_row_offset(-1)", "at least 0"}},
		{filter.CellsPerRowLimit(0), []string{"cells_per_row_limit(0)", "at least 1"}},
		{filter.Latest(0), []string{"cells_per_column_limit(0)", "at least 1"}},
		{filter.Label(""), []string{`label("")`}},
		{filter.Label("Upper"), []string{`label("Upper")`, "lower-case"}},
		{filter.Label("more-than-15-bytes"), []string{"1 to 15"}},
		{filter.ValueCompare{Op: cells.Op(9), Value: cells.I64(1)}, []string{"unknown comparison op(9)"}},
		{filter.ValueCompare{Op: cells.OpEqual, Value: cells.Value{}}, []string{"no type"}},
		{nested(21), []string{"nested too deeply", "20"}},
		{filter.Chain{all, filter.Value(strings.Repeat("a", 20480))}, []string{"row filter has 204", "up to 20480"}},
		{filter.Value(strings.Repeat("a", 20481)), []string{"up to 20480"}},
		{filter.ChainOf(slices.Repeat([]filter.Filter{filter.Value(`(\C{100}){10}`)}, 200)...), []string{"expressions are too large", "100000 steps together"}},
	} {
		_, err := table.ReadRow(ctx, "r1", read.Filter(test.filter))
		wantError(t, err, query.KindInvalidArgument, append([]string{"row filter"}, test.parts...)...)
		_, err = table.Explain(read.Filter(test.filter))
		wantError(t, err, query.KindInvalidArgument, test.parts...)
	}
	for _, f := range []filter.Filter{nested(20), filter.Label("exactly-15-byte"), filter.Value(strings.Repeat("a", 20476))} {
		if _, err := table.Explain(read.Filter(f)); err != nil {
			t.Error(err)
		}
	}
}

func TestTheFilterComesAfterTheOtherOptions(t *testing.T) {
	table := openFiltered(t)
	inner := read.Filter(filter.Chain{filter.Value("mid|old"), filter.Latest(1)})
	for _, test := range []struct {
		opts []read.Option
		want string
	}{
		{nil, "r1 f:a@2"},
		{[]read.Option{read.Versions(1)}, ""},
		{[]read.Option{read.TimeRange(0, 2)}, "r1 f:a@1"},
		{[]read.Option{read.Family("g")}, ""},
		{[]read.Option{read.CellsPerRow(1)}, ""},
		{[]read.Option{read.KeysOnly()}, "r1"},
		{[]read.Option{read.Offset(1)}, ""},
		{[]read.Option{read.Limit(1), read.Reverse()}, "r1 f:a@2"},
		{[]read.Option{read.Exists("g", "c")}, ""},
	} {
		if got := shown(t, table, append(test.opts, inner)...); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
	for want, f := range map[string]filter.Filter{
		"r1 g:a@2 | r2\\n g:c@2":                filter.Chain{filter.Family("g"), filter.CellsPerRowLimit(1)},
		"r1 f:a@3 f:b\\n@2 | r2\\n f:a@2 g:c@2": filter.Chain{filter.Latest(1), filter.CellsPerRowLimit(2)},
	} {
		if got := shown(t, table, read.CellsPerRow(5), read.Filter(f)); got != want {
			t.Errorf("of the first five cells %s leaves %q, want %q", f, got, want)
		}
	}
	n, err := table.Count(ctx, inner, read.KeysOnly())
	if err != nil || n != (query.Count{Rows: 1}) {
		t.Errorf("counted %+v, %v", n, err)
	}
}

func TestARowThatWasFilteredAnswersLikeAnyOther(t *testing.T) {
	table := openFiltered(t)
	row, err := table.ReadRow(ctx, "r1", read.Filter(filter.Interleave{filter.PassAll{}, filter.Column("a")}))
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := row.I64("g", "a"); n != 258 || !ok || row.Text("f", "a") != "new" || row.Len() != 10 {
		t.Errorf("row of %d cells has g:a %d and f:a %q", row.Len(), n, row.Text("f", "a"))
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
		filter filter.Filter
		want   bool
	}{
		{"r1", filter.Chain{filter.Column("a"), filter.Latest(1), filter.Value("new")}, true},
		{"r1", filter.Chain{filter.Column("a"), filter.Latest(1), filter.Value("old")}, false},
		{"r1", filter.ValueCompare{Op: cells.OpGreater, Value: cells.I64(257)}, true},
		{"r1", filter.BlockAll{}, false},
		{"none", filter.PassAll{}, false},
	} {
		matched, err := table.CheckAndMutate(ctx, test.row, read.Filter(test.filter), nil, nil)
		if matched != test.want || err != nil {
			t.Errorf("%s: %v, %v", test.filter, matched, err)
		}
	}
	if matched, err := table.CheckAndMutate(ctx, "r2\n", read.Filter(filter.Column("c")), mark, nil); !matched || err != nil {
		t.Fatal(matched, err)
	}
	if got := shown(t, table, read.Column("f", "mark"), read.KeysOnly()); got != `r2\n` {
		t.Errorf("marked %q", got)
	}
	_, err := table.CheckAndMutate(ctx, "r1", read.Filter(filter.Column("(")), mark, nil)
	wantError(t, err, query.KindInvalidArgument, "row filter: column_qualifier_regex")
}

// A chain of n interleaves of ten filters makes 10^n copies of each cell.
func copies(n int, leaf filter.Filter) filter.Filter {
	ten := filter.Interleave(slices.Repeat([]filter.Filter{leaf}, 10))
	return filter.Chain(slices.Repeat([]filter.Filter{ten}, n))
}

func TestCopiesOfACellTakeRoomOfTheRow(t *testing.T) {
	table := openFiltered(t)
	for name, f := range map[string]filter.Filter{
		"in a row":  copies(9, filter.PassAll{}),
		"sunk":      filter.Chain{copies(8, filter.PassAll{}), filter.Interleave{filter.Sink{}, filter.Sink{}}},
		"stripped":  filter.Chain{copies(9, filter.StripValue{}), filter.CellsPerRowLimit(1)},
		"predicate": filter.Condition{If: copies(9, filter.PassAll{}), Then: nil, Else: nil},
	} {
		for _, err := range table.ReadRows(ctx, read.Filter(f)) {
			if query.KindOf(err) != query.KindResourceExhausted || !strings.Contains(err.Error(), "copies") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	row, err := table.ReadRow(ctx, "r2\n", read.Filter(copies(3, filter.PassAll{})))
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
	_, err := db.Table("t").ReadRow(ctx, "r", read.Filter(copies(3, filter.PassAll{})))
	if query.KindOf(err) != query.KindResourceExhausted {
		t.Errorf("a GiB of copies: %v", err)
	}
}

// An evaluation that is under way ends with its context.
func TestAFilterLooksAtTheContext(t *testing.T) {
	table := openFiltered(t)
	ctx, cancel := context.WithCancel(ctx)
	looks := &cancelingContext{Context: ctx, cancel: cancel}
	for _, err := range table.ReadRows(looks, read.Filter(copies(6, filter.Value(`\C*`)))) {
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
	b := write.NewBatch()
	for i := range rows {
		b.Add("t", fmt.Sprint("r", i), mutate(setAt("f", "a", 1, cells.Bool(true)), setAt("f", "b", 1, cells.Bool(true))))
	}
	if err := db.Apply(ctx, b); err != nil {
		t.Fatal(err)
	}
	n, err := db.Table("t").Count(ctx, read.Filter(filter.RowSample(0.25)))
	if err != nil {
		t.Fatal(err)
	}
	// Ten standard deviations of a binomial distribution are 194.
	if n.Rows < rows/4-194 || n.Rows > rows/4+194 || n.Cells != 2*n.Rows {
		t.Errorf("%d rows and %d cells of %d rows", n.Rows, n.Cells, rows)
	}
}

// A limit beside which the offset does not fit an int is like no limit.
func TestTheLargestLimitWithAnOffset(t *testing.T) {
	table := openMemory(t, declare(schema.Family{Name: "a"})).Table("t")
	for _, key := range []string{"r1", "r2", "r3"} {
		m := write.NewMutation()
		m.Set("a", "q", cells.I64(1))
		if err := table.Apply(ctx, key, m); err != nil {
			t.Fatal(err)
		}
	}
	var got string
	for row, err := range table.ReadRows(ctx, read.Limit(math.MaxInt), read.Offset(1)) {
		if err != nil {
			t.Fatal(err)
		}
		got += row.Key() + " "
	}
	if got != "r2 r3 " {
		t.Errorf("read %q, want all rows but the first", got)
	}
}
