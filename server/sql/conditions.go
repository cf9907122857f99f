package sql

import (
	"strings"

	"github.com/smolwc/smolwc/query"
)

// compare compiles a comparison.
func (p *Plan) compare(n *node) (*expr, error) {
	a, err := p.compile(n.args[0])
	if err != nil {
		return nil, err
	}
	b, err := p.compile(n.args[1])
	if err != nil {
		return nil, err
	}
	if a, err = coerced(a, b.typ.kind); err != nil {
		return nil, p.placed(err, n.args[0].pos)
	}
	if b, err = coerced(b, a.typ.kind); err != nil {
		return nil, p.placed(err, n.args[1].pos)
	}
	if !canCompare(a.typ, b.typ) {
		return nil, p.errorf(n.pos, "%s %s %s cannot be compared; CAST(… AS …) makes one type of another", a.typ, n.text, b.typ)
	}
	e := &expr{typ: valueType{kind: typeBool}, fixed: a.fixed && b.fixed, strict: a.strict || b.strict, eval: func(r *query.Row) (any, error) {
		x, y, err := both(a, b, r)
		if x == nil || y == nil || err != nil {
			return nil, err
		}
		order, ok := compareValues(x, y)
		return holds(n.text, order, ok), nil
	}}
	switch {
	case a.key && b.fixed:
		e.keys = keysWhere(b, func(key string) keyRanges { return keysThat(n.text, key) })
	case b.key && a.fixed:
		op := strings.NewReplacer("<", ">", ">", "<").Replace(n.text)
		e.keys = keysWhere(a, func(key string) keyRanges { return keysThat(op, key) })
	}
	return e, nil
}

// canCompare reports whether values of two types can be compared.
func canCompare(a, b valueType) bool {
	return a.comparable() && b.comparable() && (a.kind == b.kind || a.numeric() && b.numeric())
}

// holds reports whether a comparison is true; comparable is false for NaN.
func holds(op string, order int, comparable bool) bool {
	if !comparable {
		return op == "!="
	}
	switch op {
	case "=":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

// keysWhere are the row keys for a value that is the same for every row. With
// NULL no row is wanted.
func keysWhere(e *expr, keys func(string) keyRanges) func() keyRanges {
	return func() keyRanges {
		v, err := e.eval(nil)
		switch {
		case err != nil:
			return allKeys // each row says what is wrong
		case v == nil:
			return nil
		}
		return keys(string(v.([]byte)))
	}
}

// junction compiles AND and OR. NULL is neither true nor false.
func (p *Plan) junction(n *node) (*expr, error) {
	parts := make([]*expr, len(n.args))
	e := &expr{typ: valueType{kind: typeBool}, fixed: true}
	byKey, strict, rejects := 0, 0, 0
	for i, arg := range n.args {
		var err error
		if parts[i], err = p.condition(arg); err != nil {
			return nil, err
		}
		e.fixed = e.fixed && parts[i].fixed
		if parts[i].keys != nil {
			byKey++
		}
		if parts[i].strict {
			strict++
		}
		if parts[i].strict || parts[i].rejects {
			rejects++
		}
	}
	decides := n.op == opOr // the value that decides the result alone
	e.strict = strict == len(parts)
	e.rejects = rejects == len(parts) || n.op == opAnd && rejects > 0
	e.eval = func(r *query.Row) (any, error) {
		var result any = !decides
		for _, part := range parts {
			v, err := part.eval(r)
			switch {
			case err != nil:
				return nil, err
			case v == decides:
				return decides, nil
			case v == nil:
				result = nil
			}
		}
		return result, nil
	}
	switch {
	case n.op == opAnd && byKey > 0:
		e.keys = func() keyRanges {
			var all []keyRanges
			for _, part := range parts {
				if part.keys != nil {
					all = append(all, part.keys())
				}
			}
			return intersectionOf(all)
		}
	case n.op == opOr && byKey == len(parts):
		e.keys = func() keyRanges {
			var rs keyRanges
			for _, part := range parts {
				rs = append(rs, part.keys()...)
			}
			return unionOf(rs)
		}
	}
	return e, nil
}

// is compiles IS NULL, IS TRUE and IS FALSE, which are not NULL for any value.
func (p *Plan) is(n *node) (*expr, error) {
	compile, want := p.condition, any(n.text == "TRUE")
	if n.text == "NULL" {
		compile, want = p.compile, nil
	}
	e, err := compile(n.args[0])
	if err != nil {
		return nil, err
	}
	return &expr{typ: valueType{kind: typeBool}, fixed: e.fixed, eval: func(r *query.Row) (any, error) {
		v, err := e.eval(r)
		return v == want, err
	}}, nil
}
