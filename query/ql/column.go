package ql

import "strings"

// cutColumn splits a column word at its colon. A word in quotes as a whole
// ('cf:a', as HBase writes it) splits at the colon inside; it has no wildcards.
// ok is false when there is no colon.
func cutColumn(t token) (family string, qualifier []part, ok bool) {
	if len(t.parts) == 1 && t.parts[0].quote != bare {
		p := t.parts[0]
		family, p.text, ok = strings.Cut(p.text, ":")
		return family, []part{p}, ok
	}
	for i, p := range t.parts {
		n := strings.IndexByte(p.text, ':')
		if p.quote != bare || n < 0 {
			family += p.text
			continue
		}
		if rest := p.text[n+1:]; rest != "" {
			qualifier = []part{{bare, rest, Pos{p.pos.Line, p.pos.Col + n + 1}}}
		}
		return family + p.text[:n], append(qualifier, t.parts[i+1:]...), true
	}
	return family, nil, false
}

// exactColumn parses a column that must be one: in put, where and the like.
func (p *parser) exactColumn() (Column, error) {
	p.wantColumn("")
	t := p.peek()
	if t.kind != tokenWord {
		return Column{}, p.unexpected("a column, as in meta:model")
	}
	c, err := columnOf(t)
	if err != nil {
		return Column{}, err
	}
	if last := t.text[len(t.text)-1]; p.peekAt(1).glued && p.isMark(1, "=") && c.Qualifier != "" && strings.IndexByte("+-~^%:", last) >= 0 {
		return Column{}, errorAt(t.pos, "there is no %c=; quote a qualifier that ends in %c, as in %s", last, last, QuoteColumn(c.Family, c.Qualifier))
	}
	if c.Kind != ColumnExact || p.peekAt(1).glued && p.peekAt(1).text == "[" {
		return Column{}, errorAt(t.pos, "%s means several columns; name one here (quote a * that belongs to the name)", QuoteText(clip(t.text)))
	}
	p.next()
	return c, nil
}

// columnOf is the column that a word names; it may end in a wildcard.
func columnOf(t token) (Column, error) {
	family, qualifier, ok := cutColumn(t)
	if !ok {
		return Column{}, errorAt(t.pos, "%s is not a column; write family:qualifier", QuoteText(clip(t.text)))
	}
	if family == "" {
		return Column{}, errorAt(t.pos, "the family is missing in %s; write family:qualifier", QuoteText(clip(t.text)))
	}
	return qualified(t.pos, family, qualifier)
}

// qualified makes a column of a family and the parts of a qualifier.
func qualified(at Pos, family string, qualifier []part) (Column, error) {
	c := Column{Pos: at, Family: family, Qualifier: join(qualifier)}
	for i, q := range qualifier {
		n := strings.IndexByte(q.text, '*')
		if q.quote != bare || n < 0 {
			continue
		}
		if n < len(q.text)-1 || i < len(qualifier)-1 {
			return Column{}, errorAt(Pos{q.pos.Line, q.pos.Col + n}, "* stands only at the end of a qualifier, for all that begin like it; quote it if it belongs to the name")
		}
		c.Kind = ColumnPrefix
		c.Qualifier = strings.TrimSuffix(c.Qualifier, "*")
		if c.Qualifier == "" {
			c.Kind = ColumnFamily
		}
	}
	return c, nil
}

// columnList parses columns=a:b,c,d:*,e:[x..y). A word without a colon takes
// the family of the column before it, as in cbt; with no column before it, or
// within the brackets of HBase, it means the whole family.
func (p *parser) columnList() ([]Column, error) {
	brackets := p.accept("[")
	var list []Column
	for {
		c, err := p.listedColumn(list, brackets)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
		if !p.listGoesOn() {
			break
		}
	}
	if brackets {
		return list, p.expect("]")
	}
	return list, nil
}

func (p *parser) listedColumn(before []Column, hbase bool) (Column, error) {
	inherited := ""
	if n := len(before) - 1; n >= 0 && before[n].Kind == ColumnExact && !hbase {
		inherited = before[n].Family
	}
	p.wantColumn(inherited)
	t := p.peek()
	if t.kind != tokenWord {
		return Column{}, p.unexpected("a column, as in meta:model or meta:*")
	}
	if bracket := p.peekAt(1); bracket.glued && bracket.text == "[" && strings.HasSuffix(t.text, ":") {
		return p.columnRange()
	}
	p.next()
	family, qualifier, ok := cutColumn(t)
	switch {
	case p.isCbtRead():
		return cbtColumn(t, family, qualifier, ok)
	case ok && p.foreign && hbaseConverter.MatchString(join(qualifier)):
		return Column{}, errorAt(t.pos, "values have types here, and are not converted; write %s", Column{Family: family, Qualifier: hbaseConverter.ReplaceAllString(join(qualifier), "")})
	case ok && beginsRegexp(qualifier):
		return regexColumn(t, family, qualifier)
	case ok:
		return columnOf(t)
	case inherited != "":
		return qualified(t.pos, inherited, t.parts)
	}
	if family == "" {
		return Column{}, errorAt(t.pos, "the name of a family is empty")
	}
	return Column{Pos: t.pos, Family: family, Kind: ColumnFamily}, nil
}

// beginsRegexp reports whether a qualifier in a list is a pattern: /re/.
func beginsRegexp(qualifier []part) bool {
	return len(qualifier) > 0 && qualifier[0].quote == bare && strings.HasPrefix(qualifier[0].text, "/")
}

// regexColumn makes a column of fam:/re/; the pattern may be in quotes between
// its slashes.
func regexColumn(t token, family string, qualifier []part) (Column, error) {
	expr, ok := cutSlashes(qualifier)
	if !ok {
		return Column{}, errorAt(qualifier[0].pos, "a qualifier that begins with / is quoted here, as in meta:\"/path\"; a pattern ends with /, as in meta:/mi.*/")
	}
	if family == "" {
		return Column{}, errorAt(t.pos, "the family is missing in %s; write family:/pattern/", QuoteText(clip(t.text)))
	}
	return Column{Pos: t.pos, Family: family, Kind: ColumnRegex, Qualifier: expr}, nil
}

// cutSlashes takes the bare slashes off a pattern.
func cutSlashes(parts []part) (string, bool) {
	first, last := parts[0], parts[len(parts)-1]
	text := join(parts)
	if first.quote != bare || last.quote != bare || len(text) < 2 || first.text[0] != '/' || last.text[len(last.text)-1] != '/' {
		return text, false
	}
	return text[1 : len(text)-1], true
}

// columnRange parses fam:[a..b), either bound of which may be missing.
func (p *parser) columnRange() (Column, error) {
	t := p.next()
	p.next() // [
	c, err := columnOf(t)
	if err != nil || c.Qualifier != "" || c.Kind != ColumnExact {
		return Column{}, errorAt(t.pos, "%s[ is no range of qualifiers; write family:[a..n)", printable(clip(t.text)))
	}
	c.Kind = ColumnRange
	bounds := p.peek()
	if bounds.kind != tokenWord {
		return Column{}, p.unexpected("a range of qualifiers, as in meta:[a..n)")
	}
	p.next()
	var ok bool
	if c.Start, c.End, ok = cutRange(bounds.parts); !ok {
		return Column{}, errorAt(bounds.pos, "%s is not a range of qualifiers; write meta:[a..n)", QuoteText(clip(bounds.text)))
	}
	return c, p.expect(")")
}

// cutRange splits the parts at the first bare "..".
func cutRange(parts []part) (start, end string, ok bool) {
	for i, p := range parts {
		n := strings.Index(p.text, "..")
		if p.quote == bare && n >= 0 {
			return start + p.text[:n], p.text[n+2:] + join(parts[i+1:]), true
		}
		start += p.text
	}
	return "", "", false
}

// String is the column as the language writes it.
func (c Column) String() string {
	family := QuoteColumn(c.Family, "")
	switch c.Kind {
	case ColumnFamily:
		return family + "*"
	case ColumnPrefix:
		return family + QuoteQualifier(c.Qualifier) + "*"
	case ColumnRange:
		return family + "[" + quoteBound(c.Start) + ".." + quoteBound(c.End) + ")"
	case ColumnRegex:
		return family + "/" + QuoteText(c.Qualifier) + "/"
	}
	return family + QuoteQualifier(c.Qualifier)
}

// quoteBound is a bound of a range; a point next to the .. would hide it.
func quoteBound(s string) string {
	if strings.Contains(s, ".") && s != "" {
		return QuoteText(s)
	}
	return QuoteQualifier(s)
}
