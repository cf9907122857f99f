package ql

import (
	"math"
	"regexp"
	"strings"

	"github.com/smolwc/smolwc/cells"
)

// What the shell of HBase means otherwise than the language does: its times are
// milliseconds, its values text, its bounds turn round in a reverse scan.

// maxMillis is the last millisecond of the year 9999. What is beyond is taken
// for microseconds, which HBase's statements do not have.
const maxMillis = 253_402_300_799_999

// millis takes a time as HBase writes it: milliseconds since 1970.
func (p *parser) millis() (*Time, error) {
	p.wantKind(ExpectTime)
	t := p.peek()
	if t.kind != tokenWord {
		return nil, p.unexpected("a time in milliseconds, as in 1706140800000")
	}
	p.next()
	return parseMillis(t.pos, join(t.parts))
}

func parseMillis(at Pos, text string) (*Time, error) {
	if !isInteger(text) {
		ts, err := parseTime(at, strings.TrimPrefix(text, "@"))
		if err == nil && ts.Now {
			err = errorAt(at, "expected a time in milliseconds, not %s", QuoteText(clip(text)))
		}
		return ts, err
	}
	n, err := parseInteger(text)
	if err != nil || n < 0 || n > maxMillis {
		return nil, errorAt(at, "HBase's times are milliseconds from 0 to %d, and not %s; smolwc's own statements take microseconds", int64(maxMillis), clip(text))
	}
	return &Time{Pos: at, At: cells.Timestamp(n * 1000)}, nil
}

// nextMilli is the time a millisecond later: all of a millisecond is one moment
// to HBase.
func nextMilli(t *Time) *Time { return &Time{Pos: t.Pos, At: t.At + 1000} }

// isLastTime reports whether the word is the largest time of HBase's, which
// stands for no bound.
func isLastTime(t token) bool {
	n, err := parseInteger(join(t.parts))
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
	if t := p.peek(); t.kind == tokenWord && isInteger(join(t.parts)) && isLastTime(t) {
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
			return nil, errorAt(p.start, "HBase's delete names a column; to delete the row write %s", Print(st))
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
		return nil, errorAt(t.pos, "HBase's delete of a family by time has no like here; to delete the family in this row write %s", Print(st))
	case one && !timed:
		c := d.Column.String()
		return nil, errorAt(t.pos, "HBase's delete removes the newest version; write %s@TIME for that, with its time from get %s %s columns=%s, or %s for all versions",
			Print(st), QuoteName(table.Text), QuoteKey(st.Key), c, Print(st))
	case timed:
		return st, p.hbaseDeleteTime(st, one)
	}
	return st, nil
}

// hbaseDeleteColumn takes 'cf:a', or 'cf' for a family.
func (p *parser) hbaseDeleteColumn() (DeleteColumn, error) {
	t := p.peek()
	if t.kind != tokenWord {
		return DeleteColumn{}, p.unexpected("a column, as in 'meta:model'")
	}
	if _, _, ok := cutColumn(t); ok {
		c, err := p.exactColumn()
		return DeleteColumn{Column: c}, err
	}
	name, err := p.name("a column or a family")
	return DeleteColumn{Column: Column{Pos: t.pos, Family: name.Text, Kind: ColumnFamily}}, err
}

// hbaseDeleteTime bounds a delete by the time that follows.
func (p *parser) hbaseDeleteTime(st *Delete, one bool) error {
	if t := p.peek(); !one && t.kind == tokenWord && isInteger(join(t.parts)) && isLastTime(t) {
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
func asText(l Literal) Literal {
	if l.Type == cells.TypeAny {
		l.Quoted, l.Loose = true, true
	}
	return l
}

// plainNumber is how HBase's shell writes a number that it makes text of.
var plainNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,14})(\.([0-9]{0,8}[1-9]|0))?$`)

// hbaseText is asText for a value of HBase's shell, which reads numbers that
// stand without quotes and stores what it has read.
func hbaseText(l Literal) (Literal, error) {
	if number := spelling(l.Text); l.Type == cells.TypeAny && !l.Quoted && number.Numeric() && !plainNumber.MatchString(l.Text) {
		return l, errorAt(l.Pos, "HBase's shell stores another text than %s; quote it", clip(l.Text))
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
func cbtColumn(t token, family string, qualifier []part, ok bool) (Column, error) {
	text := join(qualifier)
	switch {
	case !ok || family == "":
		name := text
		if !ok {
			name = join(t.parts)
		}
		return Column{}, errorAt(t.pos, "cbt's columns=%s is of every family; name the family, as in columns=FAM:%s, or write scan and columns=FAM:*", clip(t.text), QuoteQualifier(name))
	case text == "" || text == ".*" || text == "*":
		return Column{Pos: t.pos, Family: family, Kind: ColumnFamily}, nil
	case beginsRegexp(qualifier):
		return regexColumn(t, family, qualifier)
	case regexp.QuoteMeta(text) == text:
		return Column{Pos: t.pos, Family: family, Qualifier: text}, nil
	}
	return Column{Pos: t.pos, Family: family, Kind: ColumnRegex, Qualifier: text}, nil
}
