package server

import (
	"slices"
	"strings"
)

// A sqlQuery is a query as it was written:
//
//	SELECT * | COUNT(*) | expression [AS name], …  [FROM table[(option => value, …)] [AS alias]]
//	[WHERE condition] [ORDER BY _key [ASC | DESC]] [LIMIT n [OFFSET m]]
type sqlQuery struct {
	columns  []sqlColumn
	table    string // empty: one row without columns
	tablePos int
	alias    string // the table's name in expressions
	options  []sqlOption
	where    *sqlNode // nil: every row
	reverse  bool
	limit    *sqlNode // nil: all
	offset   *sqlNode // nil: none are passed over
}

// A sqlColumn is one of the result; one without an expression is *, or COUNT(*).
type sqlColumn struct {
	name  string
	expr  *sqlNode
	count bool
	pos   int
}

type sqlOption struct {
	name  string
	pos   int
	value *sqlNode
}

// A sqlNode is an expression.
type sqlNode struct {
	op   sqlOp
	pos  int
	text string // of a name, a literal, a comparison, what IS asks for; the type of a cast
	kind sqlKind
	args []*sqlNode
	// names are those of the fields of a struct, empty where there is none.
	names []string
}

type sqlOp uint8

const (
	opLiteral sqlOp = iota
	opNull
	opBool
	opParam
	opName
	opIndex
	opField
	opCall
	opCast
	opSafeCast
	opArray
	opStruct
	opNegate
	opCompare
	opIs
	opInArray
	opLike
	opNot
	opAnd
	opOr
)

// The bounds of a query: what follows recurses that far.
const (
	maxQueryBytes = 1 << 20
	maxQueryDepth = 100
)

type sqlParser struct {
	tokens []sqlToken
	at     int
	depth  int
}

// parseSQL reads a query.
func parseSQL(text string) (*sqlQuery, error) {
	if len(text) > maxQueryBytes {
		return nil, sqlErrorf(0, "the query has %d bytes; it may have up to %d", len(text), maxQueryBytes)
	}
	tokens, err := sqlTokens(text)
	if err != nil {
		return nil, err
	}
	p := sqlParser{tokens: tokens}
	return p.query()
}

func (p *sqlParser) peek() sqlToken { return p.tokens[p.at] }

func (p *sqlParser) take() sqlToken {
	t := p.tokens[p.at]
	if t.kind != sqlEnd {
		p.at++
	}
	return t
}

// accept takes the next tokens when they are these words or signs.
func (p *sqlParser) accept(words ...string) bool {
	for i, w := range words {
		if p.at+i >= len(p.tokens) || !p.tokens[p.at+i].is(w) {
			return false
		}
	}
	p.at += len(words)
	return true
}

func (p *sqlParser) expect(words ...string) error {
	for _, w := range words {
		if !p.accept(w) {
			return p.unexpected(w)
		}
	}
	return nil
}

func (p *sqlParser) unexpected(want string) error {
	return sqlErrorf(p.peek().pos, "Syntax error: expected %s but got %s", want, p.peek())
}

// sqlReserved are the words that are names in backquotes only.
var sqlReserved = strings.Fields("AND AS ASC BETWEEN BY CAST DESC DISTINCT FALSE FROM GROUP HAVING IN IS JOIN LIKE LIMIT NOT NULL OR ORDER SELECT TRUE UNION WHERE WITH")

// name takes an identifier.
func (p *sqlParser) name(what string) (sqlToken, error) {
	t := p.peek()
	if t.kind != sqlQuoted && (t.kind != sqlWord || slices.Contains(sqlReserved, strings.ToUpper(t.text))) {
		return t, p.unexpected(what)
	}
	return p.take(), nil
}

func (p *sqlParser) query() (*sqlQuery, error) {
	q := &sqlQuery{}
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
	} else if t := p.peek(); t.is("WHERE") || t.kind != sqlEnd && !t.is("ORDER") && !t.is("LIMIT") && !t.is(";") {
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
	if p.peek().kind != sqlEnd {
		return nil, p.unexpected("the end of the query")
	}
	return q, nil
}

func (p *sqlParser) column() (c sqlColumn, err error) {
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
func nameOf(n *sqlNode) string {
	if n.op == opName || n.op == opField {
		return n.text
	}
	return ""
}

// from reads what follows FROM.
func (p *sqlParser) from(q *sqlQuery) error {
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

func (p *sqlParser) options(q *sqlQuery) error {
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
		q.options = append(q.options, sqlOption{strings.ToLower(name.text), name.pos, value})
		if !p.accept(",") {
			return p.expect(")")
		}
	}
}

func (p *sqlParser) orderAndLimit(q *sqlQuery) error {
	if p.accept("ORDER", "BY") {
		if by, err := p.name("_key"); err != nil || !q.isKey(by.text) {
			return sqlErrorf(by.pos, "rows are ordered by _key alone; expected _key but got %s", by)
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

// isKey reports whether a name in ORDER BY is that of the row key.
func (q *sqlQuery) isKey(name string) bool {
	return name == rowKey || slices.ContainsFunc(q.columns, func(c sqlColumn) bool {
		return c.name == name && c.expr != nil && nameOf(c.expr) == rowKey
	})
}

// rowCount is a number of rows, written or as a parameter.
func (p *sqlParser) rowCount() (*sqlNode, error) {
	switch p.peek().kind {
	case sqlInt, sqlParam:
		return p.primary()
	}
	return nil, p.unexpected("a number of rows")
}
