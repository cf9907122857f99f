package bind

import (
	"context"
	"math/rand/v2"
	"strings"

	"github.com/smolwc/smolwc/sql/function"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

func compileRandom(p *planner, n *parse.Node) (*expr, error) {
	if len(n.Args) > 0 {
		return nil, p.Errorf(n.Pos, "RAND takes no arguments")
	}
	return &expr{typ: value.Type{Kind: value.TypeFloat64}, eval: func(*run.Tuple) (any, error) { return rand.Float64(), nil }}, nil
}

// compileNumber compiles TO_INT64 and similar functions, which decode big-endian bytes.
func compileNumber(p *planner, n *parse.Node) (*expr, error) {
	e, err := p.only(n, value.TypeBytes)
	if err != nil {
		return nil, err
	}
	to := value.TypeNames[strings.TrimPrefix(n.Text, "TO_")]
	return mapped(e, value.Type{Kind: to}, func(v any) (any, error) {
		number, err := value.NumberOf(v.([]byte), to)
		if err != nil {
			return nil, p.Placed(err, n.Pos)
		}
		return number, nil
	}), nil
}

func compileAffix(p *planner, n *parse.Node) (*expr, error) {
	if len(n.Args) != 2 {
		return nil, p.Errorf(n.Pos, "%s takes two arguments", n.Text)
	}
	of, err := p.compile(n.Args[0])
	if err != nil {
		return nil, err
	}
	with, err := p.compile(n.Args[1])
	if err != nil {
		return nil, err
	}
	if of, with, err = p.bothTexts(n, of, with, n.Args[0], n.Args[1]); err != nil {
		return nil, err
	}
	has := strings.HasPrefix
	if n.Text == "ENDS_WITH" {
		has = strings.HasSuffix
	}
	e := &expr{typ: value.Type{Kind: value.TypeBool}, fixed: of.fixed && with.fixed, strict: of.strict || with.strict, eval: func(r *run.Tuple) (any, error) {
		x, y, err := both(of, with, r)
		if x == nil || y == nil || err != nil {
			return nil, err
		}
		return has(value.TextOf(x), value.TextOf(y)), nil
	}}
	if of.keyField > 0 && with.fixed && n.Text == "STARTS_WITH" {
		constrain(p, e, of, tested("^", with))
	}
	if of.key && with.fixed && n.Text == "STARTS_WITH" {
		e.keys = keysWhere(with, keysWith)
	}
	return e, nil
}

// compileFormat compiles FORMAT, whose format is mostly a literal.
func compileFormat(p *planner, n *parse.Node) (*expr, error) {
	if len(n.Args) == 0 {
		return nil, p.Errorf(n.Pos, "FORMAT takes a format and its arguments")
	}
	text, err := p.typed(n.Args[0], value.TypeString, "the format of FORMAT")
	if err != nil {
		return nil, err
	}
	args, types := make([]*expr, len(n.Args)-1), make([]value.Type, len(n.Args)-1)
	for i, arg := range n.Args[1:] {
		if args[i], err = p.compile(arg); err != nil {
			return nil, err
		}
		types[i] = args[i].typ
	}
	read := func(format string) (*function.Printf, error) {
		f, err := function.ReadPrintf(format)
		if err == nil {
			err = f.Check(types)
		}
		return f, p.placed(err, n.Pos)
	}
	var known *function.Printf
	if text.literal {
		if v, _ := text.eval(nil); v != nil {
			if known, err = read(v.(string)); err != nil {
				return nil, err
			}
		}
	}
	made := combined(append([]*expr{text}, args...), value.Type{Kind: value.TypeString}, nil)
	made.strict = false // NULL can be formatted
	made.eval = func(t *run.Tuple) (any, error) {
		f := known
		if f == nil {
			v, err := text.eval(t)
			if v == nil || err != nil {
				return nil, err
			}
			if f, err = read(v.(string)); err != nil {
				return nil, err
			}
		}
		values, err := evalAll(args, t)
		if err != nil {
			return nil, err
		}
		return p.run(t, n, values, f.Apply)
	}
	return p.counted(n, made), nil
}

// run makes a call with arguments for a tuple. The context of the query ends it.
func (p *planner) run(t *run.Tuple, n *parse.Node, args []any, call func(args []any) (any, error)) (any, error) {
	return p.callIn(t.Context(), n, args, call)
}

func (p *planner) callIn(ctx context.Context, n *parse.Node, args []any, call func(args []any) (any, error)) (any, error) {
	v, err := function.Run(ctx, args, call)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return v, p.placed(err, n.Pos)
}

// compileToJSON compiles TO_JSON_STRING(value [, pretty]), which is null for NULL.
func compileToJSON(p *planner, n *parse.Node) (*expr, error) {
	if len(n.Args) != 1 && len(n.Args) != 2 {
		return nil, p.Errorf(n.Pos, "TO_JSON_STRING takes a value, and perhaps TRUE for many lines")
	}
	of, err := p.compile(n.Args[0])
	if err != nil {
		return nil, err
	}
	if err := function.CheckJSON(n.Text, of.typ); err != nil {
		return nil, p.Placed(err, n.Args[0].Pos)
	}
	pretty := fixedExpr(value.Type{Kind: value.TypeBool}, false)
	if len(n.Args) == 2 {
		if pretty, err = p.typed(n.Args[1], value.TypeBool, "the second argument of TO_JSON_STRING"); err != nil {
			return nil, err
		}
	}
	return p.counted(n, &expr{typ: value.Type{Kind: value.TypeString}, fixed: of.fixed && pretty.fixed, eval: func(t *run.Tuple) (any, error) {
		v, err := of.eval(t)
		if err != nil {
			return nil, err
		}
		lines, err := pretty.eval(t)
		if lines == nil || err != nil {
			return nil, err
		}
		return p.run(t, n, []any{v}, func(v []any) (any, error) { return function.JSONText(v[0], of.typ, lines == true) })
	}}), nil
}
