package ql

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/query/ql/dialect"
	"github.com/smolwc/smolwc/query/ql/lex"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// An option is one NAME=VALUE, flag or clause of the statements that read, delete,
// draw, import, export and back up. Only the table below has their spellings: smolwc's
// own, and those of cbt, the HBase shell and Smoltable.
type option struct {
	name  string
	also  []string // foreign spellings, in lower case
	value string   // what help shows after the =; "" for a flag or clause
	in    optionSet
	parse func(p *parser, to *target) error
	// foreign marks an option that has another form in smolwc.
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
	inImport
)

// A target is where options store their values. A field that the statement does not
// need is nil.
type target struct {
	rows *Rows
	read *Read
	seen map[string]lex.Pos // the options given so far

	cells, approx *bool // of count
	yes           *bool
	overwrite     *bool

	bins, depth, points *int // of the statements that draw
	separator           *string

	to, from, as, bytes *string // of export and the statements about backups
	wide                *[]Field
	keep                *int
	travel              *Travel
	load                *Import

	bounds   bool             // the rows have HBase's STARTROW or STOPROW
	filters  []dialect.Filter // of HBase's FILTER
	filterAt lex.Pos
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
		{name: "cells", also: []string{"row.cell_limit"}, value: "N", in: inExport | inGet | inScan, parse: numberOption("a number", 1, func(to *target) *int { return &to.read.CellsPerRow })},
		{name: "cells", in: inCount, parse: flagOption(func(to *target) *bool { return to.cells })},
		{name: "approx", in: inCount, parse: flagOption(func(to *target) *bool { return to.approx })},
		{name: "limit", also: []string{"count", "row.limit"}, value: "N", in: inExport | inScan | inHistogram, parse: (*parser).limitOption},
		{name: "offset", also: []string{"row.offset"}, value: "N", in: inExport | inScan, parse: numberOption("a number", 0, func(to *target) *int { return &to.read.Offset })},
		{name: "since", value: "TS", in: inExport | inGet | inScan | inCount | inDelete | inHistogram | inSparkline, parse: timeOption(func(r *Read) **lex.Time { return &r.Since })},
		{name: "until", value: "TS", in: inExport | inGet | inScan | inCount | inDelete | inHistogram | inSparkline, parse: timeOption(func(r *Read) **lex.Time { return &r.Until })},
		{name: "timerange", value: "[TS,TS]", in: inGet | inScan | inCount, parse: (*parser).timeRangeOption, foreign: true},
		{name: "timestamp", value: "TS", in: inGet | inScan | inCount, parse: (*parser).timestampOption, foreign: true},
		{name: "reverse", also: []string{"reversed"}, in: inScan, parse: flagOption(func(to *target) *bool { return &to.read.Reverse })},
		{name: "keys-only", also: []string{"keys_only", "keysonly"}, in: inScan, parse: flagOption(func(to *target) *bool { return &to.read.KeysOnly })},
		{name: "sample", also: []string{"row.sample"}, value: "F", in: inExport | inScan | inCount | inHistogram, parse: (*parser).sampleOption},
		{name: "page", value: "TOKEN", in: inScan, parse: (*parser).pageOption},
		{name: "bins", value: "N", in: inHistogram, parse: drawOption(1, func(to *target) *int { return to.bins })},
		{name: "depth", value: "N", in: inHistogram, parse: drawOption(1, func(to *target) *int { return to.depth })},
		{name: "separator", value: "TEXT", in: inHistogram, parse: (*parser).separatorOption},
		{name: "points", value: "N", in: inSparkline, parse: drawOption(2, func(to *target) *int { return to.points })},
		{name: "stats", in: inScan | inCount, parse: flagOption(func(to *target) *bool { return &to.read.Stats })},
		{name: "column.prefix", value: "FAM:PRE", in: inGet | inScan | inCount, parse: (*parser).columnPrefixOption, foreign: true},
		{name: "include-stats", value: "full", in: inGet | inScan, parse: (*parser).includeStatsOption, foreign: true},
		{name: "all_metrics", in: inScan, parse: flagOption(func(to *target) *bool { return &to.read.Stats }), foreign: true},
		{name: "filter", value: "\"PrefixFilter('p')\"", in: inGet | inScan | inCount, parse: (*parser).filterOption, foreign: true},
		{name: "as", value: strings.Join(Formats, "|"), in: inGet | inScan | inHistogram | inSparkline, parse: choiceOption("a format", Formats, func(to *target) *string { return &to.read.Format })},
		{name: "into", in: inGet | inScan, parse: (*parser).intoOption},
		{name: "yes", in: inDelete, parse: flagOption(func(to *target) *bool { return to.yes })},

		{name: "to", in: inExport, parse: fileOption("a file, as in 'fleet.parquet'", func(to *target) *string { return to.to })},
		{name: "to", in: inBackup, parse: fileOption(place, func(to *target) *string { return to.to })},
		{name: "to", in: inRestore, parse: fileOption("a directory, as in 'restored'", func(to *target) *string { return to.to })},
		{name: "from", in: inRestore, parse: fileOption(place, func(to *target) *string { return to.from })},
		{name: "in", in: inBackups | inVerify, parse: fileOption(place, func(to *target) *string { return to.from })},
		{name: "as", value: strings.Join(ExportFormats, "|"), in: inExport, parse: choiceOption("a format", ExportFormats, func(to *target) *string { return to.as })},
		{name: "wide", value: "FAM:QUAL[=FIELD[:TYPE]],..", in: inExport, parse: (*parser).wideOption},
		{name: "bytes", value: strings.Join(BytesForms, "|"), in: inExport, parse: choiceOption("a form", BytesForms, func(to *target) *string { return to.bytes })},
		{name: "overwrite", in: inExport | inGet | inRestore | inScan, parse: flagOption(func(to *target) *bool { return to.overwrite })},
		{name: "keep", value: "N", in: inBackup, parse: numberOption("a number", 1, func(to *target) *int { return to.keep })},
		{name: "parallel", value: "N", in: inBackup | inRestore | inVerify, parse: numberOption("a number", 1, func(to *target) *int { return &to.travel.Parallel })},
		{name: "rate", value: "SIZE", in: inBackup | inRestore | inVerify, parse: (*parser).rateOption},

		{name: "key", value: "TEMPLATE", in: inImport, parse: (*parser).templateOption},
		{name: "columns", value: "FAM:QUAL=FIELD[:TYPE],..", in: inImport, parse: (*parser).mappingsOption},
		{name: "ts", value: "FIELD", in: inImport, parse: textOption("the field that holds the timestamp", func(to *target) *string { return &to.load.Timestamp })},
		{name: "na", value: "TEXT", in: inImport, parse: textOption("the text that stands for no value", func(to *target) *string { return &to.load.NA })},
		{name: "bad-lines", also: []string{"bad_lines"}, value: "N", in: inImport, parse: numberOption("how many bad lines to tolerate", 0, func(to *target) *int { return &to.load.BadLines })},
		{name: "batch", value: "N", in: inImport, parse: numberOption("how many rows to write at once", 1, func(to *target) *int { return &to.load.Batch })},
		{name: "again", in: inImport, parse: flagOption(func(to *target) *bool { return &to.load.Again })},
		{name: "overlap", in: inImport, parse: flagOption(func(to *target) *bool { return &to.load.Overlap })},
	}
}

const place = "a directory or s3://BUCKET/PREFIX, in quotes"

// Formats are the names that `as` takes.
var Formats = []string{"table", "line", "json", "jsonl", "csv", "tsv", "markdown", "cbt", "quiet"}

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
		return p.unexpected("= after %s, as in %s=%s", o.name, o.name, o.value)
	}
	return o.parse(p, to)
}

func (p *parser) unknownOption(in optionSet, to *target) error {
	t := p.peek()
	if word := t.Keyword(); word != "" {
		if hint := dialect.InsteadOfOption(word); hint != "" && p.atOption(0) {
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
		return lex.ErrorAt(at, "a page has a bound; limit= sets its number of rows, %d by default", read.DefaultPageSize)
	}
	if at, ok := to.seen["approx"]; ok {
		for name := range to.seen {
			if !slices.Contains(estimated, name) {
				return lex.ErrorAt(at, "approx estimates what prefix=, start=, end= and columns= select, and %s needs an exact count", name)
			}
		}
	}
	if at, ok := to.seen["overwrite"]; ok && to.to == nil && to.read.Into == "" {
		return lex.ErrorAt(at, "overwrite goes with into, as in into 'rows.csv' overwrite")
	}
	if err := to.oneOf("give one of them", []string{"timestamp"}, []string{"timerange"}, []string{"since", "until"}); err != nil {
		return err
	}
	return to.oneOf("give a prefix, a start and end, or keys", []string{"prefix"}, []string{"start", "end"}, []string{"keys"})
}

// oneOf refuses options from more than one of several alternative ways.
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

// estimated are the options of count that approx allows.
var estimated = []string{"approx", "cells", "columns", "end", "prefix", "start"}
