package ql

import (
	"math"
	"regexp"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/ql/lex"
)

// What the shell of HBase means otherwise than the language does: its times are
// milliseconds, its values text, its bounds turn round in a reverse scan.

// maxMillis is the last millisecond of the year 9999. What is beyond is taken
// for microseconds, which HBase's statements do not have.
const maxMillis = 253_402_300_799_999

// millis takes a time as HBase writes it: milliseconds since 1970.
func (p *parser) millis() (*lex.Time, error) {
	p.wantKind(ExpectTime)
	t := p.peek()
	if t.Kind != lex.Word {
		return nil, p.unexpected("a time in milliseconds, as in 1706140800000")
	}
	p.next()
	return parseMillis(t.Pos, lex.Join(t.Parts))
}

func parseMillis(at lex.Pos, text string) (*lex.Time, error) {
	if !lex.IsInteger(text) {
		ts, err := lex.ParseTime(at, strings.TrimPrefix(text, "@"))
		if err == nil && ts.Now {
			err = lex.ErrorAt(at, "expected a time in milliseconds, not %s", lex.QuoteText(lex.Clip(text)))
		}
		return ts, err
	}
	n, err := lex.ParseInteger(text)
	if err != nil || n < 0 || n > maxMillis {
		return nil, lex.ErrorAt(at, "HBase's times are milliseconds from 0 to %d, and not %s; smolwc's own statements take microseconds", int64(maxMillis), lex.Clip(text))
	}
	return &lex.Time{Pos: at, At: cells.Timestamp(n * 1000)}, nil
}

// nextMilli is the time a millisecond later: all of a millisecond is one moment
// to HBase.
func nextMilli(t *lex.Time) *lex.Time { return &lex.Time{Pos: t.Pos, At: t.At + 1000} }

// isLastTime reports whether the word is the largest time of HBase's, which
// stands for no bound.
func isLastTime(t lex.Token) bool {
	n, err := lex.ParseInteger(lex.Join(t.Parts))
	return err == nil && n == math.MaxInt64
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
	if t := p.peek(); t.Kind == lex.Word && lex.IsInteger(lex.Join(t.Parts)) && isLastTime(t) {
		p.next()
	} else if to.read.Until, err = p.millis(); err != nil {
		return err
	}
	return p.expect("]")
}

// timestampOption takes HBase's TIMESTAMP => ts: that version and no other.
func (p *parser) timestampOption(to *target) (err error) {
	if to.read.Since, err = p.millis(); err == nil {
		to.read.Until = nextMilli(to.read.Since)
	}
	return err
}

// turnBounds gives the bounds of a reverse scan the meaning that they have in
// HBase: it goes from STARTROW, inclusive, down to STOPROW, exclusive.
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

// hbaseDelete parses the rest of delete 't', 'key', 'cf:a', ts, which is of one
// version, and of deleteall 't', 'key' [, 'cf:a' | 'cf' [, ts]], which is of that
// version and all before. A delete without a time is of the newest version in
// some releases of HBase and of all in others: it is answered, and not run.
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
		return nil, lex.ErrorAt(t.Pos, "HBase's delete of a family by time has no like here; to delete the family in this row write %s", Print(st))
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

// hbaseDeleteTime bounds a delete by the time that follows.
func (p *parser) hbaseDeleteTime(st *Delete, one bool) error {
	if t := p.peek(); !one && t.Kind == lex.Word && lex.IsInteger(lex.Join(t.Parts)) && isLastTime(t) {
		p.next()
		return nil
	}
	at, err := p.millis()
	if err != nil {
		return err
	}
	if st.Until = nextMilli(at); one {
		st.Since = at
	}
	return nil
}

// hbaseConverter is what HBase's shell takes behind a qualifier to show values.
var hbaseConverter = regexp.MustCompile(`:(to[A-Z]\w*|c\(.*\)(\.\w+)?)$`)

// asText is an untyped literal as text, as cbt and HBase store every value; where
// the family declares a type it may still stand for a value of it.
func asText(l lex.Literal) lex.Literal {
	if l.Type == cells.TypeAny {
		l.Quoted, l.Loose = true, true
	}
	return l
}

// plainNumber is how HBase's shell writes a number that it makes text of.
var plainNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,14})(\.([0-9]{0,8}[1-9]|0))?$`)

// hbaseText is asText for a value of HBase's shell, which reads numbers that
// stand without quotes and stores what it has read.
func hbaseText(l lex.Literal) (lex.Literal, error) {
	if number := lex.Spelling(l.Text); l.Type == cells.TypeAny && !l.Quoted && number.Numeric() && !plainNumber.MatchString(l.Text) {
		return l, lex.ErrorAt(l.Pos, "HBase's shell stores another text than %s; quote it", lex.Clip(l.Text))
	}
	return asText(l), nil
}

// OfHBase is a family that HBase's statements make: it keeps one version unless
// they say more.
func (f Family) OfHBase() Family {
	if f.Versions == nil {
		one := 1
		f.Versions = &one
	}
	return f
}

// cbtColumn is a column of cbt's columns=, whose qualifiers are patterns: fam:
// means the family, and a name alone a qualifier of every family.
func cbtColumn(t lex.Token, family string, qualifier []lex.Part, ok bool) (Column, error) {
	text := lex.Join(qualifier)
	switch {
	case !ok || family == "":
		name := text
		if !ok {
			name = lex.Join(t.Parts)
		}
		return Column{}, lex.ErrorAt(t.Pos, "cbt's columns=%s is of every family; name the family, as in columns=FAM:%s, or write scan and columns=FAM:*", lex.Clip(t.Text), lex.QuoteQualifier(name))
	case text == "" || text == ".*" || text == "*":
		return Column{Pos: t.Pos, Family: family, Kind: ColumnFamily}, nil
	case beginsRegexp(qualifier):
		return regexColumn(t, family, qualifier)
	case regexp.QuoteMeta(text) == text:
		return Column{Pos: t.Pos, Family: family, Qualifier: text}, nil
	}
	return Column{Pos: t.Pos, Family: family, Kind: ColumnRegex, Qualifier: text}, nil
}
