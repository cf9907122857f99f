package ql

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/ql/lex"
	"github.com/smolwc/smolwc/schema"
)

var alterVerb = verb{
	name: "alter", parse: parseAlter,
	foreign: []spelling{{"createfamily", parseCreateFamily}, {"deletefamily", parseDeleteFamily}, {"setgcpolicy", parseSetGCPolicy}},
	help: helpTopic{
		summary:  "add, change or drop a family",
		syntax:   "alter table T add family F [type=..] [versions=..] [ttl=..]\nalter table T set F [type=..] [versions=N|all] [ttl=AGE|none] [drop=either|both] [yes]\nalter table T put family F .. [yes]  (adds it, or sets it if it exists)\nalter table T drop family F [yes]\nalter table T set [key_format=plain|tuple] [retention=exact|lazy] [change_stream=AGE|none] [yes]",
		text:     "A type can change only while the family is empty. A change that makes cells invisible, or keeps changes for a\nshorter time, says how many and asks first. With yes at the end, as a script needs it, nothing is asked.",
		examples: []string{"alter table planes add family loc type=string", "alter table planes set loc ttl=30d versions=3", "alter table planes drop family loc yes"},
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
		w.option("versions", orWord(strconv.Itoa(*f.Versions), *f.Versions == 0, "all"))
	}
	if f.TTL != nil {
		w.option("ttl", orWord(schema.FormatAge(*f.TTL), *f.TTL == 0, "none"))
	}
	if f.Both != nil {
		w.option("drop", orWord("either", *f.Both, "both"))
	}
	return strings.Join(w.out, " ")
}

// parseAlter parses alter table T add family F .. | drop family F | set F .. A
// statement that can drop or hide data may end in yes; then it does not ask.
func parseAlter(p *parser) (Statement, error) {
	if p.peek().Kind == lex.Word && p.isMark(1, ",") {
		return p.hbaseAlter()
	}
	if !p.acceptWord("table") {
		return nil, p.unexpected("table, as in alter table fleet add family meta")
	}
	table, err := p.tableNamed()
	if err != nil {
		return nil, err
	}
	p.wantOneOf(ExpectKeyword, "add", "drop", "set", "put")
	word := p.peek().Keyword()
	switch word {
	case "add", "drop", "set", "put":
		p.next()
	default:
		return nil, p.unexpected("add family, set, put family or drop family")
	}
	if word == "set" && p.atTableOption() {
		st := &SetTable{Table: table}
		err := p.tableOptions(&st.TableOptions)
		st.Yes = err == nil && p.acceptWord("yes")
		return st, err
	}
	p.wantOneOf(ExpectKeyword, "family")
	if p.peek().Keyword() == "family" && (p.peekAt(1).Kind == lex.Word || p.wanted != nil) && !p.atOption(1) { // a family may have the name family
		p.next()
	} else if word != "set" {
		return nil, p.unexpected("family, as in alter table %s %s family meta", lex.QuoteName(table.Text), word)
	}
	return p.alterFamily(table, word)
}

func (p *parser) alterFamily(table Name, word string) (Statement, error) {
	if word == "drop" {
		name, err := p.familyNamed()
		if err != nil {
			return nil, err
		}
		return &DropFamily{Table: table, Family: name, Yes: p.acceptWord("yes")}, nil
	}
	if word == "set" {
		p.wantKind(ExpectFamily)
	}
	f, err := p.family()
	if err != nil {
		return nil, err
	}
	if word == "add" {
		return &AddFamily{Table: table, Family: f}, nil
	}
	if word == "set" && f.SaysNothing() {
		return nil, p.unexpected("what to set: type=, versions= or ttl=")
	}
	return &SetFamily{Table: table, Family: f, Add: word == "put", Yes: p.acceptWord("yes")}, nil
}

// parseDeleteFamily parses deletefamily T F of cbt.
func parseDeleteFamily(p *parser) (Statement, error) {
	table, err := p.tableNamed()
	if err != nil {
		return nil, err
	}
	return p.alterFamily(table, "drop")
}

// family parses F [type=T] [versions=N] [ttl=D].
func (p *parser) family() (f Family, err error) {
	if f.Name, err = p.newName("the family's name"); err != nil {
		return f, err
	}
	return f, p.familyOptions(&f)
}

// SaysNothing reports whether the statement gives the family a name and no settings.
func (f Family) SaysNothing() bool {
	return f.Type == nil && f.Versions == nil && f.TTL == nil && f.Aggregate == nil && f.Both == nil
}

// familyOptions parses [type=T] [versions=N] [ttl=D] [aggregate=A].
func (p *parser) familyOptions(f *Family) error {
	for p.atFamilyOption() {
		if err := p.familyOption(f); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) atFamilyOption() bool {
	for _, word := range familyWords {
		p.wantOneOf(ExpectOption, word+"=")
	}
	return p.atOption(0) && !slices.Contains(tableWords, p.peek().Keyword())
}

func (p *parser) familyOption(f *Family) error {
	t := p.next()
	p.equals()
	word := t.Keyword()
	if own := familyAliases[word]; own != "" {
		word = own
	}
	if (word == "type" && f.Type != nil) || (word == "versions" && f.Versions != nil) || (word == "ttl" && f.TTL != nil) || (word == "aggregate" && f.Aggregate != nil) || (word == "drop" && f.Both != nil) {
		return lex.ErrorAt(t.Pos, "%s is given twice", word)
	}
	switch word {
	case "type":
		return p.familyType(f)
	case "versions":
		return p.familyVersions(f)
	case "ttl":
		return p.familyTTL(f)
	case "aggregate":
		return p.familyAggregate(f)
	case "drop":
		return p.familyDrop(f)
	}
	if near := schema.DidYouMean(word, append(familyWords, tableWords...)); near != "" {
		return lex.ErrorAt(t.Pos, "a family has no option %s%s", t.Describe(), near)
	}
	return lex.ErrorAt(t.Pos, "a family has no option %s; its options are %s", t.Describe(), strings.Join(familyWords, ", "))
}

func (p *parser) familyType(f *Family) error {
	word, err := p.oneWord("a type", "any", "bytes", "string", "bool", "byte", "i32", "i64", "f32", "f64")
	typ, _ := cells.ParseType(word) // any is not a type; its value is 0
	f.Type = &typ
	return err
}

func (p *parser) familyAggregate(f *Family) error {
	word, err := p.oneWord("an aggregate", "sum", "min", "max", "hll")
	if err != nil {
		return err
	}
	f.Aggregate = new(schema.Aggregate)
	*f.Aggregate, err = schema.ParseAggregate(word)
	return err
}

func (p *parser) familyVersions(f *Family) error {
	n := 0
	var err error
	if !p.acceptWord("all") {
		n, err = p.number("a number of versions, or all", 1)
	}
	f.Versions = &n
	return err
}

// familyDrop parses either or both: how many limits a cell must exceed to be dropped.
func (p *parser) familyDrop(f *Family) error {
	word, err := p.oneWord("a value of drop=", "either", "both")
	both := word == "both"
	f.Both = &both
	return err
}

// familyTTL parses an age, none for no limit, or seconds as HBase writes them.
func (p *parser) familyTTL(f *Family) error {
	t := p.peek()
	p.wantText(ExpectText, "an age, as in 30d")
	age := time.Duration(0)
	if !p.acceptWord("none") {
		text, err := p.text("an age, as in 30d, or none")
		if err != nil {
			return err
		}
		if p.foreign && strings.EqualFold(text, "forever") {
			f.TTL = &age
			return nil
		}
		if p.foreign && lex.IsInteger(text) {
			text += "s"
		}
		if age, err = schema.ParseAge(text); err != nil {
			return lex.ErrorAt(t.Pos, "%s", err)
		}
	}
	f.TTL = &age
	return nil
}

// familyWords are the options of a family.
var familyWords = []string{"type", "versions", "ttl", "drop", "aggregate"}

// familyAliases are the spellings of YAML and cbt.
var familyAliases = map[string]string{"max_versions": "versions", "maxversions": "versions", "max_age": "ttl", "maxage": "ttl"}
