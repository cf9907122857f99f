package sql

import (
	"context"
	"math"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// An expr is an expression that can be evaluated.
type expr struct {
	typ     value.Type
	key     bool // it is _key
	fixed   bool // it is the same for every row
	strict  bool // it is NULL in a row that has none of the columns that the query reads
	rejects bool // it is not TRUE there
	literal bool
	parts   []*expr // of an array or a struct that is written part by part
	eval    func(*tuple) (any, error)
	// keys are the rows for which a condition may hold; nil: all.
	keys    func() keyRanges
	decode  decoder   // of a message; nil: it has to be decoded from its bytes
	entries *mapField // nil: it is not a map in a message
	// keyField is the number of the field of the row key that it is, from 1.
	keyField int
	fields   []fieldCondition // they hold in every row for which a condition does
	// column is the column whose newest cell it is; nil: it is not a single cell.
	column *cellExpr
	// stored are conditions that the store can judge. They hold in every row for which
	// the condition does; nil: the store judges nothing.
	stored func() []read.Condition
}

// A cellExpr is the newest cell of a column as a value.
type cellExpr struct {
	family, qualifier string
	of                value.Kind
	declared          cells.Type
}

// appendKey appends the key of the expression's value to group by. It returns the value,
// unless the expression is a single cell.
func (e *expr) appendKey(dst []byte, t *tuple) (_ []byte, v any, err error) {
	if e.column != nil {
		var cell *cells.Cell
		if c, ok := t.row.Cell(e.column.family, e.column.qualifier); ok {
			cell = &c
		}
		dst, err = value.AppendCellKey(dst, cell, e.column.of)
		return dst, nil, err
	}
	if v, err = e.eval(t); err != nil {
		return dst, nil, err
	}
	return value.AppendKey(dst, v), v, nil
}

// condition compiles an expression that is true or not.
func (p *Plan) condition(n *parse.Node) (*expr, error) {
	return p.typed(n, value.TypeBool, "a condition")
}

func (p *Plan) typed(n *parse.Node, want value.Kind, what string) (*expr, error) {
	e, err := p.compile(n)
	if err == nil {
		e, err = p.coerced(n, e, anyOfKind(want))
	}
	if err == nil && e.typ.Kind != want {
		err = p.Errorf(n.Pos, "%s is %s; it must be %s", what, e.typ, want)
	}
	return e, err
}

// anyOfKind is a type of a kind; an array or a map of it has elements without a type.
func anyOfKind(kind value.Kind) value.Type {
	switch kind {
	case value.TypeArray:
		return value.ArrayOf(value.Type{})
	case value.TypeMap:
		return value.MapOf(value.Type{})
	}
	return value.Type{Kind: kind}
}

func (p *Plan) only(n *parse.Node, want value.Kind) (*expr, error) {
	if len(n.Args) != 1 {
		return nil, p.Errorf(n.Pos, "%s takes one argument", n.Text)
	}
	return p.typed(n.Args[0], want, "the argument of "+n.Text)
}

func fixedExpr(t value.Type, v any) *expr {
	return &expr{typ: t, fixed: true, literal: true, eval: func(*tuple) (any, error) { return v, nil }}
}

func (p *Plan) compile(n *parse.Node) (*expr, error) {
	e, err := p.compileNode(n)
	if err == nil && e.fixed && n.Op > parse.OpParam {
		p.remember(n, e)
	}
	if _, wanted := p.noted[n]; wanted {
		p.noted[n] = e
	}
	return e, err
}

// maxKept bounds the bytes of values that a plan remembers.
const maxKept = 32 << 20

// keeps reports whether a plan has room to remember a value.
func (p *Plan) keeps(size int) bool {
	if p.kept.Add(int64(size)) <= maxKept {
		return true
	}
	p.kept.Add(-int64(size))
	return false
}

// remember has the value of an expression, which is the same for every row, computed once.
// Each row counts what was made of it.
func (p *Plan) remember(n *parse.Node, e *expr) {
	type constant struct {
		v    any
		made int
	}
	var known atomic.Pointer[constant]
	of := e.eval
	e.eval = func(t *tuple) (any, error) {
		if t == nil {
			t = &tuple{}
		}
		k := known.Load()
		if k == nil {
			alone := tuple{ctx: t.ctx}
			v, err := of(&alone)
			if err != nil {
				return nil, err
			}
			k = &constant{v, alone.made}
			if p.keeps(value.Size(v)) {
				known.Store(k)
			}
		}
		return k.v, p.placed(t.count(k.made), n.Pos)
	}
}

func (p *Plan) compileNode(n *parse.Node) (*expr, error) {
	if p.parts++; p.parts > maxParts {
		return nil, p.Errorf(n.Pos, "the query is too large: it comes to more than %d expressions", maxParts)
	}
	if e := p.lambdaArgument(n); e != nil {
		return e, nil
	}
	if p.scope.groups != nil {
		if e, err := p.ofGroup(n); e != nil || err != nil {
			return e, err
		}
	} else if isAggregate(n) {
		return nil, p.Errorf(n.Pos, "the aggregate function %s cannot stand here", n.Text)
	}
	n = p.unqualified(n)
	switch n.Op {
	case parse.OpLiteral:
		return p.literal(n)
	case parse.OpNull:
		return fixedExpr(value.Type{}, nil), nil
	case parse.OpBool:
		return fixedExpr(value.Type{Kind: value.TypeBool}, n.Text == "true"), nil
	case parse.OpParam:
		return p.param(n)
	case parse.OpName:
		return p.named(n)
	case parse.OpIndex:
		return p.index(n)
	case parse.OpField:
		return p.field(n)
	case parse.OpFields:
		return nil, p.Errorf(n.Pos, ".* can only stand after a column of SELECT")
	case parse.OpCall:
		return p.call(n)
	case parse.OpCast, parse.OpSafeCast:
		return p.cast(n)
	case parse.OpNegate:
		return p.negate(n)
	case parse.OpCompare:
		return p.compare(n)
	case parse.OpBinary:
		return p.binary(n)
	case parse.OpCase:
		return p.cases(n)
	case parse.OpSwitch:
		return p.switched(n)
	case parse.OpIn:
		return p.in(n)
	case parse.OpBetween:
		return p.between(n)
	case parse.OpStar:
		return nil, p.Errorf(n.Pos, "* cannot stand here; only COUNT takes *")
	case parse.OpInterval:
		return nil, p.Errorf(n.Pos, "INTERVAL can only be an argument of a function that adds to a time")
	case parse.OpComplement:
		e, err := p.typed(n.Args[0], value.TypeInt64, "the operand of ~")
		if err != nil {
			return nil, err
		}
		return mapped(e, e.typ, func(v any) (any, error) { return ^v.(int64), nil }), nil
	case parse.OpArray:
		return p.array(n)
	case parse.OpStruct:
		return p.structure(n)
	case parse.OpInArray:
		return p.inArray(n)
	case parse.OpIs:
		return p.is(n)
	case parse.OpSame:
		return p.same(n)
	case parse.OpLambda:
		return nil, p.Errorf(n.Pos, "-> can only stand in an argument of a function of arrays, such as ARRAY_TRANSFORM")
	case parse.OpNot:
		e, err := p.condition(n.Args[0])
		if err != nil {
			return nil, err
		}
		return mapped(e, value.Type{Kind: value.TypeBool}, func(v any) (any, error) { return !v.(bool), nil }), nil
	case parse.OpLike:
		return p.like(n)
	}
	return p.junction(n)
}

// mapped is a function of an expression; it is NULL when the expression is.
func mapped(e *expr, t value.Type, f func(any) (any, error)) *expr {
	return &expr{typ: t, fixed: e.fixed, strict: e.strict, eval: func(r *tuple) (any, error) {
		v, err := e.eval(r)
		if v == nil || err != nil {
			return nil, err
		}
		return f(v)
	}}
}

// combined is a function of several expressions; it is NULL when any of them is.
func combined(parts []*expr, t value.Type, f func([]any) (any, error)) *expr {
	return combinedIn(parts, t, func(_ context.Context, values []any) (any, error) { return f(values) })
}

// combinedIn is combined for a function that may take long, which the context of the query
// ends.
func combinedIn(parts []*expr, t value.Type, f func(context.Context, []any) (any, error)) *expr {
	e := &expr{typ: t, fixed: true}
	for _, part := range parts {
		e.fixed = e.fixed && part.fixed
		e.strict = e.strict || part.strict
	}
	e.eval = func(r *tuple) (any, error) {
		values, err := evalAll(parts, r)
		if err != nil || slices.Contains(values, nil) {
			return nil, err
		}
		return f(r.context(), values)
	}
	return e
}

// counted has the values of an expression count as made of their row.
func (p *Plan) counted(n *parse.Node, e *expr) *expr {
	of := e.eval
	e.eval = func(t *tuple) (any, error) {
		if t == nil { // it is the same for every row
			t = &tuple{}
		}
		v, err := of(t)
		if err != nil {
			return nil, err
		}
		return v, p.placed(t.making(v), n.Pos)
	}
	return e
}

func evalAll(parts []*expr, r *tuple) ([]any, error) {
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
func both(a, b *expr, r *tuple) (x, y any, err error) {
	if x, err = a.eval(r); err != nil {
		return nil, nil, err
	}
	y, err = b.eval(r)
	return x, y, err
}

func (p *Plan) literal(n *parse.Node) (*expr, error) {
	switch n.Kind {
	case parse.StringToken:
		return fixedExpr(value.Type{Kind: value.TypeString}, n.Text), nil
	case parse.BytesToken:
		return fixedExpr(value.Type{Kind: value.TypeBytes}, []byte(n.Text)), nil
	case parse.FloatToken:
		f, err := strconv.ParseFloat(n.Text, 64)
		if err != nil {
			return nil, p.Errorf(n.Pos, "%q is out of the range of FLOAT64", n.Text)
		}
		return fixedExpr(value.Type{Kind: value.TypeFloat64}, f), nil
	}
	i, err := value.LiteralInt(n.Text)
	if err != nil {
		return nil, p.Errorf(n.Pos, "%.100q is not an INT64, or out of its range", n.Text)
	}
	return fixedExpr(value.Type{Kind: value.TypeInt64}, i), nil
}

func (p *Plan) negate(n *parse.Node) (*expr, error) {
	e, err := p.compile(n.Args[0])
	if err != nil {
		return nil, err
	}
	if e.typ.Kind == value.TypeNull {
		return &expr{typ: value.Type{Kind: value.TypeInt64}, fixed: e.fixed, eval: e.eval}, nil
	}
	if !e.typ.Numeric() {
		return nil, p.Errorf(n.Pos, "%s has no negative", e.typ)
	}
	return mapped(e, e.typ, func(v any) (any, error) {
		if i, ok := v.(int64); ok {
			if i == math.MinInt64 {
				return nil, p.Errorf(n.Pos, "-(%d) is out of the range of INT64", i)
			}
			return -i, nil
		}
		if f, ok := v.(float32); ok {
			return -f, nil
		}
		return -v.(float64), nil
	}), nil
}

func (p *Plan) param(n *parse.Node) (*expr, error) {
	t, ok := p.params.types[n.Text]
	if !ok {
		return nil, p.Errorf(n.Pos, "query parameter @%s has no type in param_types", n.Text)
	}
	return &expr{typ: t, fixed: true, eval: func(*tuple) (any, error) { return p.params.values[n.Text], nil }}, nil
}

func (p *Plan) cast(n *parse.Node) (*expr, error) {
	t, err := p.typeNamed(n)
	if err != nil {
		return nil, err
	}
	e, err := p.compile(n.Args[0])
	if err != nil {
		return nil, err
	}
	return p.castTo(n, e, t)
}

// castTo compiles a CAST of an expression.
func (p *Plan) castTo(n *parse.Node, e *expr, t value.Type) (*expr, error) {
	from, to := e.typ.Kind, t.Kind
	if from == value.TypeNull || e.typ.Same(t) {
		return &expr{typ: t, key: e.key, fixed: e.fixed, strict: e.strict, decode: e.decode, eval: e.eval}, nil
	}
	if e.typ.Proto != nil || t.Proto != nil {
		return p.protoCast(n, e, t)
	}
	if from == to { // arrays, or structs
		return p.castParts(n, e, t)
	}
	if !value.CanCast(from, to) {
		return nil, p.Errorf(n.Pos, "Invalid cast from %s to %s%s", e.typ, to, value.CastHint(from, to))
	}
	made := mapped(e, value.Type{Kind: to}, func(v any) (any, error) {
		c, err := value.Cast(v, to)
		switch {
		case err == nil:
			return c, nil
		case n.Op == parse.OpSafeCast:
			return nil, nil
		}
		return nil, p.Placed(err, n.Pos)
	})
	if to == value.TypeString || to == value.TypeBytes {
		return p.counted(n, made), nil
	}
	return made, nil
}
