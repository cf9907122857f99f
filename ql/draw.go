package ql

import (
	"fmt"
	"slices"

	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/schema"
)

var aggregateVerb = verb{
	name: "aggregate", parse: parseAggregate, keyed: true,
	help: helpTopic{
		also: []string{"group"}, summary: "counts, sums and distinct values, in groups",
		syntax: "aggregate T FIGURE[, FIGURE ..] [group by COL|key|key-part(N)[, ..]] [top N by FIGURE] [rows and conditions as in scan] [as FORMAT]\n" +
			"FIGURE: count, cells, or count, sum, avg, min, max, distinct or cells of a column: sum(delay:dep); cells(FAM:*) of a family",
		text: "Reads the newest cell of each column once. count is the number of rows, count(COL) of those with the column; distinct is the\n" +
			"number of different values; cells is the number of cells in all versions, cells(COL) of those of the column, and cells(FAM:*),\n" +
			"cells(FAM:pre*) or cells(FAM:[a..b)) of those of several columns. Cells that are not numbers do not count for sum and avg. Without group by there is one line.\n" +
			"Groups come in the order of what they are grouped by, or with top the largest first. A group without the column, or\n" +
			"without that part of the key, has an empty field. Groups are held in memory; there may be a million.",
		examples: []string{
			"aggregate fleet count, sum(meta:miles), max(meta:miles) prefix=plane#",
			"aggregate fleet count, avg(meta:miles) group by meta:operator top 10 by count where meta:miles exists",
			"aggregate fleet count group by key-part(1)",
			"aggregate fleet cells group by key top 10 by cells",
			"aggregate fleet cells(meta:*), cells(meta:m*), cells(meta:model) group by key top 10 by cells(meta:*)",
		},
	},
}

// Aggregate computes figures of the rows, or of groups of them.
type Aggregate struct {
	Node
	Table Name
	Of    []Figure
	By    []GroupKey // empty: one group
	Top   int        // how many groups are shown, those with the largest figure first; 0: all, in order
	TopBy int        // the index in Of
	Rows
	Read
}

// A Figure is count or cells, or a function of a column.
type Figure struct {
	Func   string // count, cells, sum, avg, min, max or distinct
	Column Column // its Family is "" for the count of rows, and of all cells
}

// A GroupKey is common to the rows of a group: the newest cell of a column, or a
// part of their keys. WholeKey makes a group of each row.
type GroupKey struct {
	Column Column // if Part is 0
	Part   int    // of the key; 1 is the first
}

// WholeKey is the [GroupKey.Part] of a row key as a whole.
const WholeKey = -1

// String is the figure in the language's syntax.
func (f Figure) String() string {
	if f.Column.Family == "" {
		return f.Func
	}
	return f.Func + "(" + notTime(f.Column) + ")"
}

// String is the key in the language's syntax.
func (k GroupKey) String() string {
	switch {
	case k.Part == WholeKey:
		return "key"
	case k.Part > 0:
		return fmt.Sprintf("key-part(%d)", k.Part)
	}
	return notTime(k.Column)
}

func (st *Aggregate) print(w *printer) {
	w.words("aggregate", lex.QuoteName(st.Table.Text))
	w.words(listWith(", ", st.Of, Figure.String))
	if len(st.By) > 0 {
		w.words("group by", listWith(", ", st.By, GroupKey.String))
	}
	if st.Top > 0 && st.TopBy < len(st.Of) {
		w.words("top", fmt.Sprint(st.Top), "by", st.Of[st.TopBy].String())
	}
	w.rows(st.Rows)
	w.read(st.Read)
}

func parseAggregate(p *parser) Statement {
	st := &Aggregate{Table: p.tableName()}
	for len(st.Of) == 0 || p.accept(",") {
		p.bound(len(st.Of), maxFigures, "figures")
		st.Of = append(st.Of, p.figure())
	}
	p.options(inAggregate, &target{rows: &st.Rows, read: &st.Read, aggregate: st})
	return st
}

func (p *parser) groupOption(to *target) {
	if !p.acceptWord("by") {
		panic(p.unexpected("by, as in group by loc:dest"))
	}
	st := to.aggregate
	for len(st.By) == 0 || p.accept(",") {
		p.bound(len(st.By), maxFigures, "columns and parts to group by")
		st.By = append(st.By, p.groupKey())
	}
}

func (p *parser) topOption(to *target) {
	st := to.aggregate
	st.Top = p.upTo(1, maxGroups)
	if !p.acceptWord("by") {
		panic(p.unexpected("by, as in top 10 by count"))
	}
	by := p.figure()
	st.TopBy = slices.IndexFunc(st.Of, func(f Figure) bool { return f.String() == by.String() })
	if st.TopBy < 0 {
		st.TopBy, st.Of = len(st.Of), append(st.Of, by)
	}
}

// maxGroups bounds the groups that are shown with top.
const maxGroups = 1_000_000

var figures = []string{"count", "cells", "sum", "avg", "min", "max", "distinct"}

func (p *parser) figure() Figure {
	t := p.peek()
	word := t.Keyword()
	p.wantOneOf(ExpectKeyword, figures...)
	if !slices.Contains(figures, word) {
		panic(lex.ErrorAt(t.Pos, "expected count, cells, or sum, avg, min, max, count, cells or distinct of a column, as in sum(delay:dep), not %s%s", t.Describe(), schema.DidYouMean(word, figures)))
	}
	p.next()
	f := Figure{Func: word}
	if p.peek().Glued && p.accept("(") {
		if f.Column = p.countedColumn(word); f.Column.Kind == ColumnRegex {
			panic(lex.ErrorAt(f.Column.Pos, "%s is not of a pattern of qualifiers; write a column, a family as in %s:*, or %s:pre*", word, f.Column.Family, f.Column.Family))
		}
		p.expect(")")
	} else if word != "count" && word != "cells" {
		panic(lex.ErrorAt(p.peek().Pos, "%s is of a column, as in %s(delay:dep)", word, word))
	}
	return f
}

// countedColumn parses the column of a figure. cells also counts in several columns.
func (p *parser) countedColumn(figure string) Column {
	if figure != "cells" || p.peek().Kind != lex.Word {
		return p.untimedColumn()
	}
	return p.listedColumn(nil, false)
}

// untimedColumn parses a column. aggregate knows no times of cells.
func (p *parser) untimedColumn() Column {
	c, ofTime := p.columnOrTime()
	if ofTime {
		panic(lex.ErrorAt(c.Pos, "aggregate has no times of cells: histogram T %s counts by them, and where %s compares them; quote a qualifier that ends in %s", c.String()+timeSuffix, c.String()+timeSuffix, timeSuffix))
	}
	return c
}

func (p *parser) groupKey() GroupKey {
	p.wantOneOf(ExpectKeyword, "key", "key-part")
	if p.acceptWord("key") {
		return GroupKey{Part: WholeKey}
	}
	if part := p.keyPart(); part > 0 {
		return GroupKey{Part: part}
	}
	return GroupKey{Column: p.untimedColumn()}
}

var histogramVerb = verb{
	name: "histogram", parse: parseHistogram, keyed: true,
	help: helpTopic{
		summary: "values of a column by size, rows by prefix",
		syntax: "histogram T COL|COL.ts [bins=N] [versions=N|all] [rows and conditions as in scan] [as FORMAT]\n" +
			"histogram T keys [depth=N] [separator=TEXT] [bins=N] [rows and conditions as in scan] [as FORMAT]",
		text: "Counts the numbers of a column in at most bins= bins (20 by default) with round bounds; a bin's from is inclusive, its to exclusive.\n" +
			"If there are no numbers, it counts the values, and shows the bins= most frequent in their order. COL.ts counts the cells by\n" +
			"their times: by seconds, minutes, hours, days, months or years.\n" +
			"With keys it counts rows by prefixes of their keys: by depth= parts that end with separator= (# by default),\n" +
			"or by depth= elements if keys are tuples; without depth=, by one more than prefix= has. It shows the bins= largest prefixes.\n" +
			"Both read the rows once, and hold no more than the bins. The bars are drawn for people; csv and json give the figures.",
		examples: []string{
			"histogram fleet meta:miles prefix=plane#",
			"histogram fleet meta:miles bins=5 where meta:operator == Icelandair as csv",
			"histogram fleet meta:operator",
			"histogram fleet meta:miles.ts versions=all",
			"histogram fleet keys",
			"histogram fleet keys prefix=plane# depth=2 bins=10",
		},
	},
}

// Histogram counts the numbers of a column by size, or the rows by the prefixes of
// their keys.
type Histogram struct {
	Node
	Table     Name
	Column    Column // its Family is "" for row keys
	Times     bool   // of the times of the cells, and not of their values
	Bins      int    // the maximum; 0: not given
	Depth     int    // for row keys: the number of leading parts; 0: one more than in the prefix
	Separator string // ends each part of a plain key; "": #
	Rows
	Read
}

func (st *Histogram) print(w *printer) {
	w.words("histogram", lex.QuoteName(st.Table.Text))
	if st.Column.Family == "" {
		w.words("keys")
	} else {
		w.words(columnOrTime(st.Column, st.Times))
	}
	w.number("bins", st.Bins)
	w.number("depth", st.Depth)
	w.word("separator", st.Separator)
	w.rows(st.Rows)
	w.read(st.Read)
}

func columnOrTime(c Column, ofTime bool) string {
	if ofTime {
		return c.String() + timeSuffix
	}
	return notTime(c)
}

// parseHistogram parses histogram T COL|COL.ts|keys [bins=N] [depth=N] [separator=TEXT]
// [options of scan].
func parseHistogram(p *parser) Statement {
	st := &Histogram{Table: p.tableName()}
	p.wantOneOf(ExpectKeyword, "keys")
	of, wrong := "a column", []string{"depth", "separator"}
	if p.peek().Keyword() == "keys" && !p.atOption(0) {
		p.next()
		of, wrong = "row keys", []string{"versions"}
	} else {
		st.Column, st.Times = p.columnOrTime()
	}
	to := &target{rows: &st.Rows, read: &st.Read, bins: &st.Bins, depth: &st.Depth, separator: &st.Separator}
	p.options(inHistogram, to)
	if st.Column.Family != "" && st.Bins == 1 { // no bin holds numbers on both sides of 0
		panic(lex.ErrorAt(to.seen["bins"], "a histogram of a column has 2 bins at least"))
	}
	for _, name := range wrong {
		if at, ok := to.seen[name]; ok {
			panic(lex.ErrorAt(at, "%s does not go with a histogram of %s", name, of))
		}
	}
	return st
}

var sparklineVerb = verb{
	name: "sparkline", parse: parseSparkline, keyed: true,
	help: helpTopic{
		summary: "the numbers of a column over time",
		syntax:  "sparkline T KEY COL [points=N] [since=TS] [until=TS] [as FORMAT]",
		text: "Draws the versions of a column in a line, the oldest first. Up to points= numbers (60 by default) are a point each;\n" +
			"more are put together in spans of equal time, each shown by its mean. csv and json give the points.",
		examples: []string{"sparkline fleet plane#TF-FIR meta:miles", "sparkline fleet plane#TF-FIR meta:miles points=20 since=2020-01-01 as jsonl"},
	},
}

// Sparkline shows a column's numbers over time.
type Sparkline struct {
	Node
	Table  Name
	Key    string
	Column Column
	Points int // the maximum; 0: not given
	Read
}

func (st *Sparkline) print(w *printer) {
	w.words("sparkline", lex.QuoteName(st.Table.Text), w.quoteKey(st.Key), st.Column.String())
	w.number("points", st.Points)
	w.read(st.Read)
}

func parseSparkline(p *parser) Statement {
	st := &Sparkline{}
	p.cell(&st.Table, &st.Key, &st.Column)
	p.options(inSparkline, &target{rows: &Rows{}, read: &st.Read, points: &st.Points})
	return st
}
