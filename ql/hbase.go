package ql

import (
	"cmp"
	"strings"

	"github.com/smolwc/smolwc/ql/dialect"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/schema"
)

// hbaseCreate parses 't', 'cf', {NAME => 'cf2', VERSIONS => 3, TTL => 3600}, ...
func (p *parser) hbaseCreate() Statement {
	p.foreign = true
	st := &CreateTable{Table: p.name("the table's name")}
	for p.accept(",") {
		p.bound(len(st.Families), schema.MaxFamilies, "families")
		if f, isFamily := p.hbaseFamily(nil); isFamily {
			st.Families = append(st.Families, f.OfHBase())
		}
	}
	if len(st.Families) == 0 {
		panic(p.unexpected("a family"))
	}
	return st
}

// hbaseFamily parses 'cf', or {NAME => 'cf', VERSIONS => 3}, also without its braces.
// It skips storage options; isFamily is false if there was nothing else. If method is
// not nil, METHOD is allowed and its value is stored there.
func (p *parser) hbaseFamily(method *string) (f Family, isFamily bool) {
	if p.peek().Kind == lex.Word && !p.atOption(0) {
		return Family{Name: p.name("a family")}, true
	}
	at := p.peek().Pos
	braces := p.accept("{")
	said := false
	for {
		t := p.peek()
		switch word := t.Keyword(); {
		case !p.atOption(0):
			panic(p.unexpected("NAME => 'family'"))
		case word == "name":
			f.Name = p.named().name("the family's name")
		case word == "method" && method != nil:
			*method = p.named().text("'delete'")
		case word == "min_versions" || word == "keep_deleted_cells":
			p.hbaseUnkept("max_versions=N max_age=AGE drop=both keeps the newest N versions of any age, and deleted cells are not kept")
		case word == "readonly":
			p.hbaseUnkept("the flag --read-only opens a whole database for reading only")
		case dialect.IsStorage(word):
			p.named().skipValue()
		default:
			said = true
			p.familyOption(&f)
		}
		if !p.atMark(",") || !braces && !p.atOption(1) {
			break
		}
		p.next()
	}
	if braces {
		p.expect("}")
	}
	if f.Name.Text == "" && said {
		panic(lex.ErrorAt(at, "the family's NAME is missing"))
	}
	return f, f.Name.Text != ""
}

// named skips NAME= or NAME =>, before the value of an option.
func (p *parser) named() *parser {
	p.next()
	p.equals()
	return p
}

// hbaseUnkept parses options such as MIN_VERSIONS => 0 and KEEP_DELETED_CELLS => false.
// Other values are not supported.
func (p *parser) hbaseUnkept(instead string) {
	t := p.peek()
	if value := p.named().text("0 or false"); value != "0" && !strings.EqualFold(value, "false") {
		panic(lex.ErrorAt(t.Pos, "there is no option %s; %s", t.Describe(), instead))
	}
}

// hbaseAlter parses alter 't', 'cf' | NAME => 'cf', VERSIONS => 3 | {..} | NAME => 'cf',
// METHOD => 'delete' | 'delete' => 'cf'. It makes one change.
func (p *parser) hbaseAlter() Statement {
	p.foreign = true
	table := p.tableNamed()
	p.expect(",")
	if p.peek().Plain() == "delete" && p.isMark(1, "=>") {
		return p.named().alterFamily(table, "drop")
	}
	method := ""
	at := p.peek().Pos
	switch f, isFamily := p.hbaseFamily(&method); {
	case !isFamily:
		panic(lex.ErrorAt(at, "smolwc chooses by itself how a table is stored; alter table %s set F max_age=30d max_versions=3 sets retention", lex.QuoteName(table.Text)))
	case p.atMark(","):
		panic(p.unexpected("the end of the statement: alter one family at a time"))
	case method == "delete":
		return &DropFamily{Table: table, Family: f.Name, Yes: p.acceptWord("yes")}
	case method != "":
		panic(lex.ErrorAt(at, "there is no METHOD %s; a family is added, set, or deleted with METHOD => 'delete'", lex.QuoteText(lex.Clip(method))))
	default:
		return &SetFamily{Table: table, Family: f, Add: true, Yes: p.acceptWord("yes")}
	}
}

// OfHBase returns the family that an HBase statement makes: it keeps one version by
// default.
func (f Family) OfHBase() Family {
	f.Versions = cmp.Or(f.Versions, new(1))
	return f
}

// millis parses a time as HBase writes it: milliseconds since 1970.
func (p *parser) millis() *lex.Time {
	t := p.peek()
	if t.Kind != lex.Word {
		panic(p.unexpected("a time in milliseconds, as in 1706140800000"))
	}
	p.next()
	return must(dialect.ParseMillis(t.Pos, lex.Join(t.Parts)))
}

// acceptLastTime takes the largest time of HBase, which means that there is no bound.
func (p *parser) acceptLastTime() bool {
	if t := p.peek(); t.Kind != lex.Word || !dialect.IsLastTime(lex.Join(t.Parts)) {
		return false
	}
	p.next()
	return true
}

// timeRangeOption takes HBase's TIMERANGE => [since, until].
func (p *parser) timeRangeOption(to *target) {
	p.expect("[")
	to.read.Since = p.millis()
	p.expect(",")
	if !p.acceptLastTime() {
		to.read.Until = p.millis()
	}
	p.expect("]")
}

// timestampOption parses HBase's TIMESTAMP => ts, which selects the version of that
// millisecond.
func (p *parser) timestampOption(to *target) {
	to.read.Since = p.millis()
	to.read.Until = dialect.NextMilli(to.read.Since)
}

// turnBounds gives the bounds of a reverse scan their meaning in HBase: the scan goes
// from STARTROW, inclusive, down to STOPROW, exclusive.
func (to *target) turnBounds() {
	if !to.bounds || to.read == nil || !to.read.Reverse {
		return
	}
	first, last := to.rows.Start, to.rows.End
	to.rows.Start, to.rows.End = "", ""
	if first != "" {
		to.rows.End = first + "\x00"
	}
	if last != "" {
		to.rows.Start = last + "\x00"
	}
}

// hbaseDelete parses the rest of delete 't', 'key', 'cf:a', ts, which deletes one
// version, and of deleteall 't', 'key' [, 'cf:a' | 'cf' [, ts]], which deletes that
// version and all older ones. A delete without a time deletes the newest version in
// some releases of HBase and all versions in others, so it is an error that says what
// to write.
func (p *parser) hbaseDelete(table Name) Statement {
	st := &Delete{Table: table, Key: p.key()}
	one := p.spelt != "deleteall"
	if !p.skipComma() {
		if one && p.atEnd() {
			panic(lex.ErrorAt(p.start, "HBase's delete names a column; to delete the row write %s", Print(st)))
		}
		return st
	}
	t := p.peek()
	c := p.hbaseDeleteColumn()
	st.Columns = []DeleteColumn{{Column: c}}
	switch timed := p.skipComma(); {
	case c.Kind == ColumnFamily && (one || timed):
		panic(lex.ErrorAt(t.Pos, "HBase's delete of a family by time has no equivalent here; to delete the family in this row write %s", Print(st)))
	case one && !timed:
		panic(lex.ErrorAt(t.Pos, "HBase's delete removes the newest version; write %s@TIME for that, with its time from get %s %s columns=%s, or %s for all versions",
			Print(st), lex.QuoteName(table.Text), lex.QuoteKey(st.Key), c, Print(st)))
	case one:
		st.Since = p.millis()
		st.Until = dialect.NextMilli(st.Since)
	case timed && !p.acceptLastTime():
		st.Until = dialect.NextMilli(p.millis())
	}
	return st
}

// hbaseDeleteColumn takes 'cf:a', or 'cf' for a family.
func (p *parser) hbaseDeleteColumn() Column {
	t := p.peek()
	if t.Kind != lex.Word {
		panic(p.unexpected("a column, as in 'meta:model'"))
	}
	if _, _, ok := cutColumn(t); ok {
		return p.exactColumn()
	}
	return Column{Pos: t.Pos, Family: p.name("a column or a family").Text, Kind: ColumnFamily}
}

// atHBaseColumn reports whether a comma and a column, or a list of them, follow.
func (p *parser) atHBaseColumn() bool {
	return p.atMark(",") && (p.peekAt(1).Kind == lex.Word && !p.atOption(1) || p.isMark(1, "["))
}

// hbaseColumns takes 'cf:a', or ['cf:a', 'cf:b'].
func (p *parser) hbaseColumns() []Column {
	if p.atMark("[") {
		return p.columnList()
	}
	return []Column{p.listedColumn(nil, true)}
}

// parseStatus parses HBase's status ['simple'].
func parseStatus(p *parser) Statement {
	for p.peek().Kind == lex.Word || p.atMark(",") {
		p.next()
	}
	return &Stats{}
}

// skipIgnored skips an option without effect here.
func (p *parser) skipIgnored() bool {
	if !p.atOption(0) || !dialect.IsIgnored(p.peek().Keyword()) {
		return false
	}
	p.foreign = true
	p.named().skipValue()
	return true
}

// skipValue skips a word, or a bracketed list.
func (p *parser) skipValue() {
	depth := 0
	for !p.atEnd() {
		switch t := p.next(); {
		case t.Kind != lex.Mark:
		case t.Text == "{" || t.Text == "[":
			depth++
		case t.Text == "}" || t.Text == "]":
			depth--
		}
		if depth <= 0 {
			return
		}
	}
}
