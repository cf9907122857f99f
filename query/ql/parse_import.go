package ql

import (
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/ql/lex"
	"github.com/smolwc/smolwc/schema"
)

var importOptions = []string{"key", "columns", "ts", "na", "bad-lines", "batch", "again", "overlap"}

// importFlag is where an option that is said or not goes; nil for others.
func importFlag(st *Import, word string) *bool {
	switch word {
	case "again":
		return &st.Again
	case "overlap":
		return &st.Overlap
	}
	return nil
}

// parseImport parses import T from 'file' key='..' columns=.. [ts=] [na=]
// [bad-lines=] [batch=] [again] [overlap].
func parseImport(p *parser) (Statement, error) {
	st := &Import{}
	var err error
	if st.Table, err = p.tableName(); err != nil {
		return nil, err
	}
	if !p.acceptWord("from") {
		return nil, p.unexpected("from, as in import %s from 'file.csv'", lex.QuoteName(st.Table.Text))
	}
	p.wantKind(ExpectFile)
	if st.Path, err = p.text("a file, as in 'flights.csv.gz'"); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for p.moreImportOptions(seen) {
		if err := p.importOption(st, seen); err != nil {
			return nil, err
		}
	}
	if !seen["key"] && !seen["columns"] {
		return st, nil // a file that export wrote says it all
	}
	for _, name := range []string{"key", "columns"} {
		if !seen[name] {
			return nil, lex.ErrorAt(p.peek().Pos, "import needs %s=, as in key='plane#{tailnum}' columns=meta:model=model", name)
		}
	}
	return st, nil
}

func (p *parser) moreImportOptions(seen map[string]bool) bool {
	for _, word := range importOptions {
		if !seen[word] {
			if importFlag(new(Import), word) == nil {
				word += "="
			}
			p.wantOneOf(ExpectOption, word)
		}
	}
	return !p.atEnd()
}

func (p *parser) importOption(st *Import, seen map[string]bool) (err error) {
	t := p.peek()
	word := strings.ReplaceAll(t.Keyword(), "_", "-")
	flag := importFlag(st, word)
	if flag == nil && !p.atOption(0) {
		return p.unexpected("an option of import (%s)", strings.Join(importOptions, ", "))
	}
	if seen[word] {
		return lex.ErrorAt(t.Pos, "%s is given twice", word)
	}
	seen[word] = true
	p.next()
	if flag != nil {
		*flag, err = p.flag()
		return err
	}
	p.next()
	switch word {
	case "key":
		st.Key, err = p.text("a template, as in 'plane#{tailnum}'")
		if err == nil && st.Key == "" {
			err = lex.ErrorAt(t.Pos, "the key's template is empty")
		}
	case "columns":
		st.Columns, err = p.mappings()
	case "ts":
		st.Timestamp, err = p.text("the field that holds the timestamp")
	case "na":
		st.NA, err = p.text("the text that stands for no value")
	case "bad-lines":
		st.BadLines, err = p.number("how many bad lines to tolerate", 0)
	case "batch":
		st.Batch, err = p.number("how many rows to write at once", 1)
	default:
		err = lex.ErrorAt(t.Pos, "import has no option %s%s; its options are %s", t.Describe(), schema.DidYouMean(word, importOptions), strings.Join(importOptions, ", "))
	}
	return err
}

// mappings parses FAM:QUAL=FIELD[:TYPE],... Without a family it is that of the
// mapping before; without a field it is the one called like the qualifier, or like
// the column.
func (p *parser) mappings() ([]Mapping, error) {
	var list []Mapping
	for {
		m, err := p.mapping(list)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
		if !p.accept(",") {
			return list, nil
		}
	}
}

func (p *parser) mapping(before []Mapping) (m Mapping, err error) {
	p.wantColumn("")
	t := p.peek()
	if _, _, hasFamily := cutColumn(t); t.Kind == lex.Word && !hasFamily && len(before) > 0 {
		p.next()
		m.Column, err = qualified(t.Pos, before[len(before)-1].Column.Family, t.Parts)
	} else {
		m.Column, err = p.exactColumn()
	}
	if err == nil && m.Column.Kind != ColumnExact {
		err = lex.ErrorAt(t.Pos, "%s means several columns; name one here", lex.QuoteText(lex.Clip(t.Text)))
	}
	if err != nil {
		return m, err
	}
	if m.Field = m.Column.Qualifier; !p.accept("=") {
		return m, nil
	}
	p.wantText(ExpectText, "the name of a field")
	field := p.peek()
	if field.Kind != lex.Word {
		return m, p.unexpected("the name of a field")
	}
	p.next()
	m.Field, m.Type, err = fieldType(field)
	if err != nil && lex.Join(field.Parts) == m.Column.Family+":"+m.Column.Qualifier { // as export calls it
		m.Field, m.Type, err = lex.Join(field.Parts), cells.TypeAny, nil
	}
	return m, err
}

// fieldType splits FIELD:TYPE at the last bare colon.
func fieldType(t lex.Token) (field string, typ cells.Type, err error) {
	last := t.Parts[len(t.Parts)-1]
	n := strings.LastIndexByte(last.Text, ':')
	if last.Quote != lex.Bare || n < 0 {
		return lex.Join(t.Parts), cells.TypeAny, nil
	}
	if typ, err = cells.ParseType(strings.ToLower(last.Text[n+1:])); err != nil {
		return "", typ, lex.ErrorAt(last.Pos.Plus(n+1), "%s; quote the field's name if the colon belongs to it", err)
	}
	return lex.Join(t.Parts[:len(t.Parts)-1]) + last.Text[:n], typ, nil
}
