package sql

import (
	"slices"
	"strings"
)

// The bounds of a query: what follows recurses that far. BETWEEN and IN compare what
// is before them more than once, which nested in itself doubles with each level.
const (
	maxBytes = 1 << 20
	maxDepth = 100
	maxParts = 1 << 20 // expressions that it is compiled to
)

type parser struct {
	source
	tokens []token
	at     int
	depth  int
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) take() token {
	t := p.tokens[p.at]
	if t.kind != endToken {
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
	return p.errorf(p.peek().pos, "Syntax error: expected %s but got %s", want, p.peek())
}

// reserved are the words that are names in backquotes only.
var reserved = strings.Fields("AND AS ASC BETWEEN BY CAST DESC DISTINCT FALSE FROM GROUP HAVING IN IS JOIN LIKE LIMIT NOT NULL OR ORDER SELECT TRUE UNION WHERE WITH")

// name takes an identifier.
func (p *parser) name(what string) (token, error) {
	t := p.peek()
	if t.kind != quotedToken && (t.kind != wordToken || slices.Contains(reserved, strings.ToUpper(t.text))) {
		return t, p.unexpected(what)
	}
	return p.take(), nil
}

func (p *parser) query() (*Query, error) {
	q := &Query{source: p.source}
	if err := p.expect("SELECT"); err != nil {
		return nil, err
	}
	for {
		c, err := p.column()
		if err != nil {
			return nil, err
		}
		q.columns = append(q.columns, c)
		if !p.accept(",") {
			break
		}
	}
	var err error
	if p.accept("FROM") {
		if err := p.from(q); err != nil {
			return nil, err
		}
	} else if t := p.peek(); t.is("WHERE") || t.kind != endToken && !t.is("ORDER") && !t.is("LIMIT") && !t.is(";") {
		return nil, p.unexpected("FROM")
	}
	if p.accept("WHERE") {
		if q.where, err = p.or(); err != nil {
			return nil, err
		}
	}
	if err := p.orderAndLimit(q); err != nil {
		return nil, err
	}
	p.accept(";")
	if p.peek().kind != endToken {
		return nil, p.unexpected("the end of the query")
	}
	return q, nil
}

func (p *parser) column() (c column, err error) {
	c.pos = p.peek().pos
	if p.accept("*") {
		return c, nil
	}
	if c.count = p.accept("COUNT", "(", "*", ")"); !c.count {
		if c.expr, err = p.or(); err != nil {
			return c, err
		}
		c.name = nameOf(c.expr)
	}
	as := p.accept("AS")
	alias, err := p.name("a name")
	switch {
	case err == nil:
		c.name = alias.text
	case as:
		return c, err
	}
	return c, nil
}

// nameOf is the name of a column that is given none.
func nameOf(n *node) string {
	if n.op == opName || n.op == opField {
		return n.text
	}
	return ""
}

// from reads what follows FROM.
func (p *parser) from(q *Query) error {
	t, err := p.name("the name of a table")
	if err != nil {
		return err
	}
	q.table, q.alias, q.tablePos = t.text, t.text, t.pos
	if p.accept("(") {
		if err := p.options(q); err != nil {
			return err
		}
	}
	as := p.accept("AS")
	alias, err := p.name("an alias")
	switch {
	case err == nil:
		q.alias = alias.text
	case as:
		return err
	}
	return nil
}

func (p *parser) options(q *Query) error {
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
		q.options = append(q.options, option{strings.ToLower(name.text), name.pos, value})
		if !p.accept(",") {
			return p.expect(")")
		}
	}
}

func (p *parser) orderAndLimit(q *Query) error {
	if p.accept("ORDER", "BY") {
		if by, err := p.name("_key"); err != nil || !q.isKey(by.text) {
			return p.errorf(by.pos, "rows are ordered by _key alone; expected _key but got %s", by)
		}
		q.reverse = p.accept("DESC")
		if !q.reverse {
			p.accept("ASC")
		}
	}
	if !p.accept("LIMIT") {
		return nil
	}
	var err error
	if q.limit, err = p.rowCount(); err == nil && p.accept("OFFSET") {
		q.offset, err = p.rowCount()
	}
	return err
}

// rowCount is a number of rows, written or as a parameter.
func (p *parser) rowCount() (*node, error) {
	switch p.peek().kind {
	case intToken, paramToken:
		return p.primary()
	}
	return nil, p.unexpected("a number of rows")
}
