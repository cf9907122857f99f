package ql

import (
	"slices"
	"strings"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/ql/lex"
	"github.com/smolwc/smolwc/schema"
)

// parseCreate parses create table T family F [type=..] [versions=N] [ttl=D]
// [, family ...], and HBase's create 't', 'cf', {NAME => 'cf2', VERSIONS => 3}.
func parseCreate(p *parser) (Statement, error) {
	if p.acceptWord("table") {
		return p.createTable()
	}
	if p.peek().Kind == lex.Word && p.isMark(1, ",") {
		return p.hbaseCreate()
	}
	return nil, p.unexpected("table, as in create table fleet family meta")
}

func (p *parser) createTable() (Statement, error) {
	st := &CreateTable{}
	var err error
	if st.Table, err = p.newName("the table's name"); err != nil {
		return nil, err
	}
	if err := p.tableOptions(&st.TableOptions); err != nil {
		return nil, err
	}
	for len(st.Families) == 0 && !p.atEnd() || p.accept(",") || p.wanted != nil {
		if !p.acceptWord("family") {
			return nil, p.unexpected("family, as in create table %s family meta", lex.QuoteName(st.Table.Text))
		}
		f, err := p.family()
		if err != nil {
			return nil, err
		}
		st.Families = append(st.Families, f)
	}
	return st, p.tableOptions(&st.TableOptions)
}

// tableWords are the options of a table.
var tableWords = []string{"key_format", "retention", "change_stream"}

// atTableOption reports whether an option of a table follows.
func (p *parser) atTableOption() bool {
	for _, word := range tableWords {
		p.wantOneOf(ExpectOption, word+"=")
	}
	return p.atOption(0) && slices.Contains(tableWords, p.peek().Keyword())
}

// tableOptions parses [key_format=plain|tuple] [retention=exact|lazy]
// [change_stream=AGE|none].
func (p *parser) tableOptions(o *TableOptions) error {
	for p.atTableOption() {
		t := p.next()
		p.equals()
		word := t.Keyword()
		if word == "key_format" && o.KeyFormat != nil || word == "retention" && o.Retention != nil || word == "change_stream" && o.Changes != nil {
			return lex.ErrorAt(t.Pos, "%s is given twice", word)
		}
		value := p.peek()
		var err error
		switch word {
		case "key_format":
			p.wantOneOf(ExpectChoice, schema.KeyFormats()...)
			o.KeyFormat = new(schema.KeyFormat)
			*o.KeyFormat, err = schema.ParseKeyFormat(value.Keyword())
		case "retention":
			p.wantOneOf(ExpectChoice, "exact", "lazy")
			o.Retention = new(schema.Enforcement)
			*o.Retention, err = schema.ParseEnforcement(value.Keyword())
		case "change_stream":
			p.wantOneOf(ExpectChoice, "1d", "7d", "none")
			o.Changes = new(time.Duration)
			*o.Changes, err = schema.ParseChangeStream(value.Keyword())
		}
		if err != nil {
			return lex.ErrorAt(value.Pos, "%s", err)
		}
		p.next()
	}
	return nil
}

// family parses F [type=T] [versions=N] [ttl=D].
func (p *parser) family() (f Family, err error) {
	if f.Name, err = p.newName("the family's name"); err != nil {
		return f, err
	}
	return f, p.familyOptions(&f)
}

// familyWords are the options of a family.
var familyWords = []string{"type", "versions", "ttl", "drop", "aggregate"}

// familyAliases are the spellings of YAML and cbt.
var familyAliases = map[string]string{"max_versions": "versions", "maxversions": "versions", "max_age": "ttl", "maxage": "ttl"}

// SaysNothing reports whether the family is only named.
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
	p.wantOneOf(ExpectChoice, "any", "bytes", "string", "bool", "byte", "i32", "i64", "f32", "f64")
	t := p.peek()
	typ, err := cells.ParseType(t.Keyword())
	if err != nil && t.Keyword() != "any" {
		return lex.ErrorAt(t.Pos, "expected a type, not %s; the types are any, bytes, string, bool, byte, i32, i64, f32, f64", t.Describe())
	}
	p.next()
	f.Type = &typ
	return nil
}

func (p *parser) familyAggregate(f *Family) error {
	p.wantOneOf(ExpectChoice, "sum", "min", "max", "hll")
	t := p.peek()
	a, err := schema.ParseAggregate(t.Keyword())
	if err != nil {
		return lex.ErrorAt(t.Pos, "expected an aggregate, not %s; the aggregates are sum, min, max, hll", t.Describe())
	}
	p.next()
	f.Aggregate = &a
	return nil
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

// familyDrop takes whether a cell goes when either of two rules says so, or both.
func (p *parser) familyDrop(f *Family) error {
	p.wantOneOf(ExpectChoice, "either", "both")
	word := p.peek().Keyword()
	if word != "either" && word != "both" {
		return p.unexpected("either or both")
	}
	p.next()
	both := word == "both"
	f.Both = &both
	return nil
}

// familyTTL takes an age, none for ever, or, as HBase writes it, seconds.
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

// parseAlter parses alter table T add family F .. | drop family F | set F .. Those
// that can drop or hide data end in yes where nobody is to be asked.
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
	if p.peek().Keyword() == "family" && (p.peekAt(1).Kind == lex.Word || p.wanted != nil) && !p.atOption(1) { // a family may be called family
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

// parseDrop parses drop table T [yes], and HBase's drop 't'.
func parseDrop(p *parser) (Statement, error) {
	p.wantOneOf(ExpectKeyword, "table")
	if p.peek().Keyword() == "table" && (p.peekAt(1).Kind == lex.Word || p.wanted != nil) {
		p.next()
	} else if p.peek().Kind == lex.Word && p.peek().Parts[0].Quote != lex.Bare {
		p.foreign = true
	} else {
		return nil, p.unexpected("table, as in drop table fleet")
	}
	return parseDropTable(p)
}

func parseDropTable(p *parser) (Statement, error) {
	name, err := p.tableNamed()
	if err != nil {
		return nil, err
	}
	return &DropTable{Table: name, Yes: p.acceptWord("yes")}, nil
}

func parseTruncate(p *parser) (Statement, error) {
	if p.peek().Keyword() == "table" && p.peekAt(1).Kind == lex.Word { // SQL
		p.next()
	}
	name, err := p.tableName()
	if err != nil {
		return nil, err
	}
	return &Truncate{Table: name, Yes: p.acceptWord("yes")}, nil
}

// parseTables parses tables, and ls T, which describes.
func parseTables(p *parser) (Statement, error) {
	if p.verb == "tables" && p.peek().Kind == lex.Word && p.foreign && p.spelt != "list" {
		return parseDescribe(p)
	}
	if t := p.peek(); p.spelt == "list" && t.Kind == lex.Word { // HBase: a pattern
		p.next()
		return &Tables{Regex: &Pattern{t.Pos, lex.Join(t.Parts)}}, nil
	}
	p.wantOneOf(ExpectOption, "regex=")
	if !p.atOption(0) {
		return &Tables{}, nil
	}
	if p.peek().Keyword() != "regex" {
		return nil, p.unexpected("regex=, as in tables regex=/fl.*/")
	}
	p.next()
	p.equals()
	var read Read
	err := p.regexOption(&target{read: &read})
	return &Tables{Regex: read.Regex}, err
}

func parseDescribe(p *parser) (Statement, error) {
	if p.peek().Keyword() == "table" && p.peekAt(1).Kind == lex.Word {
		p.next()
	}
	name, err := p.tableName()
	return &Describe{Table: name}, err
}

// parseCompact parses compact T [prefix=K | start=K end=K].
func parseCompact(p *parser) (Statement, error) {
	st := &Compact{}
	var err error
	if st.Table, err = p.tableName(); err != nil {
		return nil, err
	}
	return st, p.options(inCompact, &target{rows: &st.Rows})
}

func parseFlush(p *parser) (Statement, error) {
	name, err := p.tableName()
	return &Flush{Table: name}, err
}

// parseGC parses gc T [dry-run].
func parseGC(p *parser) (Statement, error) {
	st := &GC{Table: Name{p.env.Table, p.start}}
	if next := p.peek().Keyword(); p.env.Table == "" || next != "dry-run" {
		var err error
		if st.Table, err = p.tableName(); err != nil {
			return nil, err
		}
	}
	st.DryRun = p.acceptWord("dry-run")
	return st, nil
}
