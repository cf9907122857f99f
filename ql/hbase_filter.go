package ql

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/ql/dialect"
	"github.com/smolwc/smolwc/ql/lex"
)

// HBase's FILTER => "...": a filter that means the same as an option becomes that option.
// For other filters the error names the nearest equivalent.

// filterOption parses HBase's FILTER. Its meaning may depend on other options, so
// applyFilter applies it after they are parsed.
func (p *parser) filterOption(to *target) {
	t := p.peek()
	text := p.text("a filter")
	if p.isMark(0, "(") || strings.HasSuffix(text, ".new") {
		panic(lex.ErrorAt(t.Pos, `a filter is a text here, as in FILTER => "PrefixFilter('p')"`))
	}
	to.filterAt, to.filters = t.Pos, must(dialect.ParseFilters(t.Pos, text))
}

// applyFilter turns the filters into options that mean the same.
func (p *parser) applyFilter(to *target) {
	to.turnBounds()
	for _, f := range to.filters {
		apply := hbaseFilters[f.Name]
		if apply == nil {
			panic(lex.ErrorAt(to.filterAt, "the filter %s is not known here; prefix=, regex=, columns=fam:/re/, since= and where COL == VALUE do what others do", lex.QuoteText(lex.Clip(f.Name))))
		}
		apply(hbaseFilter{f, to})
	}
	p.checkOptions(to)
}

// An hbaseFilter is a filter that becomes options of the target.
type hbaseFilter struct {
	dialect.Filter
	to *target
}

// hbaseFilters are the known filters.
var hbaseFilters = map[string]func(f hbaseFilter){
	"PrefixFilter": func(f hbaseFilter) { f.to.rows.Prefix = f.row("prefix") },
	"InclusiveStopFilter": func(f hbaseFilter) {
		if f.to.read.Reverse { // the row at which the filter stops is the first in key order
			f.to.rows.Start = f.row("start")
		} else {
			f.to.rows.End = f.row("end") + "\x00"
		}
	},
	"RowFilter":  rowFilter,
	"PageFilter": func(f hbaseFilter) { f.ofRows("a get has its keys"); f.to.read.Limit = f.bound("limit") },
	"KeyOnlyFilter": func(f hbaseFilter) {
		f.ofRows("a get shows values; scan T keys=K keys-only shows keys")
		f.to.read.KeysOnly = true
		f.said("keys-only")
	},
	"FirstKeyOnlyFilter": func(f hbaseFilter) {
		if len(f.Args) > 0 {
			panic(f.native("it has no arguments"))
		}
		f.to.read.CellsPerRow = 1
		f.said("cells")
	},
	"ColumnCountGetFilter":           func(f hbaseFilter) { f.to.read.CellsPerRow = f.bound("cells") },
	"FamilyFilter":                   familyFilter,
	"QualifierFilter":                qualifierFilter,
	"ColumnPrefixFilter":             columnPrefixFilter,
	"MultipleColumnPrefixFilter":     columnPrefixFilter,
	"ColumnRangeFilter":              columnRangeFilter,
	"SingleColumnValueFilter":        columnValueFilter,
	"TimestampsFilter":               timestampsFilter,
	"ValueFilter":                    instead("where FAM:QUAL == VALUE chooses rows by a value"),
	"DependentColumnFilter":          instead("where FAM:QUAL == VALUE chooses rows by a value"),
	"SingleColumnValueExcludeFilter": instead("where FAM:QUAL == VALUE chooses rows by a value, and columns= what is shown"),
	"ColumnPaginationFilter":         instead("cells=N bounds the cells of each row, and columns=FAM:[a..b) the columns"),
}

// instead returns a function that refuses a filter and names the nearest equivalent.
func instead(text string) func(hbaseFilter) {
	return func(f hbaseFilter) { panic(f.native(text)) }
}

func (f hbaseFilter) wrong(format string, args ...any) *lex.Error {
	return lex.ErrorAt(f.to.filterAt, "%s", fmt.Sprintf(format, args...))
}

// native returns the error for a filter without an exact equivalent.
func (f hbaseFilter) native(instead string) *lex.Error {
	return f.wrong("the filter %s has no exact equivalent here; %s", f.Name, instead)
}

// ofRows refuses the filter in a get.
func (f hbaseFilter) ofRows(instead string) {
	if f.to.rows == nil {
		panic(f.native(instead))
	}
}

// said records the option that a filter becomes. The option must not be given already.
func (f hbaseFilter) said(option string) {
	if _, twice := f.to.seen[option]; twice {
		panic(f.wrong("the filter %s also sets %s; give one of them", f.Name, option))
	}
	f.to.seen[option] = f.to.filterAt
}

// row returns the only argument, a row key, and records the option for it.
func (f hbaseFilter) row(option string) string {
	texts := f.Texts()
	if len(texts) != 1 {
		panic(f.wrong("the filter %s takes one text, as in %s('p')", f.Name, f.Name))
	}
	f.ofRows("a get has its keys; scan reads rows by prefix= and start= end=")
	f.said(option)
	return texts[0]
}

// bound returns the only argument, a number, and records the option for it.
func (f hbaseFilter) bound(option string) int {
	n := 0
	if len(f.Args) == 1 && !f.Args[0].Quoted {
		n, _ = strconv.Atoi(f.Args[0].Text)
	}
	if n < 1 {
		panic(f.wrong("the filter %s takes a whole number from 1, as in %s(10)", f.Name, f.Name))
	}
	f.said(option)
	return n
}

// comparison returns the parts of two arguments: (=, 'binary:text').
func (f hbaseFilter) comparison(args []dialect.Arg) (op, kind, text string) {
	if len(args) < 2 || args[0].Quoted || operators[args[0].Text] == "" || !args[1].Quoted {
		panic(f.wrong("the filter %s takes a comparison and a text, as in %s(=, 'binary:x')", f.Name, f.Name))
	}
	kind, text, ok := strings.Cut(args[1].Text, ":")
	if !ok {
		panic(f.wrong("the filter %s needs binary:, binaryprefix:, substring: or regexstring: before %s", f.Name, lex.QuoteText(lex.Clip(args[1].Text))))
	}
	return operators[args[0].Text], kind, text
}

func rowFilter(f hbaseFilter) {
	op, kind, text := f.comparison(f.Args)
	f.ofRows("a get has its keys")
	option := "regex"
	switch expr, ok := unanchored(op, kind, text); {
	case kind == "binaryprefix" && op == "==":
		option, f.to.rows.Prefix = "prefix", text
	case kind == "binary" && op == "==":
		option, f.to.rows.Keys = "keys", []string{text}
	case kind == "binary" && op == "<":
		option, f.to.rows.End = "end", text
	case kind == "binary" && op == "<=":
		option, f.to.rows.End = "end", text+"\x00"
	case kind == "binary" && op == ">":
		option, f.to.rows.Start = "start", text+"\x00"
	case kind == "binary" && op == ">=":
		option, f.to.rows.Start = "start", text
	case ok:
		f.to.read.Regex = &Pattern{f.to.filterAt, expr}
	default:
		panic(f.native("regex=/RE/ takes the rows whose keys match"))
	}
	f.said(option)
}

// unanchored returns a pattern that matches a whole text if HBase's comparator finds a
// match in it.
func unanchored(op, kind, text string) (expr string, ok bool) {
	switch {
	case op != "==":
		return "", false
	case kind == "substring":
		return `\C*(?i:` + regexp.QuoteMeta(text) + `)\C*`, true
	case kind == "regexstring":
		return `\C*(?:` + text + `)\C*`, true
	}
	return "", false
}

func familyFilter(f hbaseFilter) {
	op, kind, text := f.comparison(f.Args)
	switch {
	case op != "==" || kind != "binary" || text == "":
		panic(f.native("columns=FAM:*,FAM:* names the families"))
	case len(f.to.read.Columns) > 0:
		panic(f.wrong("the filter %s also sets columns; give one of them", f.Name))
	}
	f.to.read.Columns = []Column{{Pos: f.to.filterAt, Family: text, Kind: ColumnFamily}}
}

func qualifierFilter(f hbaseFilter) {
	op, kind, text := f.comparison(f.Args)
	switch expr, ok := unanchored(op, kind, text); {
	case ok:
		f.columns(Column{Kind: ColumnRegex, Qualifier: expr})
	case kind == "binaryprefix" && op == "==":
		f.columns(Column{Kind: ColumnPrefix, Qualifier: text})
	case kind == "binary" && op == "==":
		f.columns(Column{Qualifier: text})
	case kind == "binary" && op == "<":
		f.columns(Column{Kind: ColumnRange, End: text})
	case kind == "binary" && op == "<=":
		f.columns(Column{Kind: ColumnRange, End: text + "\x00"})
	case kind == "binary" && op == ">":
		f.columns(Column{Kind: ColumnRange, Start: text + "\x00"})
	case kind == "binary" && op == ">=":
		f.columns(Column{Kind: ColumnRange, Start: text})
	default:
		panic(f.native("columns=FAM:QUAL, FAM:pre*, FAM:[a..b) and FAM:/re/ choose columns"))
	}
}

// columnPrefixFilter takes ColumnPrefixFilter('p') and MultipleColumnPrefixFilter('p', 'q').
func columnPrefixFilter(f hbaseFilter) {
	var columns []Column
	for _, text := range f.Texts() {
		columns = append(columns, Column{Kind: ColumnPrefix, Qualifier: text})
	}
	if columns == nil {
		panic(f.wrong("the filter %s takes a text, as in %s('p')", f.Name, f.Name))
	}
	f.columns(columns...)
}

func columnRangeFilter(f hbaseFilter) {
	if len(f.Args) != 4 || !f.Args[0].Quoted || !f.Args[2].Quoted || f.Args[1].Quoted || f.Args[3].Quoted {
		panic(f.wrong("the filter %s is written %s('a', true, 'b', false)", f.Name, f.Name))
	}
	c := Column{Kind: ColumnRange, Start: f.Args[0].Text, End: f.Args[2].Text}
	if strings.EqualFold(f.Args[1].Text, "false") {
		c.Start += "\x00"
	}
	if strings.EqualFold(f.Args[3].Text, "true") {
		c.End += "\x00"
	}
	f.columns(c)
}

// columns replaces each family of COLUMNS by the columns, which have no family yet. A
// filter on qualifiers needs COLUMNS, because here every column belongs to a family.
func (f hbaseFilter) columns(columns ...Column) {
	var narrowed []Column
	for _, of := range f.to.read.Columns {
		if of.Kind != ColumnFamily {
			panic(f.wrong("both the filter %s and a named column say what to read; give one of them", f.Name))
		}
		for _, c := range columns {
			c.Pos, c.Family = of.Pos, of.Family
			if c.Kind == ColumnPrefix && c.Qualifier == "" {
				c.Kind = ColumnFamily
			}
			narrowed = append(narrowed, c)
		}
	}
	if narrowed == nil {
		columns[0].Family = "FAM"
		panic(f.native(fmt.Sprintf("name the family, as in columns=%s", columns[0])))
	}
	f.to.read.Columns = narrowed
}

// columnValueFilter takes SingleColumnValueFilter('f','q',=,'binary:x',true,true).
func columnValueFilter(f hbaseFilter) {
	if len(f.Args) < 4 || !f.Args[0].Quoted || !f.Args[1].Quoted {
		panic(f.wrong("the filter %s is written %s('family', 'qualifier', =, 'binary:x', true, true)", f.Name, f.Name))
	}
	op, kind, text := f.comparison(f.Args[2:])
	c := Condition{
		Pos: f.to.filterAt, Column: Column{Pos: f.to.filterAt, Family: f.Args[0].Text, Qualifier: f.Args[1].Text}, Op: op,
		Values: []lex.Literal{{Pos: f.to.filterAt, Text: text, Quoted: true, Loose: true}},
	}
	native := "where " + c.String()
	switch {
	case kind != "binary":
		panic(f.native(native + " compares whole values"))
	case len(f.Args) != 6 || !strings.EqualFold(f.Args[4].Text, "true") || !strings.EqualFold(f.Args[5].Text, "true"):
		panic(f.native(native + " leaves out the rows without the column, as the filter does with , true, true at its end"))
	}
	if len(f.to.read.Where) >= maxConditions {
		panic(f.wrong("a statement has at most %d conditions", maxConditions))
	}
	f.to.read.Where = append(f.to.read.Where, c)
}

func timestampsFilter(f hbaseFilter) {
	if len(f.Args) != 1 || f.Args[0].Quoted {
		panic(f.native("since= and until= bound the times, and TimestampsFilter(T) takes one"))
	}
	at := must(dialect.ParseMillis(f.to.filterAt, f.Args[0].Text))
	f.said("since")
	f.said("until")
	f.to.read.Since, f.to.read.Until = at, dialect.NextMilli(at)
}
