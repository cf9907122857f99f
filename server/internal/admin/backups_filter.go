package admin

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// A backupFilter reports whether a backup is selected.
type backupFilter func(*adminpb.Backup) bool

// A backupField is a field that backups are filtered and sorted by: a text, a
// number, or a time.
type backupField struct {
	text   func(*adminpb.Backup) string
	number func(*adminpb.Backup) int64
	time   func(*adminpb.Backup) *timestamppb.Timestamp
}

func backupFieldNamed(name string) (backupField, error) {
	switch strings.ToLower(name) {
	case "name":
		return backupField{text: (*adminpb.Backup).GetName}, nil
	case "source_table":
		return backupField{text: (*adminpb.Backup).GetSourceTable}, nil
	case "state":
		return backupField{text: func(m *adminpb.Backup) string { return m.GetState().String() }}, nil
	case "size_bytes":
		return backupField{number: (*adminpb.Backup).GetSizeBytes}, nil
	case "start_time":
		return backupField{time: (*adminpb.Backup).GetStartTime}, nil
	case "end_time":
		return backupField{time: (*adminpb.Backup).GetEndTime}, nil
	case "expire_time":
		return backupField{time: (*adminpb.Backup).GetExpireTime}, nil
	}
	return backupField{}, fmt.Errorf("there is no field %q; there are name, source_table, state, start_time, end_time, expire_time and size_bytes", name)
}

func (f *backupField) compare(a, b *adminpb.Backup) int {
	switch {
	case f.text != nil:
		return strings.Compare(f.text(a), f.text(b))
	case f.number != nil:
		return cmp.Compare(f.number(a), f.number(b))
	}
	return f.time(a).AsTime().Compare(f.time(b).AsTime())
}

// A backupLexer splits a filter into words: parentheses, operators, texts.
type backupLexer struct {
	rest string
	word string // the current one, "" at the end
	text string // of a text in quotes
	kind wordKind
}

type wordKind uint8

const (
	wordEnd wordKind = iota
	wordSign
	wordBare
	wordQuoted
)

// backupSigns are the operators and parentheses, longest first.
var backupSigns = []string{"<=", ">=", "!=", "<", ">", "=", ":", "(", ")"}

func (l *backupLexer) next() error {
	l.rest = strings.TrimLeft(l.rest, " \t\r\n")
	l.kind, l.word, l.text = wordEnd, "", ""
	if l.rest == "" {
		return nil
	}
	for _, sign := range backupSigns {
		if strings.HasPrefix(l.rest, sign) {
			l.kind, l.word, l.rest = wordSign, sign, l.rest[len(sign):]
			return nil
		}
	}
	if quote := l.rest[0]; quote == '"' || quote == '\'' {
		end := strings.IndexByte(l.rest[1:], quote)
		if end < 0 {
			return fmt.Errorf("the text %s has no end", l.rest)
		}
		l.kind, l.text, l.word, l.rest = wordQuoted, l.rest[1:1+end], l.rest[:end+2], l.rest[end+2:]
		return nil
	}
	// A time has colons.
	end := strings.IndexAny(l.rest, " \t\r\n<>=!()\"'")
	if end < 0 {
		end = len(l.rest)
	}
	if colon := strings.IndexByte(l.rest[:end], ':'); colon > 0 && !isDigit(l.rest[0]) {
		end = colon
	}
	if end == 0 {
		return fmt.Errorf("%q is not understood", l.rest)
	}
	l.kind, l.word, l.rest = wordBare, l.rest[:end], l.rest[end:]
	l.text = l.word
	return nil
}

func (l *backupLexer) is(word string) bool {
	return l.kind == wordSign && l.word == word || l.kind == wordBare && strings.EqualFold(l.word, word)
}

// A backupParser reads comparisons, NOT, AND, OR and parentheses. AND may be left
// out, and OR binds more tightly than AND.
type backupParser struct {
	backupLexer
	depth int // of parentheses, up to maxListDepth
}

func parseBackupFilter(text string) (backupFilter, error) {
	p := &backupParser{backupLexer: backupLexer{rest: text}}
	if err := p.next(); err != nil {
		return nil, err
	}
	if p.kind == wordEnd {
		return func(*adminpb.Backup) bool { return true }, nil
	}
	f, err := p.all()
	if err == nil && p.kind != wordEnd {
		err = fmt.Errorf("%q is too much", p.word)
	}
	return f, err
}

// maxListDepth keeps the parser from recursing without end.
const maxListDepth = 20

// all parses a list whose parts must all hold.
func (p *backupParser) all() (backupFilter, error) {
	if p.depth++; p.depth > maxListDepth {
		return nil, fmt.Errorf("more than %d levels", maxListDepth)
	}
	defer func() { p.depth-- }()
	var parts []backupFilter
	for {
		f, err := p.any()
		if err != nil {
			return nil, err
		}
		parts = append(parts, f)
		if p.kind == wordEnd || p.is(")") {
			break
		}
		if p.is("AND") {
			if err := p.next(); err != nil {
				return nil, err
			}
		}
	}
	return func(m *adminpb.Backup) bool {
		return !slices.ContainsFunc(parts, func(f backupFilter) bool { return !f(m) })
	}, nil
}

// any parses a list with at least one part that must hold.
func (p *backupParser) any() (backupFilter, error) {
	var parts []backupFilter
	for {
		f, err := p.not()
		if err != nil {
			return nil, err
		}
		parts = append(parts, f)
		if !p.is("OR") {
			break
		}
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	return func(m *adminpb.Backup) bool {
		return slices.ContainsFunc(parts, func(f backupFilter) bool { return f(m) })
	}, nil
}

func (p *backupParser) not() (backupFilter, error) {
	negated := false
	for p.is("NOT") {
		negated = !negated
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	f, err := p.one()
	if err != nil || !negated {
		return f, err
	}
	return func(m *adminpb.Backup) bool { return !f(m) }, nil
}

func (p *backupParser) one() (backupFilter, error) {
	if p.is("(") {
		if err := p.next(); err != nil {
			return nil, err
		}
		f, err := p.all()
		if err != nil {
			return nil, err
		}
		if !p.is(")") {
			return nil, fmt.Errorf("a parenthesis is not closed")
		}
		return f, p.next()
	}
	return p.comparison()
}

func (p *backupParser) comparison() (backupFilter, error) {
	if p.kind != wordBare {
		return nil, fmt.Errorf("there is %q where a field should be", p.word)
	}
	name := p.word
	field, err := backupFieldNamed(name)
	if err != nil {
		return nil, err
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	op := p.word
	if p.kind != wordSign || op == "(" || op == ")" {
		return nil, fmt.Errorf("%s is followed by %q; it must be one of : = != < <= > >=", name, op)
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	if p.kind != wordBare && p.kind != wordQuoted {
		return nil, fmt.Errorf("%s %s is followed by no value", name, op)
	}
	f, err := field.filter(op, p.text, p.kind == wordQuoted)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, p.next()
}

// filter compares the field with a value.
func (f backupField) filter(op, value string, quoted bool) (backupFilter, error) {
	switch {
	case f.text != nil:
		return f.textFilter(op, value, quoted), nil
	case f.number != nil:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number", value)
		}
		return func(m *adminpb.Backup) bool { return compares(op, cmp.Compare(f.number(m), n)) }, nil
	}
	t, err := time.Parse(time.RFC3339Nano, value)
	if err != nil {
		return nil, fmt.Errorf("%q is not a time like 2006-01-02T15:04:05Z", value)
	}
	return func(m *adminpb.Backup) bool { return compares(op, f.time(m).AsTime().Compare(t)) }, nil
}

// textFilter compares texts without regard to case. A colon asks for a part of the
// text, unless the text is in quotes. A text without a slash is compared with the
// last part of a name.
func (f backupField) textFilter(op, value string, quoted bool) backupFilter {
	value = strings.ToLower(value)
	return func(m *adminpb.Backup) bool {
		text := strings.ToLower(f.text(m))
		if !strings.Contains(value, "/") {
			text = text[strings.LastIndexByte(text, '/')+1:]
		}
		if op == ":" && !quoted {
			return strings.Contains(text, value)
		}
		return compares(op, strings.Compare(text, value))
	}
}

// compares turns the outcome of a comparison into an operator's result.
func compares(op string, c int) bool {
	switch op {
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	case ">=":
		return c >= 0
	case "!=":
		return c != 0
	}
	return c == 0 // = and :
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
