package ql

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/query/ql/lex"
)

// HBase's FILTER => "...": filters that mean the same as options here become
// those; of others the error says what does nearly the same.

// An hbaseFilter is one filter of the text, with its arguments.
type hbaseFilter struct {
	name string
	args []hbaseArg
}

// An hbaseArg is 'text', or a bare word: a number, a comparison, true or false.
type hbaseArg struct {
	text   string
	quoted bool
}

// hbaseFilterPart is a filter, or a word or bracket between filters.
var hbaseFilterPart = regexp.MustCompile(`^\s*(\w+|&&|[()])`)

// hbaseFilterArg is an argument and what follows it.
var hbaseFilterArg = regexp.MustCompile(`^\s*('(?:[^']|'')*'|[<>=!]+|\w+)\s*([,)])`)

// filterOption takes HBase's FILTER. What it means may hang on other options, so
// applyFilter takes account of it when those are known.
func (p *parser) filterOption(to *target) error {
	t := p.peek()
	text, err := p.text("a filter")
	if err != nil {
		return err
	}
	if p.isMark(0, "(") || strings.HasSuffix(text, ".new") {
		return lex.ErrorAt(t.Pos, `a filter is a text here, as in FILTER => "PrefixFilter('p')"`)
	}
	filters, err := parseHBaseFilter(t, text)
	if err != nil {
		return err
	}
	to.filterAt, to.filters = t.Pos, filters
	return nil
}

// parseHBaseFilter reads filters with AND between them, in any brackets.
func parseHBaseFilter(t lex.Token, text string) (filters []hbaseFilter, err error) {
	depth, and := 0, true // and: a filter may follow
	for rest := text; strings.TrimSpace(rest) != ""; {
		m := hbaseFilterPart.FindStringSubmatch(rest)
		if m == nil {
			return nil, lex.ErrorAt(t.Pos, "%s is no filter of HBase's; one looks like PrefixFilter('p')", lex.QuoteText(lex.Clip(strings.TrimSpace(rest))))
		}
		word := m[1]
		rest = rest[len(m[0]):]
		switch upper := strings.ToUpper(word); {
		case word == "(" && and:
			depth++
		case word == ")" && !and && depth > 0:
			depth--
		case (upper == "AND" || word == "&&") && !and:
			and = true
		case upper == "OR" || upper == "SKIP" || upper == "WHILE":
			return nil, lex.ErrorAt(t.Pos, "filters are joined by AND alone here, and %s is not known; read one after another, or see where, regex= and columns=", upper)
		case !and || word == ")" || word == "&&" || upper == "AND":
			return nil, lex.ErrorAt(t.Pos, "a filter of HBase's stands where it should not, at %s; filters have AND between them", lex.QuoteText(lex.Clip(word+rest)))
		default:
			f := hbaseFilter{name: word}
			if f.args, rest, err = parseHBaseArgs(t, f.name, rest); err != nil {
				return nil, err
			}
			filters, and = append(filters, f), false
		}
	}
	if len(filters) == 0 {
		return nil, lex.ErrorAt(t.Pos, "there is no filter in %s", lex.QuoteText(lex.Clip(text)))
	}
	if depth > 0 || and {
		return nil, lex.ErrorAt(t.Pos, "the filter %s has no end", lex.QuoteText(lex.Clip(text)))
	}
	return filters, nil
}

func parseHBaseArgs(t lex.Token, name, text string) (args []hbaseArg, rest string, err error) {
	rest = strings.TrimLeft(text, " ")
	if !strings.HasPrefix(rest, "(") {
		return nil, "", lex.ErrorAt(t.Pos, "%s wants its arguments in brackets, as in %s('..')", name, name)
	}
	rest = rest[1:]
	if after, none := strings.CutPrefix(strings.TrimLeft(rest, " "), ")"); none {
		return nil, after, nil
	}
	for {
		m := hbaseFilterArg.FindStringSubmatch(rest)
		if m == nil {
			return nil, "", lex.ErrorAt(t.Pos, "%s is no argument of %s; text stands in ' quotes, and a bracket ends the list", lex.QuoteText(lex.Clip(rest)), name)
		}
		rest = rest[len(m[0]):]
		arg := hbaseArg{text: m[1]}
		if arg.quoted = m[1][0] == '\''; arg.quoted {
			arg.text = strings.ReplaceAll(m[1][1:len(m[1])-1], "''", "'")
		}
		args = append(args, arg)
		if m[2] == ")" {
			return args, rest, nil
		}
	}
}

// applyFilter puts what the filters mean into the options that mean the same.
func (p *parser) applyFilter(to *target) error {
	to.turnBounds()
	for _, f := range to.filters {
		apply := hbaseFilters[f.name]
		if apply == nil {
			return lex.ErrorAt(to.filterAt, "the filter %s is not known here; prefix=, regex=, columns=fam:/re/, since= and where COL == VALUE do what others do", lex.QuoteText(lex.Clip(f.name)))
		}
		if err := apply(f, to); err != nil {
			return &lex.Error{Pos: to.filterAt, Msg: err.Error()}
		}
	}
	return p.checkOptions(to)
}

// hbaseFilters are the filters that are known. What they are refused for has no
// place: that is the filter's.
var hbaseFilters = map[string]func(f hbaseFilter, to *target) error{
	"PrefixFilter": func(f hbaseFilter, to *target) error {
		return f.rows(to, "prefix", func(r *Rows, text string) { r.Prefix = text })
	},
	"InclusiveStopFilter": func(f hbaseFilter, to *target) error {
		if to.read.Reverse { // the row at which it stops is the first
			return f.rows(to, "start", func(r *Rows, text string) { r.Start = text })
		}
		return f.rows(to, "end", func(r *Rows, text string) { r.End = text + "\x00" })
	},
	"RowFilter":  rowFilter,
	"PageFilter": func(f hbaseFilter, to *target) error { return f.bound(to, "limit", &to.read.Limit) },
	"KeyOnlyFilter": func(f hbaseFilter, to *target) error {
		if to.rows == nil {
			return f.native("a get shows values; scan T keys=K keys-only shows keys")
		}
		return f.flag(to, "keys-only", &to.read.KeysOnly)
	},
	"FirstKeyOnlyFilter": func(f hbaseFilter, to *target) error {
		if len(f.args) > 0 {
			return f.native("it has no arguments")
		}
		return f.set(to, "cells", &to.read.CellsPerRow, 1)
	},
	"ColumnCountGetFilter": func(f hbaseFilter, to *target) error { return f.bound(to, "cells", &to.read.CellsPerRow) },
	"FamilyFilter":         familyFilter,
	"QualifierFilter":      qualifierFilter,
	"ColumnPrefixFilter": func(f hbaseFilter, to *target) error {
		return f.columns(to, f.texts(), func(c *Column, text string) { c.Kind, c.Qualifier = ColumnPrefix, text })
	},
	"MultipleColumnPrefixFilter": func(f hbaseFilter, to *target) error {
		return f.columns(to, f.texts(), func(c *Column, text string) { c.Kind, c.Qualifier = ColumnPrefix, text })
	},
	"ColumnRangeFilter":       columnRangeFilter,
	"SingleColumnValueFilter": columnValueFilter,
	"TimestampsFilter":        timestampsFilter,
	"ValueFilter": func(f hbaseFilter, _ *target) error {
		return f.native("where FAM:QUAL == VALUE chooses rows by a value")
	},
	"DependentColumnFilter": func(f hbaseFilter, _ *target) error {
		return f.native("where FAM:QUAL == VALUE chooses rows by a value")
	},
	"SingleColumnValueExcludeFilter": func(f hbaseFilter, _ *target) error {
		return f.native("where FAM:QUAL == VALUE chooses rows by a value, and columns= what is shown")
	},
	"ColumnPaginationFilter": func(f hbaseFilter, _ *target) error {
		return f.native("cells=N bounds the cells of each row, and columns=FAM:[a..b) the columns")
	},
}

// native is the error that a filter, as it stands, has no exact like.
func (f hbaseFilter) native(instead string) error {
	return fmt.Errorf("the filter %s has no exact like here; %s", f.name, instead)
}

// texts are the arguments when all are quoted, else nil.
func (f hbaseFilter) texts() (texts []string) {
	for _, a := range f.args {
		if !a.quoted {
			return nil
		}
		texts = append(texts, a.text)
	}
	return texts
}

// said notes the option that a filter becomes, which must not be there already.
func (f hbaseFilter) said(to *target, option string) error {
	if _, twice := to.seen[option]; twice {
		return fmt.Errorf("the filter %s says what %s says too; give one of them", f.name, option)
	}
	to.seen[option] = to.filterAt
	return nil
}

func (f hbaseFilter) rows(to *target, option string, set func(r *Rows, text string)) error {
	texts := f.texts()
	switch {
	case len(texts) != 1:
		return fmt.Errorf("the filter %s takes one text, as in %s('p')", f.name, f.name)
	case to.rows == nil:
		return f.native("a get has its keys; scan reads rows by prefix= and start= end=")
	}
	set(to.rows, texts[0])
	return f.said(to, option)
}

func (f hbaseFilter) bound(to *target, option string, field *int) error {
	n := 0
	if len(f.args) == 1 && !f.args[0].quoted {
		n, _ = strconv.Atoi(f.args[0].text)
	}
	switch {
	case n < 1:
		return fmt.Errorf("the filter %s takes a whole number from 1, as in %s(10)", f.name, f.name)
	case option == "limit" && to.rows == nil:
		return f.native("a get has its keys")
	}
	return f.set(to, option, field, n)
}

func (f hbaseFilter) set(to *target, option string, field *int, n int) error {
	*field = n
	return f.said(to, option)
}

func (f hbaseFilter) flag(to *target, option string, field *bool) error {
	*field = true
	return f.said(to, option)
}

// comparison takes the arguments (=, 'binary:text').
func (f hbaseFilter) comparison() (op, kind, text string, err error) {
	if len(f.args) < 2 || f.args[0].quoted || operators[f.args[0].text] == "" || !f.args[1].quoted {
		return "", "", "", fmt.Errorf("the filter %s takes a comparison and a text, as in %s(=, 'binary:x')", f.name, f.name)
	}
	kind, text, ok := strings.Cut(f.args[1].text, ":")
	if !ok {
		return "", "", "", fmt.Errorf("the filter %s wants binary:, binaryprefix:, substring: or regexstring: before %s", f.name, lex.QuoteText(lex.Clip(f.args[1].text)))
	}
	return operators[f.args[0].text], kind, text, nil
}

func rowFilter(f hbaseFilter, to *target) error {
	op, kind, text, err := f.comparison()
	switch {
	case err != nil:
		return err
	case to.rows == nil:
		return f.native("a get has its keys")
	case kind == "binaryprefix" && op == "==":
		to.rows.Prefix = text
		return f.said(to, "prefix")
	case kind == "binary" && op == "==":
		to.rows.Keys = []string{text}
		return f.said(to, "keys")
	case kind == "binary" && (op == "<" || op == "<="):
		if to.rows.End = text; op == "<=" {
			to.rows.End += "\x00"
		}
		return f.said(to, "end")
	case kind == "binary" && (op == ">" || op == ">="):
		if to.rows.Start = text; op == ">" {
			to.rows.Start += "\x00"
		}
		return f.said(to, "start")
	}
	expr, ok := unanchored(op, kind, text)
	if !ok {
		return f.native("regex=/RE/ takes the rows whose keys match")
	}
	to.read.Regex = &Pattern{to.filterAt, expr}
	return f.said(to, "regex")
}

// unanchored is a pattern that matches the whole of what HBase's comparator finds
// something in.
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

func familyFilter(f hbaseFilter, to *target) error {
	op, kind, text, err := f.comparison()
	switch {
	case err != nil:
		return err
	case op != "==" || kind != "binary" || text == "":
		return f.native("columns=FAM:*,FAM:* names the families")
	case len(to.read.Columns) > 0:
		return fmt.Errorf("the filter %s says what columns say too; give one of them", f.name)
	}
	to.read.Columns = []Column{{Pos: to.filterAt, Family: text, Kind: ColumnFamily}}
	return nil
}

func qualifierFilter(f hbaseFilter, to *target) error {
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
	return f.columns(to, []string{text}, change)
}

func columnRangeFilter(f hbaseFilter, to *target) error {
	if len(f.args) != 4 || !f.args[0].quoted || !f.args[2].quoted || f.args[1].quoted || f.args[3].quoted {
		return fmt.Errorf("the filter %s is written %s('a', true, 'b', false)", f.name, f.name)
	}
	start, end := f.args[0].text, f.args[2].text
	if strings.EqualFold(f.args[1].text, "false") {
		start += "\x00"
	}
	if strings.EqualFold(f.args[3].text, "true") {
		end += "\x00"
	}
	return f.columns(to, []string{""}, func(c *Column, _ string) { c.Kind, c.Start, c.End = ColumnRange, start, end })
}

// columns narrows the families that COLUMNS name, each to a column for every
// text. Columns belong to families here, so these have to be named.
func (f hbaseFilter) columns(to *target, texts []string, change func(c *Column, text string)) error {
	if len(texts) == 0 {
		return fmt.Errorf("the filter %s takes a text, as in %s('p')", f.name, f.name)
	}
	var narrowed []Column
	for _, c := range to.read.Columns {
		if c.Kind != ColumnFamily {
			return fmt.Errorf("the filter %s and a column that is named say what to read; give one of them", f.name)
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
	to.read.Columns = narrowed
	return nil
}

// columnValueFilter takes SingleColumnValueFilter('f','q',=,'binary:x',true,true).
func columnValueFilter(f hbaseFilter, to *target) error {
	if len(f.args) < 4 || !f.args[0].quoted || !f.args[1].quoted {
		return fmt.Errorf("the filter %s is written %s('family', 'qualifier', =, 'binary:x', true, true)", f.name, f.name)
	}
	op, kind, text, err := hbaseFilter{f.name, f.args[2:4]}.comparison()
	if err != nil {
		return err
	}
	c := Condition{
		Column: Column{Pos: to.filterAt, Family: f.args[0].text, Qualifier: f.args[1].text}, Op: op,
		Value: lex.Literal{Pos: to.filterAt, Text: text, Quoted: true, Loose: true},
	}
	native := "where " + c.String()
	switch {
	case kind != "binary":
		return f.native(native + " compares whole values")
	case len(f.args) != 6 || !strings.EqualFold(f.args[4].text, "true") || !strings.EqualFold(f.args[5].text, "true"):
		return f.native(native + " leaves out the rows without the column, as the filter does with , true, true at its end")
	}
	to.read.Where = append(to.read.Where, c)
	return nil
}

func timestampsFilter(f hbaseFilter, to *target) error {
	if len(f.args) != 1 || f.args[0].quoted {
		return f.native("since= and until= bound the times, and TimestampsFilter(T) takes one")
	}
	at, err := parseMillis(to.filterAt, f.args[0].text)
	if err != nil {
		return err
	}
	if err := f.said(to, "since"); err != nil {
		return err
	}
	if err := f.said(to, "until"); err != nil {
		return err
	}
	to.read.Since, to.read.Until = at, nextMilli(at)
	return nil
}
