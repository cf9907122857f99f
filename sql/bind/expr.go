package bind

import (
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
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
	eval    run.Eval
	// keys are the rows for which a condition may hold; nil: all.
	keys    func(*run.Tuple) keyRanges
	decode  decoder   // of a message; nil: it has to be decoded from its bytes
	entries *mapField // nil: it is not a map in a message
	// keyField is the number of the field of the row key that it is, from 1.
	keyField int
	fields   []fieldCondition // they hold in every row for which a condition does
	// column is the column whose newest cell it is; nil: it is not a single cell.
	column *cellExpr
	// stored are conditions that the store can judge. They hold in every row for which
	// the condition does; nil: the store judges nothing.
	stored func(*run.Tuple) []read.Condition
}

// A cellExpr is the newest cell of a column as a value.
type cellExpr struct {
	run.Cell
	declared cells.Type
}

// slotExpr is a value that a stage has computed.
func slotExpr(t value.Type, slot int) *expr { return &expr{typ: t, eval: run.Slot(slot)} }

// evals are what runs need of expressions.
func evals(all []*expr) (list []run.Eval) {
	for _, e := range all {
		list = append(list, e.eval)
	}
	return list
}

// evalOf is what runs need of an expression; nil stays nil.
func evalOf(e *expr) run.Eval {
	if e == nil {
		return nil
	}
	return e.eval
}

// condition compiles an expression that is true or not.
func (p *planner) condition(n *parse.Node) (*expr, error) {
	return p.typed(n, value.TypeBool, "a condition")
}

func (p *planner) typed(n *parse.Node, want value.Kind, what string) (*expr, error) {
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

func (p *planner) only(n *parse.Node, want value.Kind) (*expr, error) {
	if len(n.Args) != 1 {
		return nil, p.Errorf(n.Pos, "%s takes one argument", n.Text)
	}
	return p.typed(n.Args[0], want, "the argument of "+n.Text)
}

func fixedExpr(t value.Type, v any) *expr {
	return &expr{typ: t, fixed: true, literal: true, eval: func(*run.Tuple) (any, error) { return v, nil }}
}

func (p *planner) compile(n *parse.Node) (*expr, error) {
	e, err := p.compileNode(n)
	if err == nil && e.fixed && n.Op > parse.OpParam {
		e.eval = run.Remembered(p.plan.Size.Constants, e.eval, p.places(n.Pos))
		p.plan.Size.Constants++
	}
	if _, wanted := p.noted[n]; wanted {
		p.noted[n] = e
	}
	return e, err
}

func (p *planner) compileNode(n *parse.Node) (*expr, error) {
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
		return compileLiteral(p, n)
	case parse.OpNull:
		return fixedExpr(value.Type{}, nil), nil
	case parse.OpBool:
		return fixedExpr(value.Type{Kind: value.TypeBool}, n.Text == "true"), nil
	case parse.OpParam:
		return compileParam(p, n)
	case parse.OpName:
		return compileName(p, n)
	case parse.OpIndex:
		return compileIndex(p, n)
	case parse.OpField:
		return compileField(p, n)
	case parse.OpFields:
		return nil, p.Errorf(n.Pos, ".* can only stand after a column of SELECT")
	case parse.OpCall:
		return compileCall(p, n)
	case parse.OpCast, parse.OpSafeCast:
		return compileCast(p, n)
	case parse.OpNegate:
		return compileNegate(p, n)
	case parse.OpCompare:
		return compileCompare(p, n)
	case parse.OpBinary:
		return compileBinary(p, n)
	case parse.OpCase:
		return compileCase(p, n)
	case parse.OpSwitch:
		return compileSwitch(p, n)
	case parse.OpIn:
		return compileIn(p, n)
	case parse.OpBetween:
		return compileBetween(p, n)
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
		return compileArray(p, n)
	case parse.OpStruct:
		return compileStruct(p, n)
	case parse.OpInArray:
		return compileInArray(p, n)
	case parse.OpIs:
		return compileIs(p, n)
	case parse.OpSame:
		return compileSame(p, n)
	case parse.OpLambda:
		return nil, p.Errorf(n.Pos, "-> can only stand in an argument of a function of arrays, such as ARRAY_TRANSFORM")
	case parse.OpNot:
		e, err := p.condition(n.Args[0])
		if err != nil {
			return nil, err
		}
		return mapped(e, value.Type{Kind: value.TypeBool}, func(v any) (any, error) { return !v.(bool), nil }), nil
	case parse.OpLike:
		return compileLike(p, n)
	}
	return compileJunction(p, n)
}

// mapped is a function of an expression; it is NULL when the expression is.
func mapped(e *expr, t value.Type, f func(any) (any, error)) *expr {
	return &expr{typ: t, fixed: e.fixed, strict: e.strict, eval: func(r *run.Tuple) (any, error) {
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
	e.eval = func(r *run.Tuple) (any, error) {
		values, err := evalAll(parts, r)
		if err != nil || slices.Contains(values, nil) {
			return nil, err
		}
		return f(r.Context(), values)
	}
	return e
}

// counted has the values of an expression count as made of their row.
func (p *planner) counted(n *parse.Node, e *expr) *expr {
	e.eval = run.Counted(e.eval, p.places(n.Pos))
	return e
}

// places gives errors a place of the text; nil stays nil.
func (p *planner) places(pos int) func(error) error {
	return func(err error) error { return p.placed(err, pos) }
}

func evalAll(parts []*expr, t *run.Tuple) ([]any, error) {
	values := make([]any, len(parts))
	for i, part := range parts {
		var err error
		if values[i], err = part.eval(t); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// both evaluates two expressions.
func both(a, b *expr, r *run.Tuple) (x, y any, err error) {
	if x, err = a.eval(r); err != nil {
		return nil, nil, err
	}
	y, err = b.eval(r)
	return x, y, err
}

func compileLiteral(p *planner, n *parse.Node) (*expr, error) {
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

func compileNegate(p *planner, n *parse.Node) (*expr, error) {
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

func compileParam(p *planner, n *parse.Node) (*expr, error) {
	t, ok := p.params.types[n.Text]
	if !ok {
		return nil, p.Errorf(n.Pos, "query parameter @%s has no type in param_types", n.Text)
	}
	v := p.params.values[n.Text]
	return &expr{typ: t, fixed: true, eval: func(*run.Tuple) (any, error) { return v, nil }}, nil
}

func compileCast(p *planner, n *parse.Node) (*expr, error) {
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
func (p *planner) castTo(n *parse.Node, e *expr, t value.Type) (*expr, error) {
	from, to := e.typ.Kind, t.Kind
	if from == value.TypeNull || e.typ.Same(t) {
		return &expr{typ: t, key: e.key, fixed: e.fixed, strict: e.strict, decode: e.decode, eval: e.eval}, nil
	}
	if e.typ.Proto != nil || t.Proto != nil {
		return compileProtoCast(p, n, e, t)
	}
	if from == to { // arrays, or structs
		return compileCastParts(p, n, e, t)
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
