package parse

import (
	"cmp"
	"slices"
	"strings"
)

// The bounds of a query: the code recurses that deep.
const (
	maxBytes   = 1 << 20
	maxDepth   = 100
	maxColumns = 10_000 // of the result
	maxStages  = 1000
)

type parser struct {
	Source
	tokens []token
	at     int
	depth  int
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) take() token {
	t := p.tokens[p.at]
	if t.kind != EndToken {
		p.at++
	}
	return t
}

// accept takes the next tokens when they are these words or signs.
func (p *parser) accept(words ...string) bool {
	for i, w := range words {
		if p.at+i >= len(p.tokens) || !p.tokens[p.at+i].is(w) {
			return false
		}
	}
	p.at += len(words)
	return true
}

func (p *parser) expect(words ...string) error {
	for _, w := range words {
		if !p.accept(w) {
			return p.unexpected(w)
		}
	}
	return nil
}

func (p *parser) unexpected(want string) error {
	return p.Errorf(p.peek().pos, "Syntax error: expected %s but got %s", want, p.peek())
}

// reserved are the words that are names in backquotes only.
var reserved = strings.Fields("ALL AND AS ASC BETWEEN BY CASE CAST CROSS DESC DISTINCT ELSE END EXCEPT EXTRACT FALSE FROM FULL GROUP HAVING IF IN INNER INTERVAL IS JOIN LEFT LIKE LIMIT NOT NULL NULLS OR ORDER RIGHT SELECT THEN TRUE UNION UNNEST WHEN WHERE WINDOW WITH")

// atName reports whether the next token is an identifier.
func (p *parser) atName() bool {
	t := p.peek()
	return t.kind == QuotedToken || t.kind == WordToken && !slices.Contains(reserved, strings.ToUpper(t.text))
}

func (p *parser) name(what string) (token, error) {
	if !p.atName() {
		return p.peek(), p.unexpected(what)
	}
	return p.take(), nil
}

// part takes a name after a point, which may be a reserved word.
func (p *parser) part(what string) (token, error) {
	if kind := p.peek().kind; kind != WordToken && kind != QuotedToken {
		return p.peek(), p.unexpected(what)
	}
	return p.take(), nil
}

// alias takes a name with or without AS before it; it is empty when there is no name.
func (p *parser) alias(what string) (string, error) {
	if !p.accept("AS") && (!p.atName() || p.peek().is("OFFSET")) {
		return "", nil
	}
	t, err := p.name(what)
	return t.text, err
}

func (p *parser) query() (*Query, error) {
	q := &Query{Source: p.Source, Explain: p.accept("EXPLAIN")}
	stages, err := p.stages(&q.From)
	if err != nil {
		return nil, err
	}
	q.Stages = stages
	p.accept(";")
	if p.peek().kind != EndToken {
		return nil, p.unexpected("the end of the query")
	}
	return q, nil
}

// stages reads a SELECT, or a FROM, and the pipes after it.
func (p *parser) stages(from *From) (stages []*Stage, err error) {
	if p.accept("FROM") {
		if err := p.from(from); err != nil {
			return nil, err
		}
	} else {
		s := &Stage{Pos: p.peek().pos}
		if err := p.expect("SELECT"); err != nil {
			return nil, err
		}
		if err := p.selection(s, from); err != nil {
			return nil, err
		}
		stages = append(stages, s)
	}
	for p.accept("|>") {
		s, err := p.pipe()
		if err != nil {
			return nil, err
		}
		if stages = append(stages, s); len(stages) > maxStages {
			return nil, p.Errorf(s.Pos, "the query has too many pipes; it may have up to %d", maxStages)
		}
	}
	return stages, nil
}

// selection reads what follows SELECT, with all clauses.
func (p *parser) selection(s *Stage, from *From) (err error) {
	if s.Distinct = p.accept("DISTINCT"); !s.Distinct {
		p.accept("ALL")
	}
	if s.Columns, err = p.columns(); err != nil {
		return err
	}
	if p.accept("FROM") {
		if err := p.from(from); err != nil {
			return err
		}
	} else if t := p.peek(); t.is("WHERE") || t.kind != EndToken && !t.is("ORDER") && !t.is("LIMIT") && !t.is(";") && !t.is("|>") && !t.is(")") {
		return p.unexpected("FROM")
	}
	if p.accept("WHERE") {
		if s.Where, err = p.or(); err != nil {
			return err
		}
	}
	if s.Grouped = p.accept("GROUP", "BY"); s.Grouped {
		if s.Group, err = p.columns(); err != nil {
			return err
		}
	}
	if p.accept("HAVING") {
		if s.Having, err = p.or(); err != nil {
			return err
		}
	}
	if err := p.order(s); err != nil {
		return err
	}
	return p.limit(s)
}

// columns reads expressions with names.
func (p *parser) columns() (all []Column, err error) {
	for {
		c, err := p.column()
		if err != nil {
			return nil, err
		}
		if all = append(all, c); len(all) > maxColumns {
			return nil, p.Errorf(c.Pos, "the query has too many columns; it may have up to %d", maxColumns)
		}
		if !p.accept(",") || p.atEnd() {
			return all, nil
		}
	}
}

// atEnd reports whether a list ends here, so that the comma before is one too many, as
// GoogleSQL allows it.
func (p *parser) atEnd() bool {
	switch t := p.peek(); t.kind {
	case EndToken:
		return true
	case SignToken:
		return t.text == "|>" || t.text == ";" || t.text == ")"
	case WordToken:
		return slices.Contains(clauses, strings.ToUpper(t.text))
	}
	return false
}

// clauses are the reserved words that may follow a list of columns.
var clauses = strings.Fields("FROM WHERE GROUP HAVING ORDER LIMIT")

func (p *parser) column() (c Column, err error) {
	c.Pos = p.peek().pos
	if p.accept("*") {
		return c, p.star(&c)
	}
	if c.Expr, err = p.or(); err != nil {
		return c, err
	}
	alias, err := p.alias("a name")
	c.Name = cmp.Or(alias, NameOf(c.Expr))
	return c, err
}

// star reads EXCEPT and REPLACE after *.
func (p *parser) star(c *Column) (err error) {
	if p.accept("EXCEPT") {
		if err := p.expect("("); err != nil {
			return err
		}
		for {
			t, err := p.name("the name of a column")
			if err != nil {
				return err
			}
			if c.Except = append(c.Except, t.text); !p.accept(",") {
				break
			}
		}
		if err := p.expect(")"); err != nil {
			return err
		}
	}
	if p.accept("REPLACE") {
		if err := p.expect("("); err != nil {
			return err
		}
		if c.Replace, err = p.columns(); err != nil {
			return err
		}
		return p.expect(")")
	}
	return nil
}

func (p *parser) order(s *Stage) error {
	if !p.accept("ORDER", "BY") {
		return nil
	}
	for {
		e, err := p.or()
		if err != nil {
			return err
		}
		o := Order{Expr: e, Desc: p.accept("DESC")}
		if !o.Desc {
			p.accept("ASC")
		}
		o.NullsLast = o.Desc
		if p.accept("NULLS", "FIRST") {
			o.NullsLast = false
		} else if p.accept("NULLS", "LAST") {
			o.NullsLast = true
		}
		s.Order = append(s.Order, o)
		if !p.accept(",") {
			return nil
		}
	}
}

func (p *parser) limit(s *Stage) (err error) {
	if !p.accept("LIMIT") {
		return nil
	}
	if s.Limit, err = p.rowCount(); err == nil && p.accept("OFFSET") {
		s.Offset, err = p.rowCount()
	}
	return err
}

// rowCount is a number of rows, written or as a parameter.
func (p *parser) rowCount() (*Node, error) {
	switch p.peek().kind {
	case IntToken, ParamToken:
		return p.primary()
	}
	return nil, p.unexpected("a number of rows")
}
