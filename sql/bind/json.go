package bind

import (
	"context"
	"slices"

	"github.com/smolwc/smolwc/sql/function"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

var (
	jsonType = value.Type{Kind: value.TypeJSON}
	textType = value.Type{Kind: value.TypeString}
	boolType = value.Type{Kind: value.TypeBool}
)

// compileJSONElement compiles json[name] and json[number], which are NULL without such a member or
// element.
func compileJSONElement(p *planner, n *parse.Node, of *expr) (*expr, error) {
	index := n.Args[1]
	if index.Op == parse.OpCall && slices.Contains([]string{"OFFSET", "ORDINAL", "SAFE_OFFSET", "SAFE_ORDINAL"}, index.Text) {
		return nil, p.Errorf(index.Pos, "%s is for arrays; an element of a JSON has its number from 0 alone, and is NULL if it is missing", index.Text)
	}
	by, err := p.compile(index)
	if err != nil {
		return nil, err
	}
	if by.typ.Kind == value.TypeNull {
		by.typ = textType
	}
	if by.typ.Kind != value.TypeString && by.typ.Kind != value.TypeInt64 {
		return nil, p.Errorf(index.Pos, "a JSON has members by a STRING and elements by an INT64, not by %s", by.typ)
	}
	return p.memberOf(n, of, by), nil
}

// memberOf is the member or the element of a JSON.
func (p *planner) memberOf(n *parse.Node, of, by *expr) *expr {
	e := combinedIn([]*expr{of, by}, jsonType, func(ctx context.Context, v []any) (any, error) {
		return p.callIn(ctx, n, v, func(v []any) (any, error) { return function.Member(v[0].(value.JSON), v[1]), nil })
	})
	return p.counted(n, e)
}

// compileJSONOf compiles TO_JSON, which is the JSON null for NULL.
func compileJSONOf(p *planner, n *parse.Node) (*expr, error) {
	if len(n.Args) != 1 && len(n.Args) != 2 {
		return nil, p.Errorf(n.Pos, "TO_JSON takes a value, and perhaps stringify_wide_numbers => TRUE")
	}
	of, err := p.encodable(n, n.Args[0])
	if err != nil {
		return nil, err
	}
	wide := fixedExpr(boolType, false)
	if len(n.Args) == 2 {
		if wide, err = p.typed(n.Args[1], value.TypeBool, "stringify_wide_numbers"); err != nil {
			return nil, err
		}
	}
	return p.makesJSON(n, []*expr{of, wide}, func(v []any) (any, error) {
		if v[1] == nil {
			return nil, nil
		}
		return value.ToJSON(v[0], of.typ, v[1] == true)
	}), nil
}

// encodable compiles an argument of a function that makes JSON of it.
func (p *planner) encodable(n, arg *parse.Node) (*expr, error) {
	e, err := p.compile(arg)
	if err != nil {
		return nil, err
	}
	return e, p.placed(function.CheckJSON(n.Text, e.typ), arg.Pos)
}

// makesJSON is a function of expressions, also of NULL ones.
func (p *planner) makesJSON(n *parse.Node, args []*expr, call func([]any) (any, error)) *expr {
	return p.counted(n, combinedWithNulls(args, jsonType, func(ctx context.Context, v []any) (any, error) {
		return p.callIn(ctx, n, v, call)
	}))
}

// compileJSONMade compiles JSON_ARRAY and JSON_OBJECT.
func compileJSONMade(p *planner, n *parse.Node) (*expr, error) {
	args, types := make([]*expr, len(n.Args)), make([]value.Type, len(n.Args))
	for i, arg := range n.Args {
		var err error
		if args[i], err = p.encodable(n, arg); err != nil {
			return nil, err
		}
		types[i] = args[i].typ
	}
	if n.Text == "JSON_ARRAY" {
		return p.makesJSON(n, args, func(v []any) (any, error) { return function.JSONArray(v, types) }), nil
	}
	if len(args)%2 > 0 {
		return nil, p.Errorf(n.Pos, "JSON_OBJECT takes names, each followed by a value, or an array of names and one of values")
	}
	arrays := len(args) == 2 && types[0].Kind == value.TypeArray
	for i := 0; i < len(args); i += 2 {
		want := textType
		if arrays {
			want = value.ArrayOf(textType)
		}
		e, err := p.coerced(n.Args[i], args[i], want)
		if err != nil {
			return nil, err
		}
		if args[i], types[i] = e, e.typ; !e.typ.Same(want) {
			return nil, p.Errorf(n.Args[i].Pos, "a name of JSON_OBJECT is %s; it must be STRING", e.typ)
		}
	}
	if arrays {
		values, err := p.coerced(n.Args[1], args[1], anyOfKind(value.TypeArray))
		if err != nil {
			return nil, err
		}
		if args[1], types[1] = values, values.typ; values.typ.Kind != value.TypeArray {
			return nil, p.Errorf(n.Args[1].Pos, "the values of JSON_OBJECT are %s; beside an array of names they must be an ARRAY", values.typ)
		}
	}
	return p.makesJSON(n, args, func(v []any) (any, error) { return function.JSONObject(v, types) }), nil
}

// compileJSONChange compiles JSON_SET, JSON_ARRAY_APPEND and JSON_ARRAY_INSERT: a JSON, and then
// paths, each followed by a value. The option is the last argument, if its name is written.
func compileJSONChange(p *planner, n *parse.Node) (*expr, error) {
	nodes, option := n.Args, fixedExpr(boolType, true)
	if len(n.Names) > 0 {
		last := len(nodes) - 1
		var err error
		if option, err = p.typed(nodes[last], value.TypeBool, n.Names[0]); err != nil {
			return nil, err
		}
		nodes = nodes[:last]
	}
	if len(nodes) < 3 || len(nodes)%2 == 0 {
		return nil, p.Errorf(n.Pos, "%s takes a JSON, and then paths, each followed by a value", n.Text)
	}
	args, types := []*expr{option}, []value.Type{boolType}
	for i, node := range nodes {
		var e *expr
		var err error
		switch {
		case i == 0:
			e, err = p.typed(node, value.TypeJSON, "the first argument of "+n.Text)
		case i%2 > 0:
			e, err = p.typed(node, value.TypeString, "a path of "+n.Text)
		default:
			e, err = p.encodable(n, node)
		}
		if err != nil {
			return nil, err
		}
		args, types = append(args, e), append(types, e.typ)
	}
	return p.makesJSON(n, args, func(v []any) (any, error) { return function.JSONChange(n.Text, v, types) }), nil
}
