package ql

import (
	"slices"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/query/ql/lex"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// An option is one NAME=VALUE, flag or clause of the statements that read or
// delete. The table below is the only place that knows their spellings:
// smolwc's own, and those of cbt, the HBase shell and Smoltable.
type option struct {
	name  string
	also  []string // foreign spellings, in lower case
	value string   // what help shows behind the =; "" for a flag or clause
	in    optionSet
	parse func(p *parser, to *target) error
	// foreign marks an option that smolwc writes otherwise.
	foreign bool
}

// An optionSet says which statements take an option.
type optionSet uint16

const (
	inGet optionSet = 1 << iota
	inScan
	inCount
	inDelete
	inHistogram
	inSparkline
	inExport
	inBackup
	inBackups
	inVerify
	inRestore
	inCompact
)

// A target is where options put what they read. Options that a statement does
// not take never reach fields that it does not have.
type target struct {
	rows   *Rows
	read   *Read
	cells  *bool // count's flags
	approx *bool
	yes    *bool
	draw   *drawing
	moving *moving
	seen   map[string]lex.Pos

	bounds   bool          // the rows have HBase's STARTROW or STOPROW
	filters  []hbaseFilter // of HBase's FILTER
	filterAt lex.Pos
}

// A drawing is what the statements that draw are told besides what to read.
type drawing struct {
	bins, depth, points int
	separator           string
}

// options is set by init: its parsers refer to it.
var options []*option

func init() {
	options = []*option{
		{name: "prefix", also: []string{"rowprefixfilter", "row.prefix", "rowprefix"}, value: "K", in: inExport | inScan | inCount | inDelete | inHistogram | inCompact, parse: (*parser).prefixOption},
		{name: "start", also: []string{"startrow", "row.start"}, value: "K", in: inExport | inScan | inCount | inDelete | inHistogram | inCompact, parse: keyOption(func(r *Rows) *string { return &r.Start })},
		{name: "end", also: []string{"stoprow", "endrow", "row.end"}, value: "K", in: inExport | inScan | inCount | inDelete | inHistogram | inCompact, parse: keyOption(func(r *Rows) *string { return &r.End })},
		{name: "after", value: "K", in: inExport | inScan | inCount | inHistogram, parse: keyOption(func(r *Rows) *string { return &r.After })},
		{name: "keys", value: "K,K,..", in: inExport | inScan | inCount | inHistogram, parse: (*parser).keysOption},
		{name: "regex", also: []string{"row.regex"}, value: "/RE/", in: inExport | inScan | inCount | inHistogram, parse: (*parser).regexOption},
		{name: "columns", also: []string{"column", "column.key", "column.multi_key"}, value: "FAM:QUAL,FAM:*,..", in: inExport | inGet | inScan | inCount, parse: (*parser).columnsOption},
		{name: "where", in: inExport | inScan | inCount | inHistogram, parse: (*parser).whereOption},
		{name: "versions", also: []string{"cells-per-column", "column.cell_limit"}, value: "N|all", in: inExport | inGet | inScan | inCount | inHistogram, parse: (*parser).versionsOption},
		{name: "cells", also: []string{"row.cell_limit"}, value: "N", in: inExport | inGet | inScan, parse: numberOption(1, func(r *Read) *int { return &r.CellsPerRow })},
		{name: "cells", in: inCount, parse: flagOption(func(to *target) *bool { return to.cells })},
		{name: "approx", in: inCount, parse: flagOption(func(to *target) *bool { return to.approx })},
		{name: "limit", also: []string{"count", "row.limit"}, value: "N", in: inExport | inScan | inHistogram, parse: (*parser).limitOption},
		{name: "offset", also: []string{"row.offset"}, value: "N", in: inExport | inScan, parse: numberOption(0, func(r *Read) *int { return &r.Offset })},
		{name: "since", value: "TS", in: inExport | inGet | inScan | inCount | inDelete | inHistogram | inSparkline, parse: timeOption(func(r *Read) **lex.Time { return &r.Since })},
		{name: "until", value: "TS", in: inExport | inGet | inScan | inCount | inDelete | inHistogram | inSparkline, parse: timeOption(func(r *Read) **lex.Time { return &r.Until })},
		{name: "timerange", value: "[TS,TS]", in: inGet | inScan | inCount, parse: (*parser).timeRangeOption, foreign: true},
		{name: "timestamp", value: "TS", in: inGet | inScan | inCount, parse: (*parser).timestampOption, foreign: true},
		{name: "reverse", also: []string{"reversed"}, in: inScan, parse: flagOption(func(to *target) *bool { return &to.read.Reverse })},
		{name: "keys-only", also: []string{"keys_only", "keysonly"}, in: inScan, parse: flagOption(func(to *target) *bool { return &to.read.KeysOnly })},
		{name: "sample", also: []string{"row.sample"}, value: "F", in: inExport | inScan | inCount | inHistogram, parse: (*parser).sampleOption},
		{name: "page", value: "TOKEN", in: inScan, parse: (*parser).pageOption},
		{name: "bins", value: "N", in: inHistogram, parse: drawOption(1, func(d *drawing) *int { return &d.bins })},
		{name: "depth", value: "N", in: inHistogram, parse: drawOption(1, func(d *drawing) *int { return &d.depth })},
		{name: "separator", value: "TEXT", in: inHistogram, parse: (*parser).separatorOption},
		{name: "points", value: "N", in: inSparkline, parse: drawOption(2, func(d *drawing) *int { return &d.points })},
		{name: "stats", in: inScan | inCount, parse: flagOption(func(to *target) *bool { return &to.read.Stats })},
		{name: "column.prefix", value: "FAM:PRE", in: inGet | inScan | inCount, parse: (*parser).columnPrefixOption, foreign: true},
		{name: "include-stats", value: "full", in: inGet | inScan, parse: (*parser).includeStatsOption, foreign: true},
		{name: "all_metrics", value: "true", in: inScan, parse: (*parser).metricsOption, foreign: true},
		{name: "filter", value: "\"PrefixFilter('p')\"", in: inGet | inScan | inCount, parse: (*parser).filterOption, foreign: true},
		{name: "as", value: strings.Join(Formats, "|"), in: inGet | inScan | inHistogram | inSparkline, parse: (*parser).formatOption},
		{name: "into", in: inGet | inScan, parse: (*parser).intoOption},
		{name: "overwrite", in: inGet | inScan, parse: flagOption(func(to *target) *bool { return &to.read.Overwrite })},
		{name: "yes", in: inDelete, parse: flagOption(func(to *target) *bool { return to.yes })},
	}
	options = append(options, movingOptions()...)
}

// Formats are the names that `as` takes.
var Formats = []string{"table", "line", "json", "jsonl", "csv", "tsv", "markdown", "cbt", "quiet"}

// findOption is the option of any statement with this spelling, nil if there is none.
func findOption(word string) *option { return findOptionIn(word, ^optionSet(0)) }

// isOption reports whether the word is an option of any statement, here or elsewhere.
func isOption(word string) bool {
	return findOption(word) != nil || slices.Contains(ignored, word) || foreignOptions[word] != ""
}

func findOptionIn(word string, in optionSet) *option {
	for _, o := range options {
		if o.in&in != 0 && (o.name == word || slices.Contains(o.also, word)) {
			return o
		}
	}
	return nil
}

// optionNames are smolwc's own names of the options in a set.
func optionNames(in optionSet) []string {
	var names []string
	for _, o := range options {
		if o.in&in != 0 && !o.foreign {
			names = append(names, o.name)
		}
	}
	return names
}

// options parses what is left of a statement. Braces and commas, which HBase
// writes, are optional punctuation.
func (p *parser) options(in optionSet, to *target) error {
	to.seen = map[string]lex.Pos{}
	braces := false
	for {
		for p.skipComma() {
		}
		p.wantOptions(in, to.seen)
		switch {
		case !braces && p.accept("{"):
			braces, p.foreign = true, true
			continue
		case braces && p.accept("}"):
			braces = false
			continue
		case braces && p.atEnd():
			return p.unexpected(`"}"`)
		case p.atEnd():
			return p.applyFilter(to)
		}
		if err := p.option(in, to); err != nil {
			return err
		}
	}
}

// wantOptions notes the options of a set that were not given.
func (p *parser) wantOptions(in optionSet, seen map[string]lex.Pos) {
	if p.wanted == nil {
		return
	}
	for _, o := range options {
		if _, given := seen[o.name]; o.in&in != 0 && !o.foreign && !given {
			p.wantOneOf(ExpectOption, o.word())
		}
	}
}

// word is the option as one begins to type it: "limit=", "reverse".
func (o *option) word() string {
	if o.value != "" && o.name != "as" {
		return o.name + "="
	}
	return o.name
}

// option parses one option.
func (p *parser) option(in optionSet, to *target) error {
	t := p.peek()
	o := findOptionIn(t.Keyword(), in)
	if o == nil && p.skipIgnored() {
		return nil
	}
	if o == nil {
		return p.unknownOption(in, to)
	}
	if first, twice := to.seen[o.name]; twice {
		return lex.ErrorAt(t.Pos, "%s is given twice, first at %s", o.name, first)
	}
	to.seen[o.name] = t.Pos
	switch t.Keyword() {
	case "startrow", "stoprow", "endrow":
		to.bounds = true
	}
	p.next()
	p.foreign = p.foreign || t.Keyword() != o.name || o.foreign
	if o.value != "" && o.name != "as" && !p.equals() {
		return p.unexpected("= behind %s, as in %s=%s", o.name, o.name, o.value)
	}
	return o.parse(p, to)
}

func (p *parser) unknownOption(in optionSet, to *target) error {
	t := p.peek()
	if word := t.Keyword(); word != "" {
		if hint := foreignOptions[word]; hint != "" && p.atOption(0) {
			return lex.ErrorAt(t.Pos, "there is no option %s; %s", t.Describe(), hint)
		}
		if findOption(word) != nil {
			return lex.ErrorAt(t.Pos, "%s takes no option %s; its options are %s", p.verb, word, strings.Join(optionNames(in), ", "))
		}
		if near := schema.DidYouMean(word, optionNames(in)); near != "" {
			return lex.ErrorAt(t.Pos, "%s has no option %s%s", p.verb, t.Describe(), near)
		}
	}
	if _, given := to.seen["columns"]; given && isColumn(t) {
		return lex.ErrorAt(t.Pos, "expected a comma before another column, as in columns=meta:model,%s", lex.Clip(t.Text))
	}
	return p.unexpected("an option of %s (%s) or the end", p.verb, strings.Join(optionNames(in), ", "))
}

// checkOptions refuses options that contradict each other.
func (p *parser) checkOptions(to *target) error {
	if at, ok := to.seen["page"]; ok && to.read.Limit == Unlimited {
		return lex.ErrorAt(at, "a page has a bound; limit= is how many rows it has, %d if not said", read.DefaultPageSize)
	}
	if at, ok := to.seen["approx"]; ok {
		for name := range to.seen {
			if !slices.Contains(estimated, name) {
				return lex.ErrorAt(at, "approx estimates what prefix=, start=, end= and columns= select, and %s needs an exact count", name)
			}
		}
	}
	if at, ok := to.seen["overwrite"]; ok && to.read != nil && to.read.Into == "" && to.moving == nil {
		return lex.ErrorAt(at, "overwrite goes with into, as in into 'rows.csv' overwrite")
	}
	if err := to.oneOf("give one of them", []string{"timestamp"}, []string{"timerange"}, []string{"since", "until"}); err != nil {
		return err
	}
	return to.oneOf("give a prefix, a start and end, or keys", []string{"prefix"}, []string{"start", "end"}, []string{"keys"})
}

// oneOf refuses options of several ways to say one thing.
func (to *target) oneOf(instead string, ways ...[]string) error {
	var given []string
	for _, way := range ways {
		for _, name := range way {
			if _, ok := to.seen[name]; !ok {
				continue
			}
			if len(given) > 0 && !slices.Contains(way, given[0]) {
				return lex.ErrorAt(to.seen[name], "%s cannot be joined with %s; %s", name, given[0], instead)
			}
			given = append(given, name)
		}
	}
	return nil
}

// estimated are the options of a count that go with approx.
var estimated = []string{"approx", "cells", "columns", "end", "prefix", "start"}

// intoOption takes the file that rows go to.
func (p *parser) intoOption(to *target) error {
	p.wantKind(ExpectFile)
	t := p.peek()
	name, err := p.text("a file, as in 'rows.csv'")
	if err == nil && name == "" {
		err = lex.ErrorAt(t.Pos, "the name of the file is empty")
	}
	to.read.Into = name
	return err
}

func numberOption(least int, field func(*Read) *int) func(*parser, *target) error {
	return func(p *parser, to *target) (err error) {
		*field(to.read), err = p.number("a number", least)
		return err
	}
}

// limitOption takes a number of rows; 0 is no limit.
func (p *parser) limitOption(to *target) error {
	n, err := p.number("a number of rows", 0)
	if to.read.Limit = n; n == 0 {
		to.read.Limit = Unlimited
	}
	return err
}

func drawOption(least int, field func(*drawing) *int) func(*parser, *target) error {
	return func(p *parser, to *target) (err error) {
		t := p.peek()
		if *field(to.draw), err = p.number("a number", least); err == nil && *field(to.draw) > maxDrawn {
			err = lex.ErrorAt(t.Pos, "expected a number up to %d, not %s", maxDrawn, t.Describe())
		}
		return err
	}
}

// maxDrawn is the most bins or points of a drawing, which are held in memory.
const maxDrawn = 1000

func (p *parser) separatorOption(to *target) (err error) {
	t := p.peek()
	if to.draw.separator, err = p.text("what ends a part of a key, as in #"); err == nil && to.draw.separator == "" {
		err = lex.ErrorAt(t.Pos, "the separator is empty")
	}
	return err
}

// pageOption takes a token, or "" for the first page.
func (p *parser) pageOption(to *target) error {
	p.wantText(ExpectText, `a token, or "" for the first page`)
	token, err := p.text(`a token, or "" for the first page`)
	to.read.Page = &token
	return err
}

func flagOption(field func(*target) *bool) func(*parser, *target) error {
	return func(p *parser, to *target) (err error) {
		*field(to), err = p.flag()
		return err
	}
}

func timeOption(field func(*Read) **lex.Time) func(*parser, *target) error {
	return func(p *parser, to *target) (err error) {
		*field(to.read), err = p.timeValue()
		return err
	}
}

// keyOption takes the bound of a range or a prefix, which may be empty.
func keyOption(field func(*Rows) *string) func(*parser, *target) error {
	return func(p *parser, to *target) (err error) {
		p.wantKind(ExpectKey)
		if p.atMark("(") {
			*field(to.rows), err = p.tupleKey()
			return err
		}
		*field(to.rows), err = p.text("a row key")
		return err
	}
}

// prefixOption takes a prefix of row keys, by bytes or by the elements of tuples.
func (p *parser) prefixOption(to *target) error {
	to.rows.TuplePrefix = p.atMark("(")
	return keyOption(func(r *Rows) *string { return &r.Prefix })(p, to)
}

func (p *parser) keysOption(to *target) error {
	brackets := p.accept("[")
	for {
		key, err := p.key()
		if err != nil {
			return err
		}
		to.rows.Keys = append(to.rows.Keys, key)
		if !p.listGoesOn() {
			break
		}
	}
	if brackets {
		return p.expect("]")
	}
	return nil
}

func (p *parser) columnsOption(to *target) (err error) {
	to.read.Columns, err = p.columnList()
	return err
}

// regexOption takes a pattern: between slashes, in quotes, or both.
func (p *parser) regexOption(to *target) error {
	p.wantText(ExpectText, "a pattern, as in /plane#.*/")
	t := p.peek()
	if t.Kind != lex.Word {
		return p.unexpected("a pattern, as in /plane#.*/")
	}
	p.next()
	expr, between := cutSlashes(t.Parts)
	switch first := t.Parts[0]; {
	case between || first.Quote != lex.Bare:
	case first.Text[0] == '/':
		return lex.ErrorAt(t.Pos, "a pattern ends with /, as in regex=/plane#.*/; quote one that begins with a / of its own")
	case first.Text[0] == '~' && t.Glued:
		return lex.ErrorAt(t.Pos, "a pattern stands behind regex=, without a ~; write regex=/%s/", lex.Printable(lex.Clip(expr[1:])))
	}
	to.read.Regex = &Pattern{t.Pos, expr}
	return nil
}

// sampleOption takes a share of the rows, more than 0 and less than 1.
func (p *parser) sampleOption(to *target) error {
	p.wantText(ExpectNumber, "a share of the rows, more than 0 and less than 1")
	t := p.peek()
	f, err := strconv.ParseFloat(t.BareText(), 64)
	if err != nil || !(f > 0 && f < 1) {
		return p.unexpected("a share of the rows, more than 0 and less than 1, as in 0.01")
	}
	to.read.Sample = f
	p.next()
	return nil
}

// versionsOption takes a number or all.
func (p *parser) versionsOption(to *target) (err error) {
	if p.acceptWord("all") {
		to.read.Versions = Unlimited
		return nil
	}
	to.read.Versions, err = p.number("a number of versions, or all", 1)
	return err
}

func (p *parser) formatOption(to *target) error {
	p.wantOneOf(ExpectChoice, Formats...)
	t := p.peek()
	if near := schema.DidYouMean(t.Keyword(), Formats); near != "" && !slices.Contains(Formats, t.Keyword()) {
		return lex.ErrorAt(t.Pos, "expected a format, not %s%s", t.Describe(), near)
	}
	if !slices.Contains(Formats, t.Keyword()) {
		return lex.ErrorAt(t.Pos, "expected a format, not %s; the formats are %s", t.Describe(), strings.Join(Formats, ", "))
	}
	to.read.Format = t.Keyword()
	p.next()
	return nil
}

// whereOption parses COL OP LIT [and ..], COL exists and COL absent.
func (p *parser) whereOption(to *target) error {
	for {
		c, err := p.condition()
		if err != nil {
			return err
		}
		to.read.Where = append(to.read.Where, c)
		if p.accept("&&") {
			p.foreign = true
		} else if p.peek().Keyword() == "or" || p.atMark("||") {
			return lex.ErrorAt(p.peek().Pos, "conditions are joined by and, not by or; run a statement for each")
		} else if !p.acceptWord("and") {
			return nil
		}
	}
}

// operators maps every spelling of a comparison to its own.
var operators = map[string]string{"=": "==", "==": "==", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}

func (p *parser) condition() (c Condition, err error) {
	if c.Column, err = p.exactColumn(); err != nil {
		return c, err
	}
	p.wantOneOf(ExpectKeyword, "==", "!=", "<", "<=", ">", ">=", "exists", "absent")
	t := p.peek()
	if w := t.Keyword(); w == "exists" || w == "absent" {
		c.Op = w
		p.next()
		return c, nil
	}
	if err = p.checkOperator(); err != nil {
		return c, err
	}
	if c.Op = operators[t.Text]; t.Kind != lex.Mark || c.Op == "" {
		return c, p.unexpected("a comparison (== != < <= > >=, exists, absent)")
	}
	p.next()
	if w := p.peek().Keyword(); w == "null" || w == "nil" {
		return c, lex.ErrorAt(p.peek().Pos, "there is no %s; write %s absent or %s exists, or quote the text", w, c.Column, c.Column)
	}
	var at *lex.Time
	if c.Value, at, err = p.literal(); err == nil && at != nil {
		err = lex.ErrorAt(at.Pos, "a value to compare with has no timestamp; use since= and until=")
	}
	return c, err
}
