package sql

import (
	"cmp"
	"slices"
	"strings"
)

// The bounds of a query: the code recurses that deep. BETWEEN and IN compare their
// operand more than once, which doubles with each level of nesting.
const (
	maxBytes   = 1 << 20
	maxDepth   = 100
	maxParts   = 1 << 20 // expressions in the compiled query
	maxColumns = 10_000  // of the result
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

// atName reports whether the next token is an identifier.
func (p *parser) atName() bool {
	t := p.peek()
	return t.kind == quotedToken || t.kind == wordToken && !slices.Contains(reserved, strings.ToUpper(t.text))
}

// name takes an identifier.
func (p *parser) name(what string) (token, error) {
	if !p.atName() {
		return p.peek(), p.unexpected(what)
	}
	return p.take(), nil
}

// alias takes a name with or without AS before it; it is empty when there is no name.
func (p *parser) alias(what string) (string, error) {
	if !p.accept("AS") && !p.atName() {
		return "", nil
	}
	t, err := p.name(what)
	return t.text, err
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
		if q.columns = append(q.columns, c); len(q.columns) > maxColumns {
			return nil, p.errorf(c.pos, "the query has too many columns; it may have up to %d", maxColumns)
		}
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
	alias, err := p.alias("a name")
	c.name = cmp.Or(alias, c.name)
	return c, err
}

// nameOf is the name of a column without a given name.
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
	q.table, q.tablePos = t.text, t.pos
	if p.accept("(") {
		if err := p.options(q); err != nil {
			return err
		}
	}
	alias, err := p.alias("an alias")
	q.alias = cmp.Or(alias, q.table)
	return err
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
