package shell

import (
	"encoding/base64"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// A separated prints csv and tsv. If a statement names each of its columns, a line is a
// row with those columns; otherwise a line is a cell: key, column, timestamp in
// microseconds, type, value. Text is printed as is, bytes in base64. Keys and columns
// that are not printable text, or begin with a quote, are printed as words of the
// language.
type separated struct {
	*view
	record  func(fields []field, terminal bool) string
	columns []ql.Column
	begun   bool
}

// A field of a record. An absent field is empty; a present field that is empty looks
// different.
type field struct {
	text    string
	present bool
}

func newSeparated(v *view, record func([]field, bool) string) *separated {
	return &separated{view: v, record: record, columns: v.exactColumns()}
}

func (p *separated) row(r *query.Row) error {
	if err := p.header(); err != nil {
		return err
	}
	key := p.keyText(r.Key())
	switch {
	case p.stream.KeysOnly:
		return p.write(key)
	case p.columns != nil:
		return p.wide(r, key)
	}
	for c := range r.Cells() {
		column := columnText(c.Family, c.Qualifier)
		if err := p.write(key, column, c.Timestamp.String(), c.Value.Type().String(), plainValue(c.Value)); err != nil {
			return err
		}
	}
	return nil
}

func (p *separated) wide(r *query.Row, key string) error {
	fields := []field{{key, true}}
	for _, c := range p.columns {
		cell, ok := r.Cell(c.Family, c.Qualifier)
		f := field{present: ok}
		if ok {
			f.text = plainValue(cell.Value)
		}
		fields = append(fields, f)
	}
	_, err := p.out.WriteString(p.record(fields, p.out.terminal))
	return err
}

func (p *separated) keyText(key string) string {
	if p.stream.Table.KeyFormat == schema.TupleKeys {
		return p.key(key)
	}
	if isPlain(key) {
		return key
	}
	return lex.QuoteKey(key)
}

// header writes the names of the fields, once.
func (p *separated) header() error {
	if p.begun {
		return nil
	}
	p.begun = true
	names := []string{"key"}
	switch {
	case p.stream.KeysOnly:
	case p.columns != nil:
		for _, c := range p.columns {
			names = append(names, columnText(c.Family, c.Qualifier))
		}
	default:
		names = append(names, "column", "timestamp", "type", "value")
	}
	return p.write(names...)
}

func (p *separated) write(texts ...string) error {
	_, err := p.out.WriteString(p.record(presentFields(texts), p.out.terminal))
	return err
}

func presentFields(texts []string) []field {
	fields := make([]field, len(texts))
	for i, t := range texts {
		fields[i] = field{t, true}
	}
	return fields
}

func (p *separated) end() error { return p.header() }

// plainValue returns the value without quotes; bytes are in base64.
func plainValue(v cells.Value) string {
	if b, ok := v.AsBytes(); ok {
		return base64.StdEncoding.EncodeToString(b)
	}
	return v.String()
}

func columnText(family, qualifier string) string {
	if isPlain(qualifier) {
		return family + ":" + qualifier
	}
	return lex.QuoteColumn(family, qualifier)
}

// isPlain reports whether a key or a qualifier is printed as is: it is printable and
// does not begin with a quote.
func isPlain(s string) bool { return lex.IsPrintable(s) && !strings.HasPrefix(s, `"`) }

// csvRecord returns a record of RFC 4180. On a terminal, unprintable characters are
// escaped.
func csvRecord(fields []field, terminal bool) string {
	var b strings.Builder
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		text := f.text
		if terminal && !lex.IsPrintable(text) {
			text = lex.Escape(text)
		}
		if f.present && text == "" || strings.ContainsAny(text, ",\"\r\n") || text != strings.TrimSpace(text) {
			text = `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
		}
		b.WriteString(text)
	}
	return b.String() + "\n"
}

// tsvRecord returns a line of tab-separated fields. Backslashes and unprintable
// characters are escaped.
func tsvRecord(fields []field, _ bool) string {
	var b strings.Builder
	for i, f := range fields {
		if i > 0 {
			b.WriteByte('\t')
		}
		b.WriteString(lex.Escape(strings.ReplaceAll(f.text, `\`, `\\`)))
	}
	return b.String() + "\n"
}
