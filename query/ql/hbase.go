package ql

import (
	"strings"

	"github.com/smolwc/smolwc/query/ql/dialect"
	"github.com/smolwc/smolwc/query/ql/lex"
)

// hbaseCreate parses 't', 'cf', {NAME => 'cf2', VERSIONS => 3, TTL => 3600}, ...
func (p *parser) hbaseCreate() (Statement, error) {
	p.foreign = true
	st := &CreateTable{}
	var err error
	if st.Table, err = p.newName("the table's name"); err != nil {
		return nil, err
	}
	for p.accept(",") {
		f, isFamily, err := p.hbaseFamily(nil)
		if err != nil {
			return nil, err
		}
		if isFamily {
			st.Families = append(st.Families, f.OfHBase())
		}
	}
	if len(st.Families) == 0 {
		return nil, p.unexpected("a family")
	}
	return st, nil
}

// hbaseFamily parses 'cf', or {NAME => 'cf', VERSIONS => 3}, also without its braces.
// It skips storage options; isFamily is false if there was nothing else. If method is
// not nil, METHOD is allowed and its value is stored there.
func (p *parser) hbaseFamily(method *string) (f Family, isFamily bool, err error) {
	if p.peek().Kind == lex.Word && !p.atOption(0) {
		f.Name, err = p.newName("a family")
		return f, true, err
	}
	at := p.peek().Pos
	braces := p.accept("{")
	said := false
	for {
		switch word := p.peek().Keyword(); {
		case !p.atOption(0):
			return f, false, p.unexpected("NAME => 'family'")
		case word == "name":
			p.next()
			p.equals()
			f.Name, err = p.newName("the family's name")
		case word == "method" && method != nil:
			p.next()
			p.equals()
			*method, err = p.text("'delete'")
		case word == "min_versions" || word == "keep_deleted_cells":
			err = p.hbaseUnkept("versions=N ttl=AGE drop=both keeps the newest N versions of any age, and deleted cells are not kept")
		case word == "readonly":
			err = p.hbaseUnkept("the flag --read-only opens a whole database for reading only")
		case dialect.IsStorage(word):
			p.next()
			p.equals()
			p.skipValue()
		default:
			said = true
			err = p.familyOption(&f)
		}
		if err != nil {
			return f, false, err
		}
		if !p.atMark(",") || !braces && !p.atOption(1) {
			break
		}
		p.next()
	}
	if braces {
		err = p.expect("}")
	}
	if f.Name.Text == "" && said && err == nil {
		err = lex.ErrorAt(at, "the family's NAME is missing")
	}
	return f, f.Name.Text != "", err
}

// hbaseUnkept parses options such as MIN_VERSIONS => 0 and KEEP_DELETED_CELLS => false.
// Other values are not supported.
func (p *parser) hbaseUnkept(instead string) error {
	t := p.next()
	p.equals()
	value, err := p.text("0 or false")
	if err == nil && value != "0" && !strings.EqualFold(value, "false") {
		err = lex.ErrorAt(t.Pos, "there is no option %s; %s", t.Describe(), instead)
	}
	return err
}

// hbaseAlter parses alter 't', 'cf' | NAME => 'cf', VERSIONS => 3 | {..} | NAME => 'cf',
// METHOD => 'delete' | 'delete' => 'cf'. It makes one change.
func (p *parser) hbaseAlter() (Statement, error) {
	p.foreign = true
	table, err := p.tableNamed()
	if err != nil {
		return nil, err
	}
	if err := p.expect(","); err != nil {
		return nil, err
	}
	if t := p.peek(); t.Kind == lex.Word && lex.Join(t.Parts) == "delete" && p.isMark(1, "=>") {
		p.next()
		p.next()
		return p.alterFamily(table, "drop")
	}
	method := ""
	at := p.peek().Pos
	f, isFamily, err := p.hbaseFamily(&method)
	switch {
	case err != nil:
		return nil, err
	case !isFamily:
		return nil, lex.ErrorAt(at, "smolwc chooses by itself how a table is stored; alter table %s set F ttl=30d versions=3 sets retention", lex.QuoteName(table.Text))
	case p.atMark(","):
		return nil, p.unexpected("the end of the statement: alter one family at a time")
	case method == "delete":
		return &DropFamily{Table: table, Family: f.Name, Yes: p.acceptWord("yes")}, nil
	case method != "":
		return nil, lex.ErrorAt(at, "there is no METHOD %s; a family is added, set, or deleted with METHOD => 'delete'", lex.QuoteText(lex.Clip(method)))
	}
	return &SetFamily{Table: table, Family: f, Add: true, Yes: p.acceptWord("yes")}, nil
}

// OfHBase returns the family that an HBase statement makes: it keeps one version by
// default.
func (f Family) OfHBase() Family {
	if f.Versions == nil {
		one := 1
		f.Versions = &one
	}
	return f
}

// millis parses a time as HBase writes it: milliseconds since 1970.
func (p *parser) millis() (*lex.Time, error) {
	p.wantKind(ExpectTime)
	t := p.peek()
	if t.Kind != lex.Word {
		return nil, p.unexpected("a time in milliseconds, as in 1706140800000")
	}
	p.next()
	return dialect.ParseMillis(t.Pos, lex.Join(t.Parts))
}

// timeRangeOption takes HBase's TIMERANGE => [since, until].
func (p *parser) timeRangeOption(to *target) (err error) {
	if err = p.expect("["); err != nil {
		return err
	}
	if to.read.Since, err = p.millis(); err != nil {
		return err
	}
	if err = p.expect(","); err != nil {
		return err
	}
	if t := p.peek(); t.Kind == lex.Word && dialect.IsLastTime(lex.Join(t.Parts)) {
		p.next()
	} else if to.read.Until, err = p.millis(); err != nil {
		return err
	}
	return p.expect("]")
}

// timestampOption parses HBase's TIMESTAMP => ts, which selects the version of that
// millisecond.
func (p *parser) timestampOption(to *target) (err error) {
	if to.read.Since, err = p.millis(); err == nil {
		to.read.Until = dialect.NextMilli(to.read.Since)
	}
	return err
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
func (p *parser) hbaseDelete(table Name) (Statement, error) {
	st := &Delete{Table: table}
	var err error
	if st.Key, err = p.key(); err != nil {
		return nil, err
	}
	one := p.spelt != "deleteall"
	if !p.skipComma() {
		if one && p.atEnd() {
			return nil, lex.ErrorAt(p.start, "HBase's delete names a column; to delete the row write %s", Print(st))
		}
		return st, nil
	}
	t := p.peek()
	d, err := p.hbaseDeleteColumn()
	if err != nil {
		return nil, err
	}
	st.Columns = []DeleteColumn{d}
	family := d.Column.Kind == ColumnFamily
	switch timed := p.skipComma(); {
	case family && (one || timed):
		return nil, lex.ErrorAt(t.Pos, "HBase's delete of a family by time has no equivalent here; to delete the family in this row write %s", Print(st))
	case one && !timed:
		c := d.Column.String()
		return nil, lex.ErrorAt(t.Pos, "HBase's delete removes the newest version; write %s@TIME for that, with its time from get %s %s columns=%s, or %s for all versions",
			Print(st), lex.QuoteName(table.Text), lex.QuoteKey(st.Key), c, Print(st))
	case timed:
		return st, p.hbaseDeleteTime(st, one)
	}
	return st, nil
}

// hbaseDeleteColumn takes 'cf:a', or 'cf' for a family.
func (p *parser) hbaseDeleteColumn() (DeleteColumn, error) {
	t := p.peek()
	if t.Kind != lex.Word {
		return DeleteColumn{}, p.unexpected("a column, as in 'meta:model'")
	}
	if _, _, ok := cutColumn(t); ok {
		c, err := p.exactColumn()
		return DeleteColumn{Column: c}, err
	}
	name, err := p.name("a column or a family")
	return DeleteColumn{Column: Column{Pos: t.Pos, Family: name.Text, Kind: ColumnFamily}}, err
}

// hbaseDeleteTime parses the time that bounds a delete.
func (p *parser) hbaseDeleteTime(st *Delete, one bool) error {
	if t := p.peek(); !one && t.Kind == lex.Word && dialect.IsLastTime(lex.Join(t.Parts)) {
		p.next()
		return nil
	}
	at, err := p.millis()
	if err != nil {
		return err
	}
	if st.Until = dialect.NextMilli(at); one {
		st.Since = at
	}
	return nil
}

// atHBaseColumn reports whether a comma and a column, or a list of them, follow.
func (p *parser) atHBaseColumn() bool {
	return p.atMark(",") && (p.peekAt(1).Kind == lex.Word && !p.atOption(1) || p.isMark(1, "["))
}

// hbaseColumns takes 'cf:a', or ['cf:a', 'cf:b'].
func (p *parser) hbaseColumns() ([]Column, error) {
	if p.atMark("[") {
		return p.columnList()
	}
	c, err := p.listedColumn(nil, true)
	return []Column{c}, err
}

// parseStatus parses HBase's status ['simple'].
func parseStatus(p *parser) (Statement, error) {
	for p.peek().Kind == lex.Word || p.atMark(",") {
		p.next()
	}
	return &Stats{}, nil
}

// skipIgnored skips an option that has no effect here.
func (p *parser) skipIgnored() bool {
	if !p.atOption(0) || !dialect.IsIgnored(p.peek().Keyword()) {
		return false
	}
	p.foreign = true
	p.next()
	p.equals()
	p.skipValue()
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
