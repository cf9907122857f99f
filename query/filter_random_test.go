package query_test

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A naiveCell is a cell of a naive filter, which does not use the store.
type naiveCell struct {
	row   string
	cell  cells.Cell
	label string
}

func (c naiveCell) String() string {
	text := fmt.Sprintf("%q %s:%q@%d=%s %v", c.row, c.cell.Family, c.cell.Qualifier, c.cell.Timestamp, c.cell.Value.Type(), c.cell.Value)
	if c.label != "" {
		text += " " + c.label
	}
	return text
}

func (c naiveCell) sameColumn(d naiveCell) bool { return c.cell.Column() == d.cell.Column() }

func (c naiveCell) raw() string { return string(cells.AppendValue(nil, c.cell.Value)[1:]) }

func sortNaive(cs []naiveCell) {
	slices.SortStableFunc(cs, func(a, b naiveCell) int {
		return cmp.Or(strings.Compare(a.cell.Family, b.cell.Family), strings.Compare(a.cell.Qualifier, b.cell.Qualifier),
			cmp.Compare(b.cell.Timestamp, a.cell.Timestamp))
	})
}

// A naive filter maps the cells of one row; sunk collects the cells of sinks.
type naive func(cs []naiveCell, sunk *[]naiveCell) []naiveCell

func naiveKeep(pass func(naiveCell) bool) naive {
	return func(cs []naiveCell, _ *[]naiveCell) (kept []naiveCell) {
		for _, c := range cs {
			if pass(c) {
				kept = append(kept, c)
			}
		}
		return kept
	}
}

func naiveChange(change func(*naiveCell)) naive {
	return func(cs []naiveCell, _ *[]naiveCell) []naiveCell {
		cs = slices.Clone(cs)
		for i := range cs {
			change(&cs[i])
		}
		return cs
	}
}

// naiveMatch uses the standard library, with each byte as the code point of the same
// number.
func naiveMatch(expr string) func(string) bool {
	points := func(s string) string {
		var b strings.Builder
		for i := range len(s) {
			b.WriteRune(rune(s[i]))
		}
		return b.String()
	}
	re := regexp.MustCompile(`^(?:` + strings.ReplaceAll(points(expr), `\C`, `(?s:.)`) + `)$`)
	return func(s string) bool { return re.MatchString(points(s)) }
}

var (
	filterRows       = []string{"a", "ab", "a\nb", "\xff"}
	filterTimes      = []cells.Timestamp{0, 1, 2, 3, 1<<62 - 1, 1 << 62, cells.MaxTimestamp - 1, cells.MaxTimestamp}
	filterFamilies   = []string{"f", "fg", "h"}
	filterQualifiers = []string{"", "a", "ab", "a\n", "b", "\xe9"}
	filterValues     = []cells.Value{cells.I64(1), cells.I64(-1), cells.I32(1), cells.F64(1.5), cells.Byte('a'), cells.Bool(true),
		cells.String(""), cells.String("a"), cells.String("ab\nc"), cells.Bytes([]byte("\xff")), cells.Bytes(nil)}
	filterExprs = []string{"a", "b?a", "a.*", `a\C*`, "a|b", "[ab]+", "[ab]b?", ".*", `\C*`, `.+`, "\xff.*", `\xff|ab`, "^ab?$",
		"(?i)A", "(a|b)a?.*", `(?:a|\x{e9})\C*`, "[^a]", "\xe9", `\Qa\E`, `.*b`, `(?s)a.*`, "x"}
	genExpr       = rapid.SampledFrom(filterExprs)
	genFamilyExpr = rapid.SampledFrom([]string{"f", "fg|h", "f.*", "[^h]+", "h", `\C*`, "x"})
)

// drawFilter draws a filter, and returns it with its naive form.
func drawFilter(t *rapid.T, depth int, labels, sinks bool) (filter.Filter, naive) {
	kinds := 16
	if depth > 0 {
		kinds = 24
	}
	switch rapid.IntRange(0, kinds).Draw(t, "filter") {
	case 0:
		expr := genExpr.Draw(t, "row key")
		match := naiveMatch(expr)
		return filter.RowKey(expr), naiveKeep(func(c naiveCell) bool { return match(c.row) })
	case 1, 2:
		expr := genFamilyExpr.Draw(t, "family")
		match := naiveMatch(expr)
		return filter.Family(expr), naiveKeep(func(c naiveCell) bool { return match(c.cell.Family) })
	case 3, 4:
		expr := genExpr.Draw(t, "qualifier")
		match := naiveMatch(expr)
		return filter.Column(expr), naiveKeep(func(c naiveCell) bool { return match(c.cell.Qualifier) })
	case 5:
		expr := genExpr.Draw(t, "value")
		match := naiveMatch(expr)
		return filter.Value(expr), naiveKeep(func(c naiveCell) bool { return match(c.raw()) })
	case 6:
		family := rapid.SampledFrom(append(slices.Clone(filterFamilies), "unknown")).Draw(t, "family")
		from, to, within := drawBounds(t, filterQualifiers)
		return filter.ColumnRange{Family: family, From: from, To: to},
			naiveKeep(func(c naiveCell) bool { return c.cell.Family == family && within(c.cell.Qualifier) })
	case 7:
		from, to, within := drawBounds(t, []string{"", "a", "ab", "\x00\x00\x00\x01", "\xff"})
		return filter.ValueRange{From: from, To: to}, naiveKeep(func(c naiveCell) bool { return within(c.raw()) })
	case 8, 9:
		since, until := drawFilterTimes(t)
		return filter.TimestampRange{Since: since, Until: until}, naiveKeep(func(c naiveCell) bool {
			return c.cell.Timestamp >= since && (until == 0 || c.cell.Timestamp < until)
		})
	case 10:
		op, v := cells.Op(rapid.IntRange(0, 5).Draw(t, "op")), rapid.SampledFrom(filterValues).Draw(t, "value")
		return filter.ValueCompare{Op: op, Value: v}, naiveKeep(func(c naiveCell) bool { return naiveCompare(op, c.cell.Value, v) })
	case 11:
		n := rapid.IntRange(0, 4).Draw(t, "offset")
		return filter.CellsPerRowOffset(n), func(cs []naiveCell, _ *[]naiveCell) []naiveCell { return cs[min(n, len(cs)):] }
	case 12:
		n := rapid.IntRange(1, 6).Draw(t, "limit")
		return filter.CellsPerRowLimit(n), func(cs []naiveCell, _ *[]naiveCell) []naiveCell { return cs[:min(n, len(cs))] }
	case 13, 14:
		n := rapid.IntRange(1, 3).Draw(t, "latest")
		return filter.Latest(n), naiveLatest(n)
	case 15:
		if labels {
			return filter.Label("l"), naiveChange(func(c *naiveCell) { c.label = "l" })
		}
		return filter.StripValue{}, naiveChange(func(c *naiveCell) { c.cell.Value = cells.Bytes(nil) })
	case 16:
		switch rapid.IntRange(0, 3).Draw(t, "constant") {
		case 0:
			return filter.BlockAll{}, naiveKeep(func(naiveCell) bool { return false })
		case 1:
			if sinks {
				return filter.Sink{}, func(cs []naiveCell, sunk *[]naiveCell) []naiveCell {
					*sunk = append(*sunk, cs...)
					return nil
				}
			}
		}
		return filter.PassAll{}, naiveKeep(func(naiveCell) bool { return true })
	case 17, 18:
		return drawInterleave(t, depth, labels, sinks)
	case 19:
		return drawCondition(t, depth, labels)
	}
	return drawChain(t, depth, labels, sinks)
}

func drawChain(t *rapid.T, depth int, labels, sinks bool) (filter.Filter, naive) {
	n := rapid.IntRange(2, 5).Draw(t, "chain")
	labelled := rapid.IntRange(0, n-1).Draw(t, "labelled")
	fs, ns := make([]filter.Filter, n), make([]naive, n)
	for i := range n {
		fs[i], ns[i] = drawFilter(t, depth-1, labels && i == labelled, sinks)
	}
	return filter.Chain(fs), func(cs []naiveCell, sunk *[]naiveCell) []naiveCell {
		for _, f := range ns {
			cs = f(cs, sunk)
		}
		return cs
	}
}

func drawInterleave(t *rapid.T, depth int, labels, sinks bool) (filter.Filter, naive) {
	n := rapid.IntRange(2, 4).Draw(t, "interleave")
	fs, ns := make([]filter.Filter, n), make([]naive, n)
	for i := range n {
		fs[i], ns[i] = drawFilter(t, depth-1, labels, sinks)
	}
	return filter.Interleave(fs), func(cs []naiveCell, sunk *[]naiveCell) (all []naiveCell) {
		for _, f := range ns {
			all = append(all, f(cs, sunk)...)
		}
		sortNaive(all)
		return all
	}
}

func drawCondition(t *rapid.T, depth int, labels bool) (filter.Filter, naive) {
	predicate, p := drawFilter(t, depth-1, labels, false)
	branch := func(name string) (filter.Filter, naive) {
		if rapid.IntRange(0, 3).Draw(t, name) == 0 {
			return nil, naiveKeep(func(naiveCell) bool { return false })
		}
		return drawFilter(t, depth-1, labels, false)
	}
	ifTrue, yes := branch("no true filter")
	ifFalse, no := branch("no false filter")
	return filter.Condition{If: predicate, Then: ifTrue, Else: ifFalse}, func(cs []naiveCell, sunk *[]naiveCell) []naiveCell {
		if len(p(cs, sunk)) > 0 {
			return yes(cs, sunk)
		}
		return no(cs, sunk)
	}
}

func naiveLatest(n int) naive {
	return func(cs []naiveCell, _ *[]naiveCell) (kept []naiveCell) {
		for i, c := range cs {
			before := 0
			for _, d := range cs[:i] {
				if c.sameColumn(d) {
					before++
				}
			}
			if before < n {
				kept = append(kept, c)
			}
		}
		return kept
	}
}

func naiveCompare(op cells.Op, v, w cells.Value) bool {
	order, ok := cells.Compare(v, w)
	if !ok {
		return op == cells.OpNotEqual
	}
	return map[cells.Op]bool{cells.OpEqual: order == 0, cells.OpNotEqual: order != 0, cells.OpLess: order < 0,
		cells.OpLessOrEqual: order <= 0, cells.OpGreater: order > 0, cells.OpGreaterOrEqual: order >= 0}[op]
}

func drawBounds(t *rapid.T, of []string) (from, to filter.Bound, within func(string) bool) {
	ends := []string{rapid.SampledFrom(of).Draw(t, "from"), rapid.SampledFrom(of).Draw(t, "to")}
	slices.Sort(ends)
	kind := rapid.IntRange(0, 8).Draw(t, "bounds")
	low, high := func(string) bool { return true }, func(string) bool { return true }
	switch kind % 3 {
	case 1:
		from, low = filter.Including(ends[0]), func(s string) bool { return s >= ends[0] }
	case 2:
		from, low = filter.Excluding(ends[0]), func(s string) bool { return s > ends[0] }
	}
	switch kind / 3 {
	case 1:
		to, high = filter.Including(ends[1]), func(s string) bool { return s <= ends[1] }
	case 2:
		to, high = filter.Excluding(ends[1]), func(s string) bool { return s < ends[1] }
	}
	return from, to, func(s string) bool { return low(s) && high(s) }
}

// A filteredRead has the other options of a read with a filter, in naive form.
type filteredRead struct {
	opts                            []read.Option
	column                          string // family:qualifier, "" for all
	prefix                          string
	since, until                    cells.Timestamp
	versions, perRow, limit, offset int
	reverse, keysOnly               bool
	exists                          string // as column
}

func drawFilteredRead(t *rapid.T) *filteredRead {
	r := new(filteredRead)
	maybe := func(name string, f func()) {
		if rapid.IntRange(0, 4).Draw(t, name) == 0 {
			f()
		}
	}
	number := func(label string, least int) int { return rapid.IntRange(least, least+3).Draw(t, label) }
	family, qualifier := rapid.SampledFrom(filterFamilies), rapid.SampledFrom(filterQualifiers)
	add := func(o read.Option) { r.opts = append(r.opts, o) }
	maybe("column", func() {
		f, q := family.Draw(t, "family"), qualifier.Draw(t, "qualifier")
		r.column = f + ":" + q
		add(read.Column(f, q))
	})
	maybe("prefix", func() { r.prefix = rapid.SampledFrom(filterRows).Draw(t, "p"); add(read.Prefix(r.prefix)) })
	maybe("times", func() {
		r.since, r.until = drawFilterTimes(t)
		add(read.TimeRange(r.since, r.until))
	})
	maybe("versions", func() { r.versions = number("n", 1); add(read.Versions(r.versions)) })
	maybe("cells per row", func() { r.perRow = number("n", 1); add(read.CellsPerRow(r.perRow)) })
	maybe("limit", func() { r.limit = number("n", 1); add(read.Limit(r.limit)) })
	maybe("offset", func() { r.offset = number("n", 1); add(read.Offset(r.offset)) })
	maybe("reverse", func() { r.reverse = true; add(read.Reverse()) })
	maybe("keys only", func() { r.keysOnly = true; add(read.KeysOnly()) })
	maybe("exists", func() {
		f, q := family.Draw(t, "family"), qualifier.Draw(t, "qualifier")
		r.exists = f + ":" + q
		add(read.Exists(f, q))
	})
	return r
}

func (r *filteredRead) run(all []naiveCell, f naive) []string {
	rows := slices.Clone(filterRows)
	slices.Sort(rows)
	if r.reverse {
		slices.Reverse(rows)
	}
	lines, returned := []string{}, 0
	for _, row := range rows {
		var sunk []naiveCell
		left := f(r.selected(all, row), &sunk)
		left = append(sunk, left...)
		sortNaive(left)
		if len(left) == 0 {
			continue
		}
		if returned++; returned <= r.offset || r.limit > 0 && returned > r.offset+r.limit {
			continue
		}
		lines = append(lines, fmt.Sprintf("%q", row))
		for _, c := range left {
			if !r.keysOnly {
				lines = append(lines, c.String())
			}
		}
	}
	return lines
}

func (r *filteredRead) selected(all []naiveCell, row string) (cs []naiveCell) {
	satisfied := r.exists == ""
	for _, c := range all {
		if c.row != row || !strings.HasPrefix(row, r.prefix) {
			continue
		}
		satisfied = satisfied || c.cell.Column() == r.exists
		if r.column != "" && c.cell.Column() != r.column || c.cell.Timestamp < r.since || r.until != 0 && c.cell.Timestamp >= r.until {
			continue
		}
		cs = append(cs, c)
	}
	if !satisfied {
		return nil
	}
	sortNaive(cs)
	if r.versions > 0 {
		cs = naiveLatest(r.versions)(cs, nil)
	}
	if r.perRow > 0 {
		cs = cs[:min(r.perRow, len(cs))]
	}
	return cs
}

func readLines(t *rapid.T, table *query.Table, opts ...read.Option) []string {
	lines := []string{}
	for row, err := range table.ReadRows(ctx, opts...) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%q", row.Key()))
		i := 0
		for c := range row.Cells() {
			lines = append(lines, naiveCell{row.Key(), c, row.Label(i)}.String())
			i++
		}
		if row.Len() != i {
			t.Fatalf("row of %d cells has length %d", i, row.Len())
		}
	}
	return lines
}

// TestFiltersMatchNaiveOnes compares random filters, on random rows and with random
// options, with their naive forms, both pushed down and not.
func TestFiltersMatchNaiveOnes(t *testing.T) {
	var families []schema.Family
	for _, f := range filterFamilies {
		families = append(families, schema.Family{Name: f})
	}
	var db *query.DB
	checks := 0
	rapid.Check(t, func(rt *rapid.T) {
		if checks%100 == 0 { // tombstones make reads slow over time
			db = openMemory(t, declare(families...))
		}
		checks++
		t, table := rt, db.Table("t")
		if err := table.DeleteRange(ctx, read.Prefix("")); err != nil {
			t.Fatal(err)
		}
		all := writeRandomCells(t, db)
		for range 16 {
			draw := rapid.SampledFrom([]func(*rapid.T, int, bool, bool) (filter.Filter, naive){drawFilter, drawChain, drawChain, drawInterleave}).Draw(t, "top")
			f, naive := draw(t, 3, true, true)
			r := drawFilteredRead(t)
			want := r.run(all, naive)
			opts := append(slices.Clip(r.opts), read.Filter(f))
			for name, got := range map[string][]string{
				"pushed down": readLines(t, table, opts...),
				"whole":       readLines(t, query.Unpushed(table), opts...),
			} {
				if !slices.Equal(got, want) {
					plan, err := table.Explain(opts...)
					t.Fatalf("%s, %s\n%+v\n%v %v\ngot\n%s\nwant\n%s", name, f, r, plan, err, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
		}
	})
}

// drawFilterTimes draws a time range; an until of 0 is no bound.
func drawFilterTimes(t *rapid.T) (since, until cells.Timestamp) {
	since, until = rapid.SampledFrom(filterTimes).Draw(t, "since"), rapid.SampledFrom(filterTimes).Draw(t, "until")
	if until == 0 {
		return since, until
	}
	return min(since, until), max(since, until)
}

func writeRandomCells(t *rapid.T, db *query.DB) []naiveCell {
	written := map[string]naiveCell{}
	b := write.NewBatch()
	for range rapid.IntRange(0, 60).Draw(t, "cells") {
		c := naiveCell{row: rapid.SampledFrom(filterRows).Draw(t, "row"), cell: cells.Cell{
			Family:    rapid.SampledFrom(filterFamilies).Draw(t, "family"),
			Qualifier: rapid.SampledFrom(filterQualifiers).Draw(t, "qualifier"),
			Timestamp: rapid.SampledFrom(filterTimes).Draw(t, "ts"),
			Value:     rapid.SampledFrom(filterValues).Draw(t, "value"),
		}}
		written[fmt.Sprintf("%q %q %d", c.row, c.cell.Column(), c.cell.Timestamp)] = c
		b.Add("t", c.row, mutate(setAt(c.cell.Family, c.cell.Qualifier, c.cell.Timestamp, c.cell.Value)))
	}
	if len(written) == 0 {
		return nil
	}
	if err := db.Apply(ctx, b); err != nil {
		t.Fatal(err)
	}
	var all []naiveCell
	for _, c := range written {
		all = append(all, c)
	}
	return all
}
