package server

import (
	"strconv"
	"strings"
)

// enter counts levels of nesting.
func (p *sqlParser) enter() error {
	if p.depth++; p.depth > maxQueryDepth {
		return sqlErrorf(p.peek().pos, "the query is nested too deep: up to %d levels", maxQueryDepth)
	}
	return nil
}

func (p *sqlParser) or() (*sqlNode, error)  { return p.series(opOr, "OR", p.and) }
func (p *sqlParser) and() (*sqlNode, error) { return p.series(opAnd, "AND", p.not) }

func (p *sqlParser) series(op sqlOp, word string, part func() (*sqlNode, error)) (*sqlNode, error) {
	first, err := part()
	if err != nil || !p.peek().is(word) {
		return first, err
	}
	all := &sqlNode{op: op, pos: first.pos, args: []*sqlNode{first}}
	for p.accept(word) {
		n, err := part()
		if err != nil {
			return nil, err
		}
		all.args = append(all.args, n)
	}
	return all, nil
}

func (p *sqlParser) not() (*sqlNode, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	pos := p.peek().pos
	if !p.accept("NOT") {
		return p.comparison()
	}
	n, err := p.not()
	return &sqlNode{op: opNot, pos: pos, args: []*sqlNode{n}}, err
}

func (p *sqlParser) comparison() (*sqlNode, error) {
	left, err := p.unary()
	if err != nil {
		return nil, err
	}
	t := p.peek()
	for _, op := range []string{"=", "!=", "<>", "<=", ">=", "<", ">"} {
		if p.accept(op) {
			right, err := p.unary()
			if op == "<>" {
				op = "!="
			}
			return compareNode(op, t.pos, left, right), err
		}
	}
	if p.accept("IS") {
		not := p.accept("NOT")
		what := p.peek()
		if !p.accept("TRUE") && !p.accept("FALSE") {
			err = p.expect("NULL")
		}
		return negated(not, &sqlNode{op: opIs, pos: t.pos, text: strings.ToUpper(what.text), args: []*sqlNode{left}}), err
	}
	not := p.accept("NOT")
	switch {
	case p.accept("BETWEEN"):
		low, err := p.unary()
		if err != nil {
			return nil, err
		}
		if err := p.expect("AND"); err != nil {
			return nil, err
		}
		high, err := p.unary()
		both := []*sqlNode{compareNode(">=", t.pos, left, low), compareNode("<=", t.pos, left, high)}
		return negated(not, &sqlNode{op: opAnd, pos: t.pos, args: both}), err
	case p.accept("IN"):
		n, err := p.in(t.pos, left)
		return negated(not, n), err
	case p.accept("LIKE"):
		pattern, err := p.unary()
		return negated(not, &sqlNode{op: opLike, pos: t.pos, args: []*sqlNode{left, pattern}}), err
	case not:
		return nil, p.unexpected("BETWEEN, IN or LIKE")
	}
	return left, nil
}

func compareNode(op string, pos int, left, right *sqlNode) *sqlNode {
	return &sqlNode{op: opCompare, text: op, pos: pos, args: []*sqlNode{left, right}}
}

func negated(not bool, n *sqlNode) *sqlNode {
	if !not {
		return n
	}
	return &sqlNode{op: opNot, pos: n.pos, args: []*sqlNode{n}}
}

// in makes x IN (a, b) an x = a OR x = b.
func (p *sqlParser) in(pos int, left *sqlNode) (*sqlNode, error) {
	if p.accept("UNNEST", "(") {
		array, err := p.or()
		if err != nil {
			return nil, err
		}
		return &sqlNode{op: opInArray, pos: pos, args: []*sqlNode{left, array}}, p.expect(")")
	}
	if err := p.expect("("); err != nil {
		return nil, err
	}
	either := &sqlNode{op: opOr, pos: pos}
	for {
		n, err := p.unary()
		if err != nil {
			return nil, err
		}
		either.args = append(either.args, compareNode("=", pos, left, n))
		if !p.accept(",") {
			return either, p.expect(")")
		}
	}
}

func (p *sqlParser) unary() (*sqlNode, error) {
	pos := p.peek().pos
	if !p.accept("-") {
		return p.postfix()
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	if t := p.peek(); t.kind == sqlInt || t.kind == sqlFloat {
		p.take()
		return &sqlNode{op: opLiteral, kind: t.kind, pos: pos, text: "-" + t.text}, nil
	}
	n, err := p.unary()
	return &sqlNode{op: opNegate, pos: pos, args: []*sqlNode{n}}, err
}

func (p *sqlParser) postfix() (*sqlNode, error) {
	n, err := p.primary()
	if err != nil {
		return nil, err
	}
	for levels := 0; ; levels++ {
		t := p.peek()
		switch {
		case levels > maxQueryDepth:
			return nil, sqlErrorf(t.pos, "the query is nested too deep: up to %d levels", maxQueryDepth)
		case p.accept("["):
			by, err := p.or()
			if err != nil {
				return nil, err
			}
			if err := p.expect("]"); err != nil {
				return nil, err
			}
			n = &sqlNode{op: opIndex, pos: t.pos, args: []*sqlNode{n, by}}
		case p.accept("."):
			field, err := p.name("the name of a field")
			if err != nil {
				return nil, err
			}
			n = &sqlNode{op: opField, pos: t.pos, text: field.text, args: []*sqlNode{n}}
		default:
			return n, nil
		}
	}
}

func (p *sqlParser) primary() (*sqlNode, error) {
	t := p.peek()
	switch {
	case t.kind >= sqlString && t.kind <= sqlFloat:
		p.take()
		return &sqlNode{op: opLiteral, kind: t.kind, pos: t.pos, text: t.text}, nil
	case t.kind == sqlParam:
		p.take()
		return &sqlNode{op: opParam, pos: t.pos, text: t.text}, nil
	case p.accept("NULL"):
		return &sqlNode{op: opNull, pos: t.pos}, nil
	case p.accept("TRUE"), p.accept("FALSE"):
		return &sqlNode{op: opBool, pos: t.pos, text: strings.ToLower(t.text)}, nil
	case p.accept("("):
		n, err := p.or()
		if err != nil {
			return nil, err
		}
		return n, p.expect(")")
	case p.accept("CAST", "("):
		return p.cast(opCast, t.pos)
	case p.accept("SAFE_CAST", "("):
		return p.cast(opSafeCast, t.pos)
	case p.accept("["), p.accept("ARRAY", "["):
		n := &sqlNode{op: opArray, pos: t.pos}
		return n, p.list(n, "]")
	case p.accept("STRUCT", "("):
		n := &sqlNode{op: opStruct, pos: t.pos}
		return n, p.list(n, ")")
	}
	name, err := p.name("an expression")
	if err != nil {
		return nil, err
	}
	if literal := p.peek(); (name.is("TIMESTAMP") || name.is("DATE")) && literal.kind == sqlString {
		p.take()
		arg := &sqlNode{op: opLiteral, kind: sqlString, pos: literal.pos, text: literal.text}
		return &sqlNode{op: opCast, pos: name.pos, text: strings.ToUpper(name.text), args: []*sqlNode{arg}}, nil
	}
	if !p.accept("(") {
		return &sqlNode{op: opName, pos: name.pos, text: name.text}, nil
	}
	call := &sqlNode{op: opCall, pos: name.pos, text: strings.ToUpper(name.text)}
	return call, p.list(call, ")")
}

// list reads the arguments of a function, the elements of an array or the fields
// of a struct, which alone may have names.
func (p *sqlParser) list(n *sqlNode, end string) error {
	if p.accept(end) {
		return nil
	}
	for {
		arg, err := p.or()
		if err != nil {
			return err
		}
		n.args = append(n.args, arg)
		if n.op == opStruct {
			name := nameOf(arg)
			if p.accept("AS") {
				as, err := p.name("the name of a field")
				if err != nil {
					return err
				}
				name = as.text
			}
			n.names = append(n.names, name)
		}
		if !p.accept(",") {
			return p.expect(end)
		}
	}
}

// cast reads what follows CAST(.
func (p *sqlParser) cast(op sqlOp, pos int) (*sqlNode, error) {
	n, err := p.or()
	if err != nil {
		return nil, err
	}
	if err := p.expect("AS"); err != nil {
		return nil, err
	}
	to, err := p.name("a type")
	if err != nil {
		return nil, err
	}
	return &sqlNode{op: op, pos: pos, text: strings.ToUpper(to.text), args: []*sqlNode{n}}, p.expect(")")
}

// literalInt is the value of an integer as it is written.
func literalInt(text string) (int64, error) { return strconv.ParseInt(text, intBase(text), 64) }

func intBase(text string) int {
	if strings.Contains(strings.ToLower(text), "0x") {
		return 0
	}
	return 10
}
