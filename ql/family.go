package ql

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql/dialect"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/schema"
)

var alterVerb = verb{
	name: "alter", parse: parseAlter,
	foreign: []spelling{{"createfamily", parseCreateFamily}, {"deletefamily", parseDeleteFamily}, {"setgcpolicy", parseSetGCPolicy}},
	help: helpTopic{
		summary:  "add, change or drop a family",
		syntax:   "alter table T add family F [type=..] [max_versions=N] [max_age=AGE]\nalter table T set F [type=..] [max_versions=N|all] [max_age=AGE|none] [drop=either|both] [yes]\nalter table T put family F .. [yes]  (adds it, or sets it if it exists)\nalter table T drop family F [yes]\nalter table T set [key_format=plain|tuple] [retention=exact|lazy] [change_stream=AGE|none] [yes]",
		text:     "A type can change only while the family is empty. A change that makes cells invisible, or keeps changes for a\nshorter time, says how many and asks first. With yes at the end, as a script needs it, nothing is asked.",
		examples: []string{"alter table planes add family loc type=string", "alter table planes set loc max_age=30d max_versions=3", "alter table planes drop family loc yes"},
	},
}

// SetTable changes settings of a whole table.
type SetTable struct {
	Node
	Table Name
	TableOptions
	Yes bool // hide data without asking
}

func (st *SetTable) print(w *printer) {
	w.words("alter table", lex.QuoteName(st.Table.Text), "set")
	st.TableOptions.print(w)
	w.flag("yes", st.Yes)
}

// AddFamily adds a family to a table.
type AddFamily struct {
	Node
	Table  Name
	Family Family
}

func (st *AddFamily) print(w *printer) {
	w.words("alter table", lex.QuoteName(st.Table.Text), "add family", st.Family.String())
}

// SetFamily changes a family, or adds it if it does not exist.
type SetFamily struct {
	Node
	Table  Name
	Family Family
	Add    bool // add the family if it does not exist
	Yes    bool // hide data without asking
}

func (st *SetFamily) print(w *printer) {
	w.words("alter table", lex.QuoteName(st.Table.Text), orWord("set", st.Add, "put"), "family", st.Family.String())
	w.flag("yes", st.Yes)
}

// DropFamily drops a family with its data.
type DropFamily struct {
	Node
	Table  Name
	Family Name
	Yes    bool
}

func (st *DropFamily) print(w *printer) {
	w.words("alter table", lex.QuoteName(st.Table.Text), "drop family", lex.QuoteName(st.Family.Text))
	w.flag("yes", st.Yes)
}

// A Family declares a column family, or the changes of one.
type Family struct {
	Name     Name
	Type     *cells.Type    // nil: not given
	Versions *int           // nil: not given; 0: all
	TTL      *time.Duration // nil: not given; 0: forever
	// Both says that a cell is dropped only if it exceeds both Versions and TTL, not
	// either one; nil: not given.
	Both *bool
	// Aggregate is how the family combines added values; nil: not given.
	Aggregate *schema.Aggregate
}

// String returns the family in the syntax of create table.
func (f Family) String() string {
	w := &printer{}
	w.words(lex.QuoteName(f.Name.Text))
	if f.Type != nil {
		w.option("type", f.Type.String())
	}
	if f.Aggregate != nil {
		w.option("aggregate", f.Aggregate.String())
	}
	if f.Versions != nil {
		w.option("max_versions", orWord(strconv.Itoa(*f.Versions), *f.Versions == 0, "all"))
	}
	if f.TTL != nil {
		w.option("max_age", orWord(schema.FormatAge(*f.TTL), *f.TTL == 0, "none"))
	}
	if f.Both != nil {
		w.option("drop", orWord("either", *f.Both, "both"))
	}
	return strings.Join(w.out, " ")
}

// parseAlter parses alter table T add family F .. | drop family F | set F .. A
// statement that can drop or hide data may end in yes; then it does not ask.
func parseAlter(p *parser) Statement {
	if p.peek().Kind == lex.Word && p.isMark(1, ",") {
		return p.hbaseAlter()
	}
	if !p.acceptWord("table") {
		panic(p.unexpected("table, as in alter table fleet add family meta"))
	}
	table := p.tableNamed()
	p.wantOneOf(ExpectKeyword, "add", "drop", "set", "put")
	word := p.peek().Keyword()
	switch word {
	case "add", "drop", "set", "put":
		p.next()
	default:
		panic(p.unknownAlteration(table))
	}
	if word == "set" && p.atTableOption() {
		st := &SetTable{Table: table}
		p.tableOptions(&st.TableOptions)
		st.Yes = p.acceptWord("yes")
		return st
	}
	p.wantOneOf(ExpectKeyword, "family")
	if p.peek().Keyword() == "family" && (p.peekAt(1).Kind == lex.Word || p.wanted != nil) && !p.atOption(1) { // a family may have the name family
		p.next()
	} else if word != "set" {
		panic(p.unexpected("family, as in alter table %s %s family meta", lex.QuoteName(table.Text), word))
	}
	return p.alterFamily(table, word)
}

func (p *parser) alterFamily(table Name, word string) Statement {
	if word == "drop" {
		return &DropFamily{Table: table, Family: p.familyNamed(), Yes: p.acceptWord("yes")}
	}
	if word == "set" {
		p.wantKind(ExpectFamily)
		p.checkFamilyNamed(table)
	}
	f := p.family()
	if word == "add" {
		return &AddFamily{Table: table, Family: f}
	}
	if word == "set" && f.SaysNothing() {
		panic(p.unexpected("what to set: type=, max_versions= or max_age="))
	}
	return &SetFamily{Table: table, Family: f, Add: word == "put", Yes: p.acceptWord("yes")}
}

// unknownAlteration is the error for changes that alter table lacks.
func (p *parser) unknownAlteration(table Name) *lex.Error {
	p.checkFamilyNamed(table)
	if w := p.peek().Keyword(); w == "rename" {
		return lex.ErrorAt(p.peek().Pos, "alter table takes no rename; %s", dialect.InsteadOf(w))
	}
	t := p.peek()
	return lex.ErrorAt(t.Pos, "expected add family, set, put family or drop family, not %s%s", t.Describe(), schema.DidYouMean(t.Keyword(), []string{"add", "drop", "set", "put"}))
}

// checkFamilyNamed refuses a setting of a family without the family's name.
func (p *parser) checkFamilyNamed(table Name) {
	t := p.peek()
	if word := cmp.Or(familyAliases[t.Keyword()], t.Keyword()); p.wanted == nil && p.atFamilyOption() && slices.Contains(familyWords, word) {
		panic(lex.ErrorAt(t.Pos, "%s is a setting of a family; name it, as in alter table %s set meta %s=..", word, lex.QuoteName(table.Text), word))
	}
}

// parseDeleteFamily parses deletefamily T F of cbt.
func parseDeleteFamily(p *parser) Statement { return p.alterFamily(p.tableNamed(), "drop") }

func (p *parser) family() Family {
	f := Family{Name: p.name("the family's name")}
	for p.atFamilyOption() {
		p.familyOption(&f)
	}
	if t := p.peek(); p.wanted == nil {
		for _, example := range []string{"type=i32", "max_versions=3", "max_age=30d", "aggregate=sum"} {
			if name, _, _ := strings.Cut(example, "="); t.Keyword() == name {
				p.next()
				panic(p.unexpected("= after %s, as in %s", name, example))
			}
		}
	}
	return f
}

// SaysNothing reports whether the statement gives the family a name and no settings.
func (f Family) SaysNothing() bool {
	return f.Type == nil && f.Versions == nil && f.TTL == nil && f.Aggregate == nil && f.Both == nil
}

func (p *parser) atFamilyOption() bool {
	for _, word := range familyWords {
		p.wantOneOf(ExpectOption, word+"=")
	}
	return p.atOption(0) && !slices.Contains(tableWords, p.peek().Keyword())
}

// familyOption parses type=T, max_versions=N, max_age=D, aggregate=A or drop=either|both.
func (p *parser) familyOption(f *Family) {
	t := p.next()
	p.equals()
	word := cmp.Or(familyAliases[t.Keyword()], t.Keyword())
	given := map[string]bool{"type": f.Type != nil, "max_versions": f.Versions != nil, "max_age": f.TTL != nil, "aggregate": f.Aggregate != nil, "drop": f.Both != nil}
	if given[word] {
		panic(lex.ErrorAt(t.Pos, "%s is given twice", word))
	}
	switch word {
	case "type":
		typ, _ := cells.ParseType(p.oneWord("a type", "any", "bytes", "string", "bool", "byte", "i32", "i64", "f32", "f64")) // 0 for any
		f.Type = &typ
	case "max_versions":
		f.Versions = new(int)
		if !p.acceptWord("all") {
			*f.Versions = p.number("a number of versions, or all", 1)
		}
	case "max_age":
		f.TTL = new(p.ttl())
	case "aggregate":
		f.Aggregate = new(must(schema.ParseAggregate(p.oneWord("an aggregate", "sum", "min", "max", "hll"))))
	case "drop":
		f.Both = new(p.oneWord("a value of drop=", "either", "both") == "both")
	default:
		near := schema.DidYouMean(word, append(familyWords, tableWords...))
		panic(lex.ErrorAt(t.Pos, "a family has no option %s%s", t.Describe(), cmp.Or(near, "; its options are "+strings.Join(familyWords, ", "))))
	}
}

// ttl parses an age, none for no limit, or seconds as HBase writes them.
func (p *parser) ttl() time.Duration {
	if p.acceptWord("none") {
		return 0
	}
	t := p.peek()
	text := p.text("an age, as in 30d, or none")
	if p.foreign && strings.EqualFold(text, "forever") {
		return 0
	}
	if p.foreign && lex.IsInteger(text) {
		text += "s"
	}
	age, err := schema.ParseAge(text)
	if err != nil {
		panic(lex.ErrorAt(t.Pos, "%s", err))
	}
	return age
}

// familyWords are the options of a family.
var familyWords = []string{"type", "max_versions", "max_age", "drop", "aggregate"}

// familyAliases are the spellings of version 0.1.0, which stay.
var familyAliases = map[string]string{"versions": "max_versions", "ttl": "max_age"}
