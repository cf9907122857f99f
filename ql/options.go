package ql

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/ql/dialect"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// An option is one NAME=VALUE, flag or clause of the statements that read, delete,
// draw, import, export and back up. The table below is the only place with their
// spellings: smolwc's own, cbt's, the HBase shell's and Smoltable's.
type option struct {
	name  string
	also  []string // foreign spellings, in lower case
	value string   // the text of help after the =; "" for a flag or clause
	in    optionSet
	parse func(p *parser, to *target)
	// foreign marks an option that smolwc writes in another form.
	foreign bool
}

// An optionSet says which statements take an option.
type optionSet uint32

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
	inImport
	inAggregate
	inChange // put and delete of the rows that conditions select
	inCopy
	inDiff
	inWatch
	inHotKeys
	inSample
	inRestoreTable
	inWhy
	inWhyNot
)

// A target is where options store their values. A field that the statement does not
// need is nil.
type target struct {
	rows *Rows
	read *Read

	aggregate *Aggregate

	seen map[string]lex.Pos // the options given so far

	cells, approx *bool // of count
	yes, dryRun   *bool
	overwrite     *bool

	most                *int // of sample
	bins, depth, points *int // of the statements that draw
	separator           *string

	to, from, as, bytes *string // of export and the statements about backups
	renamedTable        *Name   // of restore table
	moment              **lex.Time
	samples             *int // of verify
	wide                *[]Mapping
	allWide             *bool
	keep                *int
	travel              *Travel
	load                *Import
	renamed             *[]CopiedColumn
	overlap, values     *bool
	token               *string

	bounds   bool             // the rows have HBase's STARTROW or STOPROW
	filters  []dialect.Filter // of HBase's FILTER
	filterAt lex.Pos
}

// options is set by init: its parsers refer to it.
var options []*option

func init() {
	options = []*option{
		{name: "prefix", also: []string{"rowprefixfilter", "row.prefix", "rowprefix"}, value: "K", in: inCopy | inDiff | inWatch | inAggregate | inChange | inExport | inScan | inSample | inCount | inDelete | inHistogram | inCompact, parse: (*parser).prefixOption},
		{name: "start", also: []string{"startrow", "row.start"}, value: "K", in: inCopy | inDiff | inWatch | inAggregate | inChange | inExport | inScan | inSample | inCount | inDelete | inHistogram | inCompact, parse: func(p *parser, to *target) { to.rows.Start = p.keyBound() }},
		{name: "end", also: []string{"stoprow", "endrow", "row.end"}, value: "K", in: inCopy | inDiff | inWatch | inAggregate | inChange | inExport | inScan | inSample | inCount | inDelete | inHistogram | inCompact, parse: func(p *parser, to *target) { to.rows.End = p.keyBound() }},
		{name: "after", value: "K", in: inCopy | inDiff | inAggregate | inChange | inExport | inScan | inSample | inCount | inHistogram, parse: func(p *parser, to *target) { to.rows.After = p.keyBound() }},
		{name: "keys", value: "K,K,..", in: inCopy | inDiff | inAggregate | inChange | inExport | inScan | inSample | inCount | inHistogram, parse: (*parser).keysOption},
		{name: "regex", also: []string{"row.regex"}, value: "/RE/", in: inCopy | inDiff | inAggregate | inChange | inExport | inScan | inSample | inCount | inHistogram, parse: (*parser).regexOption},
		{name: "columns", also: []string{"column", "column.key", "column.multi_key"}, value: "FAM:QUAL,FAM:*,..", in: inDiff | inExport | inGet | inScan | inSample | inCount, parse: func(p *parser, to *target) { to.read.Columns = p.columnList() }},
		{name: "where", in: inWhyNot | inCopy | inAggregate | inChange | inExport | inScan | inSample | inCount | inHistogram, parse: (*parser).whereOption},
		{name: "versions", also: []string{"cells-per-column", "column.cell_limit"}, value: "N|all", in: inCopy | inDiff | inExport | inGet | inScan | inSample | inCount | inHistogram, parse: (*parser).versionsOption},
		{name: "cells", also: []string{"row.cell_limit"}, value: "N", in: inExport | inGet | inScan | inSample, parse: func(p *parser, to *target) { to.read.CellsPerRow = p.number("a number", 1) }},
		{name: "cells", in: inCount, parse: func(p *parser, to *target) { *to.cells = p.flag() }},
		{name: "approx", in: inCount, parse: func(p *parser, to *target) { *to.approx = p.flag() }},
		{name: "limit", also: []string{"count", "row.limit"}, value: "N", in: inDiff | inWatch | inHotKeys | inCopy | inExport | inScan | inHistogram, parse: (*parser).limitOption},
		{name: "limit", value: "N", in: inSample, parse: func(p *parser, to *target) { *to.most = p.upTo(1, maxSample) }, foreign: true}, // as in scan
		{name: "offset", also: []string{"row.offset"}, value: "N", in: inExport | inScan, parse: func(p *parser, to *target) { to.read.Offset = p.number("a number", 0) }},
		{name: "since", value: "TS", in: inCopy | inDiff | inWatch | inHotKeys | inAggregate | inExport | inGet | inScan | inSample | inCount | inDelete | inHistogram | inSparkline, parse: func(p *parser, to *target) { to.read.Since = p.timeValue() }},
		{name: "until", value: "TS", in: inCopy | inDiff | inWatch | inHotKeys | inAggregate | inExport | inGet | inScan | inSample | inCount | inDelete | inHistogram | inSparkline, parse: func(p *parser, to *target) { to.read.Until = p.timeValue() }},
		{name: "timerange", value: "[TS,TS]", in: inGet | inScan | inCount, parse: (*parser).timeRangeOption, foreign: true},
		{name: "timestamp", value: "TS", in: inGet | inScan | inCount, parse: (*parser).timestampOption, foreign: true},
		{name: "reverse", also: []string{"reversed"}, in: inScan, parse: func(p *parser, to *target) { to.read.Reverse = p.flag() }},
		{name: "keys-only", also: []string{"keys_only", "keysonly"}, in: inScan | inSample, parse: func(p *parser, to *target) { to.read.KeysOnly = p.flag() }},
		{name: "sample", also: []string{"row.sample"}, value: "F", in: inCopy | inAggregate | inExport | inScan | inCount | inHistogram, parse: (*parser).sampleOption},
		{name: "page", value: "TOKEN", in: inScan, parse: (*parser).pageOption},
		{name: "bins", value: "N", in: inHistogram, parse: func(p *parser, to *target) { *to.bins = p.drawn(1) }},
		{name: "depth", value: "N", in: inHistogram, parse: func(p *parser, to *target) { *to.depth = p.drawn(1) }},
		{name: "separator", value: "TEXT", in: inHistogram, parse: func(p *parser, to *target) {
			*to.separator = p.filled("what ends a part of a key, as in #", "the separator")
		}},
		{name: "points", value: "N", in: inSparkline, parse: func(p *parser, to *target) { *to.points = p.drawn(2) }},
		{name: "stats", in: inScan | inCount, parse: func(p *parser, to *target) { to.read.Stats = p.flag() }},
		{name: "column.prefix", value: "FAM:PRE", in: inGet | inScan | inCount, parse: (*parser).columnPrefixOption, foreign: true},
		{name: "include-stats", value: "full", in: inGet | inScan, parse: func(p *parser, to *target) { _, to.read.Stats = p.text("full"), true }, foreign: true},
		{name: "all_metrics", in: inScan, parse: func(p *parser, to *target) { to.read.Stats = p.flag() }, foreign: true},
		{name: "filter", value: "\"PrefixFilter('p')\"", in: inGet | inScan | inCount, parse: (*parser).filterOption, foreign: true},
		{name: "as", value: strings.Join(Formats, "|"), in: inWhy | inDiff | inWatch | inHotKeys | inAggregate | inGet | inScan | inSample | inHistogram | inSparkline, parse: (*parser).formatOption},
		{name: "into", in: inGet | inScan | inSample, parse: (*parser).intoOption},
		{name: "group", in: inAggregate, parse: (*parser).groupOption},
		{name: "top", in: inAggregate, parse: (*parser).topOption},
		{name: "columns", value: "COL [as COL],..", in: inCopy, parse: (*parser).renamedOption},
		{name: "overlap", in: inCopy, parse: func(p *parser, to *target) { *to.overlap = p.flag() }},
		{name: "values", in: inDiff, parse: func(p *parser, to *target) { *to.values = p.flag() }},
		{name: "token", value: "TOKEN", in: inWatch, parse: func(p *parser, to *target) { *to.token = p.filled("a token, as in the output in jsonl", "the token") }},
		{name: "dry-run", in: inChange | inImport, parse: func(p *parser, to *target) { *to.dryRun = p.flag() }},
		{name: "yes", in: inDelete | inChange, parse: func(p *parser, to *target) { *to.yes = p.flag() }},

		{name: "to", in: inExport, parse: func(p *parser, to *target) { *to.to = p.file("a file, as in 'fleet.parquet'") }},
		{name: "to", in: inBackup, parse: func(p *parser, to *target) { *to.to = p.file(place) }},
		{name: "to", in: inRestore, parse: func(p *parser, to *target) { *to.to = p.file("a directory, as in 'restored'") }},
		{name: "as", value: "T", in: inRestoreTable, parse: func(p *parser, to *target) { *to.renamedTable = p.name("a table") }},
		{name: "from", in: inRestore | inRestoreTable, parse: func(p *parser, to *target) { *to.from = p.file(place) }},
		{name: "sample", value: "N", in: inVerify, parse: func(p *parser, to *target) { *to.samples = p.number("how many random moments are restored", 1) }},
		{name: "at", in: inRestore | inRestoreTable, parse: func(p *parser, to *target) { *to.moment = p.timeValue() }},
		{name: "in", in: inBackups | inVerify, parse: func(p *parser, to *target) { *to.from = p.file(place) }},
		{name: "as", value: strings.Join(ExportFormats, "|"), in: inExport, parse: func(p *parser, to *target) { *to.as = p.oneWord("a format", ExportFormats...) }},
		{name: "as", value: strings.Join(ImportFormats, "|"), in: inImport, parse: func(p *parser, to *target) { *to.as = p.oneWord("a format", ImportFormats...) }},
		{name: "wide", value: "FAM:QUAL[=FIELD[:TYPE]],..|*", in: inExport, parse: (*parser).wideOption},
		{name: "bytes", value: strings.Join(BytesForms, "|"), in: inExport, parse: func(p *parser, to *target) { *to.bytes = p.oneWord("a form", BytesForms...) }},
		{name: "overwrite", in: inExport | inGet | inRestore | inScan | inSample, parse: func(p *parser, to *target) { *to.overwrite = p.flag() }},
		{name: "keep", value: "N", in: inBackup, parse: func(p *parser, to *target) { *to.keep = p.number("a number", 1) }},
		{name: "parallel", value: "N", in: inBackup | inRestore | inRestoreTable | inVerify, parse: func(p *parser, to *target) { to.travel.Parallel = p.number("a number", 1) }},
		{name: "rate", value: "SIZE", in: inBackup | inRestore | inRestoreTable | inVerify, parse: (*parser).rateOption},

		{name: "key", value: "TEMPLATE", in: inImport, parse: func(p *parser, to *target) {
			to.load.Key = p.filled("a template, as in 'plane#{tailnum}'", "the key's template")
		}},
		{name: "columns", value: "FAM:QUAL=FIELD[:TYPE],..", in: inImport, parse: (*parser).mappingsOption},
		{name: "ts", value: "FIELD", in: inImport, parse: func(p *parser, to *target) { to.load.Timestamp = p.text("the field that holds the timestamp") }},
		{name: "na", value: "TEXT", in: inImport, parse: func(p *parser, to *target) { to.load.NA = p.text("the text that stands for no value") }},
		{name: "keep-empty", in: inImport, parse: func(p *parser, to *target) { to.load.KeepEmpty = p.flag() }},
		{name: "sep", also: []string{"delimiter", "delim", "separator"}, value: "TEXT", in: inImport, parse: (*parser).separatorOption},
		{name: "quote", value: "CHAR|none", in: inImport, parse: func(p *parser, to *target) {
			to.load.Written.Quote = p.filled("the quote, or none", "the quote")
		}},
		{name: "header", in: inImport, parse: func(p *parser, to *target) { p.headerOption(to, "yes", "no") }},
		{name: "no-header", in: inImport, parse: func(p *parser, to *target) { p.headerOption(to, "no", "yes") }},
		{name: "skip", value: "N", in: inImport, parse: (*parser).skipOption},
		{name: "comment", value: "TEXT|none", in: inImport, parse: func(p *parser, to *target) {
			to.load.Written.Comment = p.filled("what begins a comment, or none", "the comment's beginning")
		}},
		{name: "decimal", value: "','", in: inImport, parse: func(p *parser, to *target) { to.load.Written.Decimal = p.text("',' or '.'") }},
		{name: "encoding", value: strings.Join(ImportEncodings, "|"), in: inImport, parse: func(p *parser, to *target) {
			to.load.Written.Encoding = p.oneWord("an encoding", ImportEncodings...)
		}},
		{name: "ragged", in: inImport, parse: func(p *parser, to *target) { to.load.Written.Ragged = p.flag() }},
		{name: "bad", value: "FILE", in: inImport, parse: func(p *parser, to *target) { to.load.Bad = p.file("a new file for the bad lines, as in 'bad.csv'") }},
		{name: "bad-lines", also: []string{"bad_lines"}, value: "N", in: inImport, parse: func(p *parser, to *target) { to.load.BadLines = p.number("how many bad lines to tolerate", 0) }},
		{name: "batch", value: "N", in: inImport, parse: func(p *parser, to *target) { to.load.Batch = p.number("how many rows to write at once", 1) }},
		{name: "again", in: inImport, parse: func(p *parser, to *target) { to.load.Again = p.flag() }},
		{name: "overlap", in: inImport, parse: func(p *parser, to *target) { to.load.Overlap = p.flag() }},
	}
}

const place = "a directory or s3://BUCKET/PREFIX, in quotes"

// Formats are the names that `as` takes.
var Formats = []string{"table", "line", "json", "jsonl", "csv", "tsv", "markdown", "cbt", "quiet"}

// formatOption takes a format. as of is how other languages read a table as of a time.
func (p *parser) formatOption(to *target) {
	if t := p.peek(); t.Keyword() == "of" {
		panic(lex.ErrorAt(t.Pos, "there is no as of; until=TS shows the newest cells before a time"))
	}
	to.read.Format = p.oneWord("a format", Formats...)
}

// findOption returns the option of any statement with this spelling, or nil.
func findOption(word string) *option { return findOptionIn(word, ^optionSet(0)) }

// isOption reports whether the word is an option of any statement, of smolwc or of
// another system.
func isOption(word string) bool {
	return findOption(word) != nil || dialect.IsIgnored(word) || dialect.InsteadOfOption(word) != ""
}

func findOptionIn(word string, in optionSet) *option {
	for _, o := range options {
		if o.in&in != 0 && (o.name == word || slices.Contains(o.also, word)) {
			return o
		}
	}
	return nil
}

// optionNames returns smolwc's own names of the options in a set.
func optionNames(in optionSet) []string {
	var names []string
	for _, o := range options {
		if o.in&in != 0 && !o.foreign {
			names = append(names, o.name)
		}
	}
	return names
}

// options parses the rest of a statement. Braces and commas, as in HBase, are optional
// punctuation.
func (p *parser) options(in optionSet, to *target) {
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
			panic(p.unexpected(`"}"`))
		case p.atEnd():
			p.applyFilter(to)
			return
		}
		p.option(in, to)
	}
}

// wantOptions records the options of a set that were not given.
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

// word returns the first part of the option as a user types it: "limit=", "reverse".
func (o *option) word() string {
	if o.value != "" && o.name != "as" {
		return o.name + "="
	}
	return o.name
}

func (p *parser) option(in optionSet, to *target) {
	t := p.peek()
	o := findOptionIn(t.Keyword(), in)
	if o == nil && p.skipIgnored() {
		return
	}
	if o == nil {
		panic(p.unknownOption(in, to))
	}
	if first, twice := to.seen[o.name]; twice {
		panic(lex.ErrorAt(t.Pos, "%s is given twice, first at %s", o.name, first))
	}
	to.seen[o.name] = t.Pos
	switch t.Keyword() {
	case "startrow", "stoprow", "endrow":
		to.bounds = true
	}
	p.next()
	p.foreign = p.foreign || t.Keyword() != o.name || o.foreign
	if o.value != "" && o.name != "as" && !p.equals() {
		panic(p.unexpected("= after %s, as in %s=%s", o.name, o.name, o.value))
	}
	o.parse(p, to)
}

func (p *parser) unknownOption(in optionSet, to *target) *lex.Error {
	t := p.peek()
	if word := t.Keyword(); word != "" {
		if hint := dialect.InsteadOfOption(word); hint != "" && p.atOption(0) {
			return lex.ErrorAt(t.Pos, "there is no option %s; %s", t.Describe(), hint)
		}
		if hint := dialect.InsteadOfClause(word); hint != "" && !p.atOption(0) {
			return lex.ErrorAt(t.Pos, "%s takes no %s; %s", p.verb, word, hint)
		}
		if p.verb == "get" && slices.Contains([]string{"limit", "offset", "page"}, word) {
			return lex.ErrorAt(t.Pos, "get takes no option %s; a long row is read in parts with columns=FAM:[a..) cells=N, where a is the qualifier to go on at", word)
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
func (p *parser) checkOptions(to *target) {
	if at, ok := to.seen["page"]; ok && to.read.Limit == Unlimited {
		panic(lex.ErrorAt(at, "a page has a bound; limit= sets its number of rows, %d by default", read.DefaultPageSize))
	}
	if at, ok := to.seen["approx"]; ok {
		for name := range to.seen {
			if !slices.Contains(estimated, name) {
				panic(lex.ErrorAt(at, "approx estimates what prefix=, start=, end= and columns= select, and %s needs an exact count", name))
			}
		}
	}
	if at, ok := to.seen["overwrite"]; ok && to.to == nil && to.read.Into == "" {
		panic(lex.ErrorAt(at, "overwrite goes with into, as in into 'rows.csv' overwrite"))
	}
	to.oneOf("give one of them", []string{"timestamp"}, []string{"timerange"}, []string{"since", "until"})
	to.oneOf("give a prefix, a start and end, or keys", []string{"prefix"}, []string{"start", "end"}, []string{"keys"})
}

// oneOf refuses options from more than one of several alternative ways.
func (to *target) oneOf(instead string, ways ...[]string) {
	var given []string
	for _, way := range ways {
		for _, name := range way {
			if _, ok := to.seen[name]; !ok {
				continue
			}
			if len(given) > 0 && !slices.Contains(way, given[0]) {
				panic(lex.ErrorAt(to.seen[name], "%s cannot be joined with %s; %s", name, given[0], instead))
			}
			given = append(given, name)
		}
	}
}

// estimated are the options of count that approx allows.
var estimated = []string{"approx", "cells", "columns", "end", "prefix", "start"}
