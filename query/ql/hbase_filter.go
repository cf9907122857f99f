package ql

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/query/ql/dialect"
	"github.com/smolwc/smolwc/query/ql/lex"
)

// HBase's FILTER => "...": a filter that has the meaning of an option becomes that
// option. For other filters the error names the nearest equivalent.

// filterOption parses HBase's FILTER. Its meaning may depend on other options, so
// applyFilter applies it after they are parsed.
func (p *parser) filterOption(to *target) error {
	t := p.peek()
	text, err := p.text("a filter")
	if err != nil {
		return err
	}
	if p.isMark(0, "(") || strings.HasSuffix(text, ".new") {
		return lex.ErrorAt(t.Pos, `a filter is a text here, as in FILTER => "PrefixFilter('p')"`)
	}
	filters, err := dialect.ParseFilters(t.Pos, text)
	if err != nil {
		return err
	}
	to.filterAt, to.filters = t.Pos, filters
	return nil
}

// applyFilter turns the filters into options that mean the same.
func (p *parser) applyFilter(to *target) error {
	to.turnBounds()
	for _, f := range to.filters {
		apply := hbaseFilters[f.Name]
		if apply == nil {
			return lex.ErrorAt(to.filterAt, "the filter %s is not known here; prefix=, regex=, columns=fam:/re/, since= and where COL == VALUE do what others do", lex.QuoteText(lex.Clip(f.Name)))
		}
		if err := apply(hbaseFilter{f, to}); err != nil {
			return &lex.Error{Pos: to.filterAt, Msg: err.Error()}
		}
	}
	return p.checkOptions(to)
}

// An hbaseFilter is a filter that becomes options of the target.
type hbaseFilter struct {
	dialect.Filter
	to *target
}

// hbaseFilters are the known filters. Their errors have no place; applyFilter adds it.
var hbaseFilters = map[string]func(f hbaseFilter) error{
	"PrefixFilter": func(f hbaseFilter) error {
		return f.rows("prefix", func(r *Rows, text string) { r.Prefix = text })
	},
	"InclusiveStopFilter": func(f hbaseFilter) error {
		if f.to.read.Reverse { // the row at which the filter stops is the first in key order
			return f.rows("start", func(r *Rows, text string) { r.Start = text })
		}
		return f.rows("end", func(r *Rows, text string) { r.End = text + "\x00" })
	},
	"RowFilter":  rowFilter,
	"PageFilter": func(f hbaseFilter) error { return f.bound("limit", &f.to.read.Limit) },
	"KeyOnlyFilter": func(f hbaseFilter) error {
		if f.to.rows == nil {
			return f.native("a get shows values; scan T keys=K keys-only shows keys")
		}
		f.to.read.KeysOnly = true
		return f.said("keys-only")
	},
	"FirstKeyOnlyFilter": func(f hbaseFilter) error {
		if len(f.Args) > 0 {
			return f.native("it has no arguments")
		}
		f.to.read.CellsPerRow = 1
		return f.said("cells")
	},
	"ColumnCountGetFilter":           func(f hbaseFilter) error { return f.bound("cells", &f.to.read.CellsPerRow) },
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

// columnPrefixFilter takes ColumnPrefixFilter('p') and MultipleColumnPrefixFilter('p', 'q').
func columnPrefixFilter(f hbaseFilter) error {
	return f.columns(f.Texts(), func(c *Column, text string) { c.Kind, c.Qualifier = ColumnPrefix, text })
}

// instead returns a function that refuses a filter and names the nearest equivalent.
func instead(text string) func(hbaseFilter) error {
	return func(f hbaseFilter) error { return f.native(text) }
}

// native returns an error that the filter has no exact equivalent.
func (f hbaseFilter) native(instead string) error {
	return fmt.Errorf("the filter %s has no exact equivalent here; %s", f.Name, instead)
}

// said records the option that a filter becomes. The option must not be given already.
func (f hbaseFilter) said(option string) error {
	if _, twice := f.to.seen[option]; twice {
		return fmt.Errorf("the filter %s also sets %s; give one of them", f.Name, option)
	}
	f.to.seen[option] = f.to.filterAt
	return nil
}

func (f hbaseFilter) rows(option string, set func(r *Rows, text string)) error {
	texts := f.Texts()
	switch {
	case len(texts) != 1:
		return fmt.Errorf("the filter %s takes one text, as in %s('p')", f.Name, f.Name)
	case f.to.rows == nil:
		return f.native("a get has its keys; scan reads rows by prefix= and start= end=")
	}
	set(f.to.rows, texts[0])
	return f.said(option)
}

func (f hbaseFilter) bound(option string, field *int) error {
	n := 0
	if len(f.Args) == 1 && !f.Args[0].Quoted {
		n, _ = strconv.Atoi(f.Args[0].Text)
	}
	switch {
	case n < 1:
		return fmt.Errorf("the filter %s takes a whole number from 1, as in %s(10)", f.Name, f.Name)
	case option == "limit" && f.to.rows == nil:
		return f.native("a get has its keys")
	}
	*field = n
	return f.said(option)
}

// comparison returns the parts of the arguments (=, 'binary:text').
func (f hbaseFilter) comparison() (op, kind, text string, err error) {
	if len(f.Args) < 2 || f.Args[0].Quoted || operators[f.Args[0].Text] == "" || !f.Args[1].Quoted {
		return "", "", "", fmt.Errorf("the filter %s takes a comparison and a text, as in %s(=, 'binary:x')", f.Name, f.Name)
	}
	kind, text, ok := strings.Cut(f.Args[1].Text, ":")
	if !ok {
		return "", "", "", fmt.Errorf("the filter %s wants binary:, binaryprefix:, substring: or regexstring: before %s", f.Name, lex.QuoteText(lex.Clip(f.Args[1].Text)))
	}
	return operators[f.Args[0].Text], kind, text, nil
}

func rowFilter(f hbaseFilter) error {
	op, kind, text, err := f.comparison()
	switch {
	case err != nil:
		return err
	case f.to.rows == nil:
		return f.native("a get has its keys")
	case kind == "binaryprefix" && op == "==":
		f.to.rows.Prefix = text
		return f.said("prefix")
	case kind == "binary" && op == "==":
		f.to.rows.Keys = []string{text}
		return f.said("keys")
	case kind == "binary" && (op == "<" || op == "<="):
		if f.to.rows.End = text; op == "<=" {
			f.to.rows.End += "\x00"
		}
		return f.said("end")
	case kind == "binary" && (op == ">" || op == ">="):
		if f.to.rows.Start = text; op == ">" {
			f.to.rows.Start += "\x00"
		}
		return f.said("start")
	}
	expr, ok := unanchored(op, kind, text)
	if !ok {
		return f.native("regex=/RE/ takes the rows whose keys match")
	}
	f.to.read.Regex = &Pattern{f.to.filterAt, expr}
	return f.said("regex")
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

func familyFilter(f hbaseFilter) error {
	op, kind, text, err := f.comparison()
	switch {
	case err != nil:
		return err
	case op != "==" || kind != "binary" || text == "":
		return f.native("columns=FAM:*,FAM:* names the families")
	case len(f.to.read.Columns) > 0:
		return fmt.Errorf("the filter %s also sets columns; give one of them", f.Name)
	}
	f.to.read.Columns = []Column{{Pos: f.to.filterAt, Family: text, Kind: ColumnFamily}}
	return nil
}

func qualifierFilter(f hbaseFilter) error {
	op, kind, text, err := f.comparison()
	if err != nil {
		return err
	}
	change := func(c *Column, text string) { c.Kind, c.Qualifier = ColumnExact, text }
	expr, pattern := unanchored(op, kind, text)
	switch {
	case pattern:
		text = expr
		change = func(c *Column, text string) { c.Kind, c.Qualifier = ColumnRegex, text }
	case kind == "binaryprefix" && op == "==":
		change = func(c *Column, text string) { c.Kind, c.Qualifier = ColumnPrefix, text }
	case kind != "binary" || op == "!=":
		return f.native("columns=FAM:QUAL, FAM:pre*, FAM:[a..b) and FAM:/re/ choose columns")
	case op == "<" || op == "<=":
		change = func(c *Column, text string) { c.Kind, c.End = ColumnRange, text+map[string]string{"<=": "\x00"}[op] }
	case op == ">" || op == ">=":
		change = func(c *Column, text string) { c.Kind, c.Start = ColumnRange, text+map[string]string{">": "\x00"}[op] }
	}
	return f.columns([]string{text}, change)
}

func columnRangeFilter(f hbaseFilter) error {
	if len(f.Args) != 4 || !f.Args[0].Quoted || !f.Args[2].Quoted || f.Args[1].Quoted || f.Args[3].Quoted {
		return fmt.Errorf("the filter %s is written %s('a', true, 'b', false)", f.Name, f.Name)
	}
	start, end := f.Args[0].Text, f.Args[2].Text
	if strings.EqualFold(f.Args[1].Text, "false") {
		start += "\x00"
	}
	if strings.EqualFold(f.Args[3].Text, "true") {
		end += "\x00"
	}
	return f.columns([]string{""}, func(c *Column, _ string) { c.Kind, c.Start, c.End = ColumnRange, start, end })
}

// columns replaces each family of COLUMNS by a column for each text. A filter on
// qualifiers needs COLUMNS, because here every column belongs to a family.
func (f hbaseFilter) columns(texts []string, change func(c *Column, text string)) error {
	if len(texts) == 0 {
		return fmt.Errorf("the filter %s takes a text, as in %s('p')", f.Name, f.Name)
	}
	var narrowed []Column
	for _, c := range f.to.read.Columns {
		if c.Kind != ColumnFamily {
			return fmt.Errorf("both the filter %s and a named column say what to read; give one of them", f.Name)
		}
		for _, text := range texts {
			n := Column{Pos: c.Pos, Family: c.Family}
			change(&n, text)
			if n.Kind == ColumnPrefix && n.Qualifier == "" {
				n.Kind = ColumnFamily
			}
			narrowed = append(narrowed, n)
		}
	}
	if len(narrowed) == 0 {
		n := Column{Family: "FAM"}
		change(&n, texts[0])
		return f.native(fmt.Sprintf("name the family, as in columns=%s", n))
	}
	f.to.read.Columns = narrowed
	return nil
}

// columnValueFilter takes SingleColumnValueFilter('f','q',=,'binary:x',true,true).
func columnValueFilter(f hbaseFilter) error {
	if len(f.Args) < 4 || !f.Args[0].Quoted || !f.Args[1].Quoted {
		return fmt.Errorf("the filter %s is written %s('family', 'qualifier', =, 'binary:x', true, true)", f.Name, f.Name)
	}
	op, kind, text, err := hbaseFilter{dialect.Filter{Name: f.Name, Args: f.Args[2:4]}, f.to}.comparison()
	if err != nil {
		return err
	}
	c := Condition{
		Column: Column{Pos: f.to.filterAt, Family: f.Args[0].Text, Qualifier: f.Args[1].Text}, Op: op,
		Value: lex.Literal{Pos: f.to.filterAt, Text: text, Quoted: true, Loose: true},
	}
	native := "where " + c.String()
	switch {
	case kind != "binary":
		return f.native(native + " compares whole values")
	case len(f.Args) != 6 || !strings.EqualFold(f.Args[4].Text, "true") || !strings.EqualFold(f.Args[5].Text, "true"):
		return f.native(native + " leaves out the rows without the column, as the filter does with , true, true at its end")
	}
	f.to.read.Where = append(f.to.read.Where, c)
	return nil
}

func timestampsFilter(f hbaseFilter) error {
	if len(f.Args) != 1 || f.Args[0].Quoted {
		return f.native("since= and until= bound the times, and TimestampsFilter(T) takes one")
	}
	at, err := dialect.ParseMillis(f.to.filterAt, f.Args[0].Text)
	if err != nil {
		return err
	}
	if err := f.said("since"); err != nil {
		return err
	}
	if err := f.said("until"); err != nil {
		return err
	}
	f.to.read.Since, f.to.read.Until = at, dialect.NextMilli(at)
	return nil
}
