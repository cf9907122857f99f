package bind

import (
	"math"
	"strconv"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

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
	if !e.typ.Numeric() && e.typ.Kind != value.TypeInterval {
		return nil, p.Errorf(n.Pos, "%s has no negative", e.typ)
	}
	return mapped(e, e.typ, func(v any) (any, error) {
		switch v := v.(type) {
		case int64:
			if v == math.MinInt64 {
				return nil, p.Errorf(n.Pos, "-(%d) is out of the range of INT64", v)
			}
			return -v, nil
		case float32:
			return -v, nil
		case value.Numeric:
			return v.Negated(), nil
		case value.Interval:
			return v.Negated(), nil
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

// compileComplement compiles ~x.
func compileComplement(p *planner, n *parse.Node) (*expr, error) {
	e, err := p.typed(n.Args[0], value.TypeInt64, "the operand of ~")
	if err != nil {
		return nil, err
	}
	return mapped(e, e.typ, func(v any) (any, error) { return ^v.(int64), nil }), nil
}
