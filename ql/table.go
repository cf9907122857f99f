package ql

import (
	"slices"
	"time"

	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/schema"
)

var createVerb = verb{
	name: "create", parse: parseCreate,
	foreign: []spelling{{"createtable", parseCreateTable}},
	help: helpTopic{
		summary:  "make a table",
		syntax:   "create table [if not exists] T [like OTHER] [key_format=plain|tuple] [retention=exact|lazy] [change_stream=AGE] family F [type=TYPE] [max_versions=N] [max_age=AGE] [drop=either|both] [aggregate=sum|min|max|hll] [, family ...]",
		text:     "Types: bytes string bool byte i32 i64 f32 f64; any, the default, lets each cell carry its own.\nmax_versions= keeps the newest N cells of a column, max_age= those younger than an age such as 36h, 30d, 2w;\nwith drop=both a cell is dropped only when both say so. key_format=tuple shows keys as tuples. With retention=lazy\nsurplus versions stay visible until gc, and reads need not count them.\nchange_stream=7d keeps the table's changes, for 1d to 7d, so that programs can read them: see docs/changes.md.\nlike takes the families and settings of another table, but not its change stream; families that follow are added.\naggregate= makes a family whose cells are added to: see help add.",
		examples: []string{"create table planes family meta max_versions=3, family flight max_age=365d, family delay type=i32, family total aggregate=sum", "create table if not exists planes like fleet"},
	},
}

// CreateTable makes a table.
type CreateTable struct {
	Node
	Table       Name
	IfNotExists bool // do nothing if there is a table of that name
	Like        Name // the table whose families and settings it gets; "": no table
	TableOptions
	Families []Family
}

// TableOptions are the settings of a table as a whole.
type TableOptions struct {
	KeyFormat *schema.KeyFormat   // nil: not given
	Retention *schema.Enforcement // nil: not given
	Changes   *time.Duration      // how long changes are kept; nil: not given; 0: not kept
}

func (st *CreateTable) print(w *printer) {
	w.words("create table")
	w.flag("if not exists", st.IfNotExists)
	w.words(lex.QuoteName(st.Table.Text))
	if st.Like.Text != "" {
		w.words("like", lex.QuoteName(st.Like.Text))
	}
	st.TableOptions.print(w)
	w.flag(listWith(", ", st.Families, func(f Family) string { return "family " + f.String() }), len(st.Families) > 0)
}

func (o TableOptions) print(w *printer) {
	if o.KeyFormat != nil {
		w.option("key_format", o.KeyFormat.String())
	}
	if o.Retention != nil {
		w.option("retention", o.Retention.String())
	}
	if o.Changes != nil {
		w.option("change_stream", schema.FormatChangeStream(*o.Changes))
	}
}

// parseCreate parses create table T family F [type=..] [max_versions=N] [max_age=D]
// [, family ...], and HBase's create 't', 'cf', {NAME => 'cf2', VERSIONS => 3}.
func parseCreate(p *parser) Statement {
	if p.acceptWord("table") {
		return p.createTable()
	}
	if p.peek().Kind == lex.Word && p.isMark(1, ",") {
		return p.hbaseCreate()
	}
	panic(p.unexpected("table, as in create table fleet family meta, or view, as in create view v as SELECT …"))
}

func (p *parser) createTable() Statement {
	st := &CreateTable{IfNotExists: p.ifNotExists()}
	st.Table = p.name("the table's name")
	if p.acceptWord("like") {
		st.Like = p.tableNamed()
	}
	p.tableOptions(&st.TableOptions)
	for len(st.Families) == 0 && !p.atEnd() || p.accept(",") || p.wanted != nil {
		if !p.acceptWord("family") {
			panic(p.unexpected("family, as in create table %s family meta", lex.QuoteName(st.Table.Text)))
		}
		p.bound(len(st.Families), schema.MaxFamilies, "families")
		st.Families = append(st.Families, p.family())
	}
	p.tableOptions(&st.TableOptions)
	if len(st.Families) > 0 && p.peek().Keyword() == "family" {
		panic(p.unexpected("a comma before the next family"))
	}
	return st
}

// ifNotExists takes these words. A table may be called if.
func (p *parser) ifNotExists() bool {
	for i, word := range []string{"if", "not", "exists"} {
		if p.peekAt(i).Keyword() != word {
			return false
		}
	}
	p.next()
	p.next()
	p.next()
	return true
}

// tableWords are the options of a table.
var tableWords = []string{"key_format", "retention", "change_stream"}

func (p *parser) atTableOption() bool {
	for _, word := range tableWords {
		p.wantOneOf(ExpectOption, word+"=")
	}
	return p.atOption(0) && slices.Contains(tableWords, p.peek().Keyword())
}

// tableOptions parses [key_format=plain|tuple] [retention=exact|lazy]
// [change_stream=AGE|none].
func (p *parser) tableOptions(o *TableOptions) {
	for p.atTableOption() {
		t := p.next()
		p.equals()
		word := t.Keyword()
		if given := map[string]bool{"key_format": o.KeyFormat != nil, "retention": o.Retention != nil, "change_stream": o.Changes != nil}; given[word] {
			panic(lex.ErrorAt(t.Pos, "%s is given twice", word))
		}
		switch word {
		case "key_format":
			o.KeyFormat = choice(p, schema.ParseKeyFormat, schema.KeyFormats()...)
		case "retention":
			o.Retention = choice(p, schema.ParseEnforcement, "exact", "lazy")
		case "change_stream":
			o.Changes = choice(p, schema.ParseChangeStream, "1d", "7d", "none")
		}
	}
}

// choice parses a word, perhaps one of the words.
func choice[T any](p *parser, parse func(string) (T, error), words ...string) *T {
	p.wantOneOf(ExpectChoice, words...)
	v, err := parse(p.peek().Keyword())
	if err != nil {
		panic(lex.ErrorAt(p.peek().Pos, "%s", err))
	}
	p.next()
	return &v
}

var dropVerb = verb{
	name: "drop", parse: parseDrop,
	foreign: []spelling{{"deletetable", parseDropTable}},
	help: helpTopic{
		summary:  "drop a table with its data",
		syntax:   "drop table T [yes]",
		text:     "The table is kept for 7 days, unless the database was opened otherwise: undelete brings it back, and purge frees its space.",
		examples: []string{"drop table planes yes"},
	},
}

// DropTable deletes a table. The database keeps it for a while.
type DropTable struct {
	Node
	Table Name
	Yes   bool
}

func (st *DropTable) print(w *printer) {
	w.words("drop table", lex.QuoteName(st.Table.Text))
	w.flag("yes", st.Yes)
}

// parseDrop parses drop table T [yes], and HBase's drop 't'.
func parseDrop(p *parser) Statement {
	p.wantOneOf(ExpectKeyword, "table", "view", "materialized")
	if st := p.dropView(); st != nil {
		return st
	}
	if p.peek().Keyword() == "table" {
		p.next()
	} else if p.peek().Kind == lex.Word && p.peek().Parts[0].Quote != lex.Bare {
		p.foreign = true
	} else {
		panic(p.unexpected("table, as in drop table fleet, or view, as in drop view v"))
	}
	return parseDropTable(p)
}

func parseDropTable(p *parser) Statement {
	if p.peek().Keyword() == "if" && p.peekAt(1).Keyword() == "exists" && p.peekAt(2).Kind == lex.Word {
		panic(lex.ErrorAt(p.peek().Pos, "drop table takes no if exists; drop table T yes fails where there is no table, and --keep-going goes on"))
	}
	return &DropTable{Table: p.tableNamed(), Yes: p.acceptWord("yes")}
}

var undeleteVerb = verb{
	name: "undelete", parse: parseUndelete,
	help: helpTopic{
		summary: "bring a dropped table back",
		syntax:  "undelete table T",
		text: "The table comes back with its families, cells, settings and the names of its loads. A change stream begins anew.\n" +
			"Of several dropped tables of the name it is the last one. There must be no table of the name.",
		examples: []string{"drop table fleet yes", "undelete table fleet"},
	},
}

// Undelete brings back the table of a name that was deleted last.
type Undelete struct {
	Node
	Table Name
}

func (st *Undelete) print(w *printer) { w.words("undelete table", lex.QuoteName(st.Table.Text)) }

func parseUndelete(p *parser) Statement {
	if !p.acceptWord("table") {
		panic(p.unexpected("table, as in undelete table fleet"))
	}
	return &Undelete{Table: p.name("a table")}
}

var deletedVerb = verb{
	name: "deleted", parse: parseDeleted,
	help: helpTopic{
		summary: "the dropped tables that are kept",
		syntax:  "deleted tables", text: "Shows when each was dropped, until when undelete can bring it back, and the bytes of its files.", examples: []string{"deleted tables"},
	},
}

// Deleted lists the deleted tables that are kept.
type Deleted struct{ Node }

func (st *Deleted) print(w *printer) { w.words("deleted tables") }

func parseDeleted(p *parser) Statement {
	if !p.acceptWord("tables") {
		panic(p.unexpected("tables, as in deleted tables"))
	}
	return &Deleted{}
}

var purgeVerb = verb{
	name: "purge", parse: parsePurge,
	help: helpTopic{
		summary: "free the space of dropped tables",
		syntax:  "purge table T [yes], or purge tables [yes]",
		text:    "Removes the dropped tables of one name, or all dropped tables, for good. Other tables stay.", examples: []string{"purge tables yes"},
	},
}

// Purge removes the deleted tables of a name, or all of them, for good.
type Purge struct {
	Node
	Table    Name
	All, Yes bool
}

func (st *Purge) print(w *printer) {
	if st.All {
		w.words("purge tables")
	} else {
		w.words("purge table", lex.QuoteName(st.Table.Text))
	}
	w.flag("yes", st.Yes)
}

func parsePurge(p *parser) Statement {
	st := &Purge{}
	switch {
	case p.acceptWord("table"):
		st.Table = p.name("a table")
	case p.acceptWord("tables"):
		st.All = true
	default:
		panic(p.unexpected("table, as in purge table fleet, or tables, for all that were dropped"))
	}
	st.Yes = p.acceptWord("yes")
	return st
}

var truncateVerb = verb{
	name: "truncate", parse: parseTruncate,
	foreign: []spelling{{"deleteallrows", parseTruncate}, {"truncate_preserve", parseTruncate}},
	help: helpTopic{
		summary: "delete all rows of a table",
		syntax:  "truncate T [yes]", examples: []string{"truncate scratch yes"},
	},
}

// Truncate deletes all rows of a table.
type Truncate struct {
	Node
	Table Name
	Yes   bool
}

func (st *Truncate) print(w *printer) {
	w.words("truncate", lex.QuoteName(st.Table.Text))
	w.flag("yes", st.Yes)
}

func parseTruncate(p *parser) Statement {
	return &Truncate{Table: p.afterTable(), Yes: p.acceptWord("yes")}
}

var tablesVerb = verb{
	name: "tables", parse: parseTables,
	foreign: []spelling{{"list", parseTables}},
	help: helpTopic{
		also: []string{"list"}, summary: "the tables and views",
		syntax: "tables [regex=/RE/]", examples: []string{"tables"},
	},
}

// Tables lists the tables.
type Tables struct {
	Node
	Regex *Pattern // a name must match it; nil: any
}

func (st *Tables) print(w *printer) {
	w.words("tables")
	if st.Regex != nil {
		w.option("regex", lex.QuoteText(st.Regex.Expr))
	}
}

// parseTables parses tables [regex=/RE/].
func parseTables(p *parser) Statement {
	if t := p.peek(); p.spelt == "list" && t.Kind == lex.Word { // HBase: a pattern
		p.next()
		return &Tables{Regex: &Pattern{t.Pos, lex.Join(t.Parts)}}
	}
	p.wantOneOf(ExpectOption, "regex=")
	if !p.atOption(0) {
		return &Tables{}
	}
	if p.peek().Keyword() != "regex" {
		panic(p.unexpected("regex=, as in tables regex=/fl.*/"))
	}
	p.next()
	p.equals()
	var read Read
	p.regexOption(&target{read: &read})
	return &Tables{Regex: read.Regex}
}

var describeVerb = verb{
	name: "describe", parse: parseDescribe,
	foreign: []spelling{{"desc", parseDescribe}, {"exists", parseDescribe}},
	help: helpTopic{
		summary: "a table's families",
		syntax:  "describe T", examples: []string{"describe fleet"},
	},
}

// Describe shows a table's families.
type Describe struct {
	Node
	Table Name
}

func (st *Describe) print(w *printer) {
	w.words("describe", lex.QuoteName(st.Table.Text))
}

func parseDescribe(p *parser) Statement { return &Describe{Table: p.afterTable()} }

// afterTable parses a table that the word table may precede, as in SQL.
func (p *parser) afterTable() Name {
	if p.peek().Keyword() == "table" && p.peekAt(1).Kind == lex.Word {
		p.next()
	}
	return p.tableName()
}
