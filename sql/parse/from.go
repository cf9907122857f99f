package parse

import (
	"cmp"
	"strings"
)

// from reads what follows FROM.
func (p *parser) from(f *From) error {
	if err := p.enter(); err != nil {
		return err
	}
	defer func() { p.depth-- }()
	f.Pos = p.peek().pos
	switch {
	case p.peek().is("UNNEST"):
		if err := p.unnest(f); err != nil {
			return err
		}
	case p.accept("UNPACK", "("):
		if err := p.unpack(f); err != nil {
			return err
		}
	default:
		if err := p.table(f); err != nil {
			return err
		}
	}
	for p.accept(",") || p.accept("CROSS", "JOIN") || p.accept("INNER", "JOIN") {
		if !p.peek().is("UNNEST") {
			return p.Errorf(p.peek().pos, "Syntax error: expected UNNEST but got %s; a query has one table, and no joins of tables", p.peek())
		}
		if err := p.unnest(f); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) table(f *From) error {
	t, err := p.name("the name of a table")
	if err != nil {
		return err
	}
	f.Table, f.Pos = t.text, t.pos
	if p.accept("(") {
		if err := p.options(f); err != nil {
			return err
		}
	}
	alias, err := p.alias("an alias")
	f.Alias = cmp.Or(alias, f.Table)
	return err
}

func (p *parser) options(f *From) error {
	for {
		name, err := p.name("an option of the table")
		if err != nil {
			return err
		}
		if err := p.expect("=>"); err != nil {
			return err
		}
		value, err := p.or()
		if err != nil {
			return err
		}
		f.Options = append(f.Options, Option{strings.ToLower(name.text), name.pos, value})
		if !p.accept(",") {
			return p.expect(")")
		}
	}
}

// unpack reads what follows UNPACK(: a query in brackets.
func (p *parser) unpack(f *From) (err error) {
	u := &Unpack{Pos: f.Pos}
	if err := p.expect("("); err != nil {
		return err
	}
	if u.Stages, err = p.stages(f); err != nil {
		return err
	}
	if f.Unpack != nil {
		return p.Errorf(u.Pos, "UNPACK cannot stand in an UNPACK")
	}
	f.Unpack, u.Unnests, f.Unnests = u, f.Unnests, nil
	if err := p.expect(")", ")"); err != nil {
		return err
	}
	alias, err := p.alias("an alias")
	u.Alias = cmp.Or(alias, f.Alias)
	return err
}

func (p *parser) unnest(f *From) error {
	u, err := p.unnested()
	f.Unnests = append(f.Unnests, u)
	return err
}

// unnested reads UNNEST(array) [AS alias] [WITH OFFSET [AS alias]].
func (p *parser) unnested() (u Unnest, err error) {
	u.Pos = p.peek().pos
	if err := p.expect("UNNEST", "("); err != nil {
		return u, err
	}
	if u.Array, err = p.or(); err != nil {
		return u, err
	}
	if err := p.expect(")"); err != nil {
		return u, err
	}
	if u.Alias, err = p.alias("an alias"); err != nil || !p.accept("WITH", "OFFSET") {
		return u, err
	}
	alias, err := p.alias("the name of the offset")
	u.Offset = cmp.Or(alias, "offset")
	return u, err
}

// pipe reads an operator after |>.
func (p *parser) pipe() (s *Stage, err error) {
	s = &Stage{Pos: p.peek().pos}
	switch {
	case p.accept("SELECT"):
		if s.Distinct = p.accept("DISTINCT"); !s.Distinct {
			p.accept("ALL")
		}
		s.Columns, err = p.columns()
	case p.accept("WHERE"):
		s.Kind = WhereStage
		s.Where, err = p.or()
	case p.accept("EXTEND"):
		s.Kind = ExtendStage
		s.Columns, err = p.columns()
	case p.accept("SET"), p.accept("RENAME"), p.accept("DROP"):
		s.Kind = map[string]StageKind{"SET": SetStage, "RENAME": RenameStage, "DROP": DropStage}[strings.ToUpper(p.tokens[p.at-1].text)]
		err = p.named(s)
	case p.accept("AS"):
		s.Kind = AsStage
		t, err := p.name("an alias")
		s.Columns = []Column{{Name: t.text, Pos: t.pos}}
		return s, err
	case p.accept("AGGREGATE"):
		s.Kind, s.Grouped = AggregateStage, true
		if !p.peek().is("GROUP") {
			if s.Columns, err = p.columns(); err != nil {
				return s, err
			}
		}
		if p.accept("GROUP", "BY") {
			s.Group, err = p.columns()
		}
	case p.peek().is("ORDER"):
		s.Kind = OrderStage
		err = p.order(s)
	case p.peek().is("LIMIT"):
		s.Kind = LimitStage
		err = p.limit(s)
	case p.accept("DISTINCT"):
		s.Kind = DistinctStage
	case p.accept("CROSS", "JOIN"):
		s.Kind = UnnestStage
		var u Unnest
		u, err = p.unnested()
		s.Unnest = &u
	default:
		err = p.unexpected("SELECT, WHERE, EXTEND, SET, DROP, RENAME, AS, AGGREGATE, ORDER BY, LIMIT, DISTINCT or CROSS JOIN UNNEST")
	}
	return s, err
}

// named reads the columns of SET (a = expression), RENAME (a AS b) and DROP (a).
func (p *parser) named(s *Stage) error {
	for {
		t, err := p.name("the name of a column")
		if err != nil {
			return err
		}
		c := Column{Name: t.text, Pos: t.pos}
		switch s.Kind {
		case SetStage:
			if err := p.expect("="); err != nil {
				return err
			}
			c.Expr, err = p.or()
		case RenameStage:
			p.accept("AS")
			var to token
			to, err = p.name("the new name")
			c.Expr = &Node{Op: OpName, Pos: to.pos, Text: to.text}
		}
		if err != nil {
			return err
		}
		if s.Columns = append(s.Columns, c); !p.accept(",") || p.atEnd() {
			return nil
		}
	}
}
