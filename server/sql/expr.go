package sql

import (
	"math"
	"slices"
	"strconv"

	"github.com/smolwc/smolwc/query"
)

// An expr is an expression that can be evaluated.
type expr struct {
	typ     valueType
	key     bool // it is _key
	fixed   bool // it is the same for every row
	strict  bool // it is NULL in a row that has none of the columns that the query reads
	rejects bool // it is not TRUE there
	literal bool
	eval    func(*query.Row) (any, error)
	// keys are the rows for which a condition may hold; nil: all.
	keys func() keyRanges
}

// condition compiles an expression that is true or not.
func (p *Plan) condition(n *node) (*expr, error) { return p.typed(n, typeBool, "a condition") }

// typed compiles an expression that must have a type.
func (p *Plan) typed(n *node, want typeKind, what string) (*expr, error) {
	e, err := p.compile(n)
	if err == nil {
		e, err = coerced(e, want)
	}
	if err == nil && e.typ.kind != want {
		err = p.errorf(n.pos, "%s is %s; it must be %s", what, e.typ, want)
	}
	return e, err
}

// only compiles the one argument of a function.
func (p *Plan) only(n *node, want typeKind) (*expr, error) {
	if len(n.args) != 1 {
		return nil, p.errorf(n.pos, "%s takes one argument", n.text)
	}
	return p.typed(n.args[0], want, "the argument of "+n.text)
}

// coerced gives a literal the type that its place requires.
func coerced(e *expr, want typeKind) (*expr, error) {
	switch {
	case e.typ.kind == typeNull:
		null := *e // also expressions that are not literals: [NULL][i] has no type either
		null.typ = valueType{kind: want}
		return &null, nil
	case e.literal && e.typ.kind == typeString && (want == typeBytes || want == typeTimestamp):
		v, err := e.eval(nil)
		if err == nil {
			v, err = castValue(v, want)
		}
		return fixedExpr(valueType{kind: want}, v), err
	}
	return e, nil
}

func fixedExpr(t valueType, v any) *expr {
	return &expr{typ: t, fixed: true, literal: true, eval: func(*query.Row) (any, error) { return v, nil }}
}

func (p *Plan) compile(n *node) (*expr, error) {
	if p.parts++; p.parts > maxParts {
		return nil, p.errorf(n.pos, "the query is too large: it comes to more than %d expressions", maxParts)
	}
	n = p.unqualified(n)
	switch n.op {
	case opLiteral:
		return p.literal(n)
	case opNull:
		return fixedExpr(valueType{}, nil), nil
	case opBool:
		return fixedExpr(valueType{kind: typeBool}, n.text == "true"), nil
	case opParam:
		return p.param(n)
	case opName:
		return p.named(n)
	case opIndex:
		return p.index(n)
	case opField:
		return p.field(n)
	case opCall:
		return p.call(n)
	case opCast, opSafeCast:
		return p.cast(n)
	case opNegate:
		return p.negate(n)
	case opCompare:
		return p.compare(n)
	case opArray:
		return p.array(n)
	case opStruct:
		return p.structure(n)
	case opInArray:
		return p.inArray(n)
	case opIs:
		return p.is(n)
	case opNot:
		e, err := p.condition(n.args[0])
		if err != nil {
			return nil, err
		}
		return mapped(e, valueType{kind: typeBool}, func(v any) (any, error) { return !v.(bool), nil }), nil
	case opLike:
		return p.like(n)
	}
	return p.junction(n)
}

// mapped is a function of an expression; it is NULL when the expression is.
func mapped(e *expr, t valueType, f func(any) (any, error)) *expr {
	return &expr{typ: t, fixed: e.fixed, strict: e.strict, eval: func(r *query.Row) (any, error) {
		v, err := e.eval(r)
		if v == nil || err != nil {
			return nil, err
		}
		return f(v)
	}}
}

// combined is a function of several expressions; it is NULL when any of them is.
func combined(parts []*expr, t valueType, f func([]any) (any, error)) *expr {
	e := &expr{typ: t, fixed: true}
	for _, part := range parts {
		e.fixed = e.fixed && part.fixed
		e.strict = e.strict || part.strict
	}
	e.eval = func(r *query.Row) (any, error) {
		values, err := evalAll(parts, r)
		if err != nil || slices.Contains(values, nil) {
			return nil, err
		}
		return f(values)
	}
	return e
}

func evalAll(parts []*expr, r *query.Row) ([]any, error) {
	values := make([]any, len(parts))
	for i, part := range parts {
		var err error
		if values[i], err = part.eval(r); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// both evaluates two expressions.
func both(a, b *expr, r *query.Row) (x, y any, err error) {
	if x, err = a.eval(r); err != nil {
		return nil, nil, err
	}
	y, err = b.eval(r)
	return x, y, err
}

func (p *Plan) literal(n *node) (*expr, error) {
	switch n.kind {
	case stringToken:
		return fixedExpr(valueType{kind: typeString}, n.text), nil
	case bytesToken:
		return fixedExpr(valueType{kind: typeBytes}, []byte(n.text)), nil
	case floatToken:
		f, err := strconv.ParseFloat(n.text, 64)
		if err != nil {
			return nil, p.errorf(n.pos, "%q is out of the range of FLOAT64", n.text)
		}
		return fixedExpr(valueType{kind: typeFloat64}, f), nil
	}
	i, err := literalInt(n.text)
	if err != nil {
		return nil, p.errorf(n.pos, "%.100q is not an INT64, or out of its range", n.text)
	}
	return fixedExpr(valueType{kind: typeInt64}, i), nil
}

func (p *Plan) negate(n *node) (*expr, error) {
	e, err := p.compile(n.args[0])
	if err != nil {
		return nil, err
	}
	if !e.typ.numeric() {
		return nil, p.errorf(n.pos, "%s has no negative", e.typ)
	}
	return mapped(e, e.typ, func(v any) (any, error) {
		if i, ok := v.(int64); ok {
			if i == math.MinInt64 {
				return nil, p.errorf(n.pos, "-(%d) is out of the range of INT64", i)
			}
			return -i, nil
		}
		return -v.(float64), nil
	}), nil
}

func (p *Plan) param(n *node) (*expr, error) {
	t, ok := p.params.types[n.text]
	if !ok {
		return nil, p.errorf(n.pos, "query parameter @%s has no type in param_types", n.text)
	}
	return &expr{typ: t, fixed: true, eval: func(*query.Row) (any, error) { return p.params.values[n.text], nil }}, nil
}
