package sql

import "strings"

// enter counts levels of nesting.
func (p *parser) enter() error {
	if p.depth++; p.depth > maxDepth {
		return p.errorf(p.peek().pos, "the query is nested too deeply; it may have up to %d levels", maxDepth)
	}
	return nil
}

func (p *parser) or() (*node, error)  { return p.series(opOr, "OR", p.and) }
func (p *parser) and() (*node, error) { return p.series(opAnd, "AND", p.not) }

func (p *parser) series(op operator, word string, part func() (*node, error)) (*node, error) {
	first, err := part()
	if err != nil || !p.peek().is(word) {
		return first, err
	}
	all := &node{op: op, pos: first.pos, args: []*node{first}}
	for p.accept(word) {
		n, err := part()
		if err != nil {
			return nil, err
		}
		all.args = append(all.args, n)
	}
	return all, nil
}

func (p *parser) not() (*node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	pos := p.peek().pos
	if !p.accept("NOT") {
		return p.comparison()
	}
	n, err := p.not()
	return &node{op: opNot, pos: pos, args: []*node{n}}, err
}

func (p *parser) comparison() (*node, error) {
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
		return negated(not, &node{op: opIs, pos: t.pos, text: strings.ToUpper(what.text), args: []*node{left}}), err
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
		both := []*node{compareNode(">=", t.pos, left, low), compareNode("<=", t.pos, left, high)}
		return negated(not, &node{op: opAnd, pos: t.pos, args: both}), err
	case p.accept("IN"):
		n, err := p.in(t.pos, left)
		return negated(not, n), err
	case p.accept("LIKE"):
		pattern, err := p.unary()
		return negated(not, &node{op: opLike, pos: t.pos, args: []*node{left, pattern}}), err
	case not:
		return nil, p.unexpected("BETWEEN, IN or LIKE")
	}
	return left, nil
}

func compareNode(op string, pos int, left, right *node) *node {
	return &node{op: opCompare, text: op, pos: pos, args: []*node{left, right}}
}

func negated(not bool, n *node) *node {
	if !not {
		return n
	}
	return &node{op: opNot, pos: n.pos, args: []*node{n}}
}

// in makes x IN (a, b) an x = a OR x = b.
func (p *parser) in(pos int, left *node) (*node, error) {
	if p.accept("UNNEST", "(") {
		array, err := p.or()
		if err != nil {
			return nil, err
		}
		return &node{op: opInArray, pos: pos, args: []*node{left, array}}, p.expect(")")
	}
	if err := p.expect("("); err != nil {
		return nil, err
	}
	either := &node{op: opOr, pos: pos}
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

func (p *parser) unary() (*node, error) {
	pos := p.peek().pos
	if !p.accept("-") {
		return p.postfix()
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	if t := p.peek(); t.kind == intToken || t.kind == floatToken {
		p.take()
		return &node{op: opLiteral, kind: t.kind, pos: pos, text: "-" + t.text}, nil
	}
	n, err := p.unary()
	return &node{op: opNegate, pos: pos, args: []*node{n}}, err
}

func (p *parser) postfix() (*node, error) {
	n, err := p.primary()
	if err != nil {
		return nil, err
	}
	for levels := 0; ; levels++ {
		t := p.peek()
		switch {
		case levels > maxDepth:
			return nil, p.errorf(t.pos, "the query is nested too deeply; it may have up to %d levels", maxDepth)
		case p.accept("["):
			by, err := p.or()
			if err != nil {
				return nil, err
			}
			if err := p.expect("]"); err != nil {
				return nil, err
			}
			n = &node{op: opIndex, pos: t.pos, args: []*node{n, by}}
		case p.accept("."):
			field, err := p.name("the name of a field")
			if err != nil {
				return nil, err
			}
			n = &node{op: opField, pos: t.pos, text: field.text, args: []*node{n}}
		default:
			return n, nil
		}
	}
}

func (p *parser) primary() (*node, error) {
	t := p.peek()
	switch {
	case t.kind >= stringToken && t.kind <= floatToken:
		p.take()
		return &node{op: opLiteral, kind: t.kind, pos: t.pos, text: t.text}, nil
	case t.kind == paramToken:
		p.take()
		return &node{op: opParam, pos: t.pos, text: t.text}, nil
	case p.accept("NULL"):
		return &node{op: opNull, pos: t.pos}, nil
	case p.accept("TRUE"), p.accept("FALSE"):
		return &node{op: opBool, pos: t.pos, text: strings.ToLower(t.text)}, nil
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
		n := &node{op: opArray, pos: t.pos}
		return n, p.list(n, "]")
	case p.accept("STRUCT", "("):
		n := &node{op: opStruct, pos: t.pos}
		return n, p.list(n, ")")
	}
	name, err := p.name("an expression")
	if err != nil {
		return nil, err
	}
	if literal := p.peek(); (name.is("TIMESTAMP") || name.is("DATE")) && literal.kind == stringToken {
		p.take()
		arg := &node{op: opLiteral, kind: stringToken, pos: literal.pos, text: literal.text}
		return &node{op: opCast, pos: name.pos, text: strings.ToUpper(name.text), args: []*node{arg}}, nil
	}
	if !p.accept("(") {
		return &node{op: opName, pos: name.pos, text: name.text}, nil
	}
	call := &node{op: opCall, pos: name.pos, text: strings.ToUpper(name.text)}
	return call, p.list(call, ")")
}

// list reads the arguments of a function, the elements of an array or the fields
// of a struct, which alone may have names.
func (p *parser) list(n *node, end string) error {
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
func (p *parser) cast(op operator, pos int) (*node, error) {
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
	return &node{op: op, pos: pos, text: strings.ToUpper(to.text), args: []*node{n}}, p.expect(")")
}
