package ql

import (
	"strings"

	"github.com/smolwc/smolwc/ql/dialect"
	"github.com/smolwc/smolwc/ql/lex"
)

// cutColumn splits a column word at its colon. A word in quotes as a whole ('cf:a', as
// HBase writes it) splits at the colon inside, without wildcards. ok is false when there
// is no colon.
func cutColumn(t lex.Token) (family string, qualifier []lex.Part, ok bool) {
	if len(t.Parts) == 1 && t.Parts[0].Quote != lex.Bare {
		p := t.Parts[0]
		family, p.Text, ok = strings.Cut(p.Text, ":")
		return family, []lex.Part{p}, ok
	}
	for i, p := range t.Parts {
		n := strings.IndexByte(p.Text, ':')
		if p.Quote != lex.Bare || n < 0 {
			family += p.Text
			continue
		}
		if rest := p.Text[n+1:]; rest != "" {
			qualifier = []lex.Part{{Quote: lex.Bare, Text: rest, Pos: p.Pos.Plus(n + 1)}}
		}
		return family + p.Text[:n], append(qualifier, t.Parts[i+1:]...), true
	}
	return family, nil, false
}

// exactColumn parses the name of a single column, as put and where need it.
func (p *parser) exactColumn() Column {
	p.wantColumn("")
	t := p.peek()
	if t.Kind != lex.Word {
		panic(p.unexpected("a column, as in meta:model"))
	}
	c := columnOf(t)
	if last := t.Text[len(t.Text)-1]; p.peekAt(1).Glued && p.isMark(1, "=") && c.Qualifier != "" && strings.IndexByte("+-~^%:", last) >= 0 {
		panic(lex.ErrorAt(t.Pos, "there is no %c=; quote a qualifier that ends in %c, as in %s", last, last, lex.QuoteColumn(c.Family, c.Qualifier)))
	}
	if c.Kind != ColumnExact || p.peekAt(1).Glued && p.peekAt(1).Text == "[" {
		panic(lex.ErrorAt(t.Pos, "%s means several columns; name one here (quote a * that belongs to the name)", lex.QuoteText(lex.Clip(t.Text))))
	}
	p.next()
	return c
}

// columnOf returns the column that a word names. The word may end in a wildcard.
func columnOf(t lex.Token) Column {
	family, qualifier, ok := cutColumn(t)
	if !ok {
		panic(lex.ErrorAt(t.Pos, "%s is not a column; write family:qualifier", lex.QuoteText(lex.Clip(t.Text))))
	}
	if family == "" {
		panic(lex.ErrorAt(t.Pos, "the family is missing in %s; write family:qualifier", lex.QuoteText(lex.Clip(t.Text))))
	}
	return qualified(t.Pos, family, qualifier)
}

// qualified makes a column of a family and the parts of a qualifier.
func qualified(at lex.Pos, family string, qualifier []lex.Part) Column {
	c := Column{Pos: at, Family: family, Qualifier: lex.Join(qualifier)}
	for i, q := range qualifier {
		n := strings.IndexByte(q.Text, '*')
		if q.Quote != lex.Bare || n < 0 {
			continue
		}
		if n < len(q.Text)-1 || i < len(qualifier)-1 {
			panic(lex.ErrorAt(q.Pos.Plus(n), "* stands only at the end of a qualifier, for all that begin like it; quote it if it belongs to the name"))
		}
		c.Kind = ColumnPrefix
		c.Qualifier = strings.TrimSuffix(c.Qualifier, "*")
		if c.Qualifier == "" {
			c.Kind = ColumnFamily
		}
	}
	return c
}

// columnList parses columns=a:b,c,d:*,e:[x..y). A word without a colon is a qualifier
// in the family of the preceding column, as in cbt. If no column precedes it, or inside
// HBase's brackets, it means the whole family.
func (p *parser) columnList() []Column {
	brackets := p.accept("[")
	var list []Column
	for len(list) == 0 || p.listGoesOn() {
		list = append(list, p.listedColumn(list, brackets))
	}
	if brackets {
		p.expect("]")
	}
	return list
}

func (p *parser) listedColumn(before []Column, hbase bool) Column {
	inherited := ""
	if n := len(before) - 1; n >= 0 && before[n].Kind == ColumnExact && !hbase {
		inherited = before[n].Family
	}
	p.wantColumn(inherited)
	t := p.peek()
	if t.Kind != lex.Word {
		panic(p.unexpected("a column, as in meta:model or meta:*"))
	}
	if bracket := p.peekAt(1); bracket.Glued && bracket.Text == "[" && strings.HasSuffix(t.Text, ":") {
		return p.columnRange()
	}
	p.next()
	family, qualifier, ok := cutColumn(t)
	if plain, converted := dialect.CutConverter(lex.Join(qualifier)); ok && converted && p.foreign && !p.isCbtRead() {
		panic(lex.ErrorAt(t.Pos, "values have types here, and are not converted; write %s", Column{Family: family, Qualifier: plain}))
	}
	switch {
	case p.isCbtRead():
		return cbtColumn(t, family, qualifier, ok)
	case ok && beginsRegexp(qualifier):
		return regexColumn(t, family, qualifier)
	case ok:
		return columnOf(t)
	case inherited != "":
		return qualified(t.Pos, inherited, t.Parts)
	}
	if family == "" {
		panic(lex.ErrorAt(t.Pos, "the name of a family is empty"))
	}
	return Column{Pos: t.Pos, Family: family, Kind: ColumnFamily}
}

// beginsRegexp reports whether a qualifier in a list is a pattern: /re/.
func beginsRegexp(qualifier []lex.Part) bool {
	return len(qualifier) > 0 && qualifier[0].Quote == lex.Bare && strings.HasPrefix(qualifier[0].Text, "/")
}

// regexColumn makes a column of fam:/re/; the pattern may be in quotes between
// its slashes.
func regexColumn(t lex.Token, family string, qualifier []lex.Part) Column {
	expr, ok := cutSlashes(qualifier)
	if !ok {
		panic(lex.ErrorAt(qualifier[0].Pos, "a qualifier that begins with / is quoted here, as in meta:\"/path\"; a pattern ends with /, as in meta:/mi.*/"))
	}
	if family == "" {
		panic(lex.ErrorAt(t.Pos, "the family is missing in %s; write family:/pattern/", lex.QuoteText(lex.Clip(t.Text))))
	}
	return Column{Pos: t.Pos, Family: family, Kind: ColumnRegex, Qualifier: expr}
}

// cutSlashes takes the bare slashes off a pattern.
func cutSlashes(parts []lex.Part) (string, bool) {
	first, last := parts[0], parts[len(parts)-1]
	text := lex.Join(parts)
	if first.Quote != lex.Bare || last.Quote != lex.Bare || len(text) < 2 || first.Text[0] != '/' || last.Text[len(last.Text)-1] != '/' {
		return text, false
	}
	return text[1 : len(text)-1], true
}

// columnRange parses fam:[a..b). Either bound may be missing.
func (p *parser) columnRange() Column {
	t := p.next()
	p.next() // [
	c := columnOf(t)
	if c.Qualifier != "" || c.Kind != ColumnExact {
		panic(lex.ErrorAt(t.Pos, "%s[ is not a range of qualifiers; write family:[a..n)", lex.Printable(lex.Clip(t.Text))))
	}
	c.Kind = ColumnRange
	bounds := p.peek()
	if bounds.Kind != lex.Word {
		panic(p.unexpected("a range of qualifiers, as in meta:[a..n)"))
	}
	p.next()
	var ok bool
	if c.Start, c.End, ok = cutRange(bounds.Parts); !ok {
		panic(lex.ErrorAt(bounds.Pos, "%s is not a range of qualifiers; write meta:[a..n)", lex.QuoteText(lex.Clip(bounds.Text))))
	}
	p.expect(")")
	return c
}

// cutRange splits the parts at the first bare "..".
func cutRange(parts []lex.Part) (start, end string, ok bool) {
	for i, p := range parts {
		n := strings.Index(p.Text, "..")
		if p.Quote == lex.Bare && n >= 0 {
			return start + p.Text[:n], p.Text[n+2:] + lex.Join(parts[i+1:]), true
		}
		start += p.Text
	}
	return "", "", false
}

// String returns the column in the language's syntax.
func (c Column) String() string {
	family := lex.QuoteColumn(c.Family, "")
	switch c.Kind {
	case ColumnFamily:
		return family + "*"
	case ColumnPrefix:
		return family + lex.QuoteQualifier(c.Qualifier) + "*"
	case ColumnRange:
		return family + "[" + quoteBound(c.Start) + ".." + quoteBound(c.End) + ")"
	case ColumnRegex:
		return family + "/" + lex.QuoteText(c.Qualifier) + "/"
	}
	return family + lex.QuoteQualifier(c.Qualifier)
}

// quoteBound writes a bound of a range; a point beside the .. would be ambiguous.
func quoteBound(s string) string {
	if strings.Contains(s, ".") && s != "" {
		return lex.QuoteText(s)
	}
	return lex.QuoteQualifier(s)
}
