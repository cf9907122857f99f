package ql

import "github.com/smolwc/smolwc/query/ql/lex"

var histogramVerb = verb{
	name: "histogram", parse: parseHistogram, keyed: true,
	help: helpTopic{
		summary: "numbers of a column by size, rows by prefix",
		syntax: "histogram T COL [bins=N] [versions=N|all] [rows and conditions as in scan] [as FORMAT]\n" +
			"histogram T keys [depth=N] [separator=TEXT] [bins=N] [rows and conditions as in scan] [as FORMAT]",
		text: "Counts the numbers of a column in at most bins= bins (20 by default) with round bounds; a bin's from is inclusive, its to exclusive.\n" +
			"With keys it counts rows by prefixes of their keys: by depth= parts that end with separator= (# by default),\n" +
			"or by depth= elements if keys are tuples; without depth=, by one more than prefix= has. It shows the bins= largest prefixes.\n" +
			"Both read the rows once, and hold no more than the bins. The bars are drawn for people; csv and json give the figures.",
		examples: []string{
			"histogram fleet meta:miles prefix=plane#",
			"histogram fleet meta:miles bins=5 where meta:operator == Icelandair as csv",
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
		w.words(st.Column.String())
	}
	w.number("bins", st.Bins)
	w.number("depth", st.Depth)
	w.word("separator", st.Separator)
	w.rows(st.Rows)
	w.read(st.Read)
}

// parseHistogram parses histogram T COL|keys [bins=N] [depth=N] [separator=TEXT]
// [options of scan].
func parseHistogram(p *parser) (Statement, error) {
	st := &Histogram{}
	var err error
	if st.Table, err = p.tableName(); err != nil {
		return nil, err
	}
	p.wantOneOf(ExpectKeyword, "keys")
	if p.peek().Keyword() == "keys" && !p.atOption(0) {
		p.next()
	} else if st.Column, err = p.exactColumn(); err != nil {
		return nil, err
	}
	to := &target{rows: &st.Rows, read: &st.Read, bins: &st.Bins, depth: &st.Depth, separator: &st.Separator}
	if err := p.options(inHistogram, to); err != nil {
		return nil, err
	}
	wrong := []string{"depth", "separator"}
	if st.Column.Family == "" {
		wrong = []string{"versions"}
	}
	if st.Column.Family != "" && st.Bins == 1 { // no bin holds numbers on both sides of 0
		return nil, lex.ErrorAt(to.seen["bins"], "a histogram of a column has 2 bins at least")
	}
	for _, name := range wrong {
		if at, ok := to.seen[name]; ok {
			return nil, lex.ErrorAt(at, "%s does not go with a histogram of %s", name, histogramOf(st))
		}
	}
	return st, nil
}

func histogramOf(st *Histogram) string {
	if st.Column.Family == "" {
		return "row keys"
	}
	return "a column"
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

// parseSparkline parses sparkline T KEY COL [points=N] [since=TS] [until=TS] [as FORMAT].
func parseSparkline(p *parser) (Statement, error) {
	st := &Sparkline{}
	if _, err := p.cell(&st.Table, &st.Key, &st.Column); err != nil {
		return nil, err
	}
	return st, p.options(inSparkline, &target{rows: &Rows{}, read: &st.Read, points: &st.Points})
}
