package bind

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// compileArray compiles [a, b, c], whose elements are of one type.
func compileArray(p *planner, n *parse.Node) (*expr, error) {
	parts, t, err := compileElements(p, n)
	if err != nil {
		return nil, err
	}
	if t.Kind == value.TypeArray || t.Kind == value.TypeMap {
		return nil, p.Errorf(n.Pos, "an array cannot have elements of type %s", t)
	}
	return p.composed(n, value.ArrayOf(t), parts), nil
}

// compileElements compiles the elements of an array, which may have a type before it.
func compileElements(p *planner, n *parse.Node) (parts []*expr, t value.Type, err error) {
	if n.Text == "" {
		return p.alike(n.Args, "the elements of an array")
	}
	array, err := p.typeNamed(n)
	if err != nil {
		return nil, t, err
	}
	t = *array.Of
	for _, arg := range n.Args {
		e, err := p.compile(arg)
		if err != nil {
			return nil, t, err
		}
		if e, err = p.assigned(arg, e, t); err != nil {
			return nil, t, err
		}
		if !e.typ.Same(t) {
			return nil, t, p.Errorf(arg.Pos, "an element is of type %s; it must be %s", e.typ, t)
		}
		parts = append(parts, e)
	}
	return parts, t, nil
}

// compileStruct compiles STRUCT(a AS name, b), and STRUCT<name type, …>(a, b).
func compileStruct(p *planner, n *parse.Node) (*expr, error) {
	t := value.Type{Kind: value.TypeStruct}
	if n.Text != "" {
		return compileTypedStruct(p, n)
	}
	parts := make([]*expr, len(n.Args))
	for i, arg := range n.Args {
		var err error
		if parts[i], err = p.compile(arg); err != nil {
			return nil, err
		}
		t.Fields = append(t.Fields, value.Field{Name: n.Names[i], Type: parts[i].typ})
	}
	return p.composed(n, t, parts), nil
}

// compileTypedStruct compiles a struct whose type is written.
func compileTypedStruct(p *planner, n *parse.Node) (*expr, error) {
	t, err := p.typeNamed(n)
	if err != nil {
		return nil, err
	}
	if len(n.Args) != len(t.Fields) {
		return nil, p.Errorf(n.Pos, "%s has %d fields, and %d are given", t, len(t.Fields), len(n.Args))
	}
	parts := make([]*expr, len(n.Args))
	for i, arg := range n.Args {
		of := t.Fields[i].Type
		if parts[i], err = p.compile(arg); err != nil {
			return nil, err
		}
		if parts[i], err = p.assigned(arg, parts[i], of); err != nil {
			return nil, err
		}
		if !parts[i].typ.Same(of) {
			return nil, p.Errorf(arg.Pos, "a field is of type %s; it must be %s", parts[i].typ, of)
		}
	}
	return p.composed(n, t, parts), nil
}

// compileField compiles a field of a struct, such as the timestamp or the value of a
// cell in a history.
func compileField(p *planner, n *parse.Node) (*expr, error) {
	of, err := p.compile(n.Args[0])
	if err != nil {
		return nil, err
	}
	switch of.typ.Kind {
	case value.TypeMessage:
		return compileMessageField(p, n, of)
	case value.TypeJSON:
		return p.memberOf(n, of, fixedExpr(value.Type{Kind: value.TypeString}, n.Text)), nil
	}
	i := slices.IndexFunc(of.typ.Fields, func(f value.Field) bool { return strings.EqualFold(f.Name, n.Text) })
	if i < 0 {
		var names []string
		for _, f := range of.typ.Fields {
			names = append(names, f.Name)
		}
		if of.typ.Kind == value.TypeMap {
			return nil, p.Errorf(n.Pos, "%s has no field %q; brackets take a column, as in ['%s']", of.typ, n.Text, n.Text)
		}
		return nil, p.Errorf(n.Pos, "%s has no field %q%s", of.typ, n.Text, schema.DidYouMean(n.Text, names))
	}
	return structField(of, i), nil
}

// compileElementAt compiles array[i]; i may also be OFFSET(i), which is the same, or
// ORDINAL(i), which counts from 1; with SAFE_ before these a missing element is
// NULL.
func compileElementAt(p *planner, n *parse.Node, of *expr) (*expr, error) {
	index, first, safe := n.Args[1], int64(0), false
	if index.Op == parse.OpCall && len(index.Args) == 1 {
		var name string
		name, safe = strings.CutPrefix(index.Text, "SAFE_")
		switch name {
		case "ORDINAL":
			first = 1
			fallthrough
		case "OFFSET":
			index = index.Args[0]
		}
	}
	by, err := p.typed(index, value.TypeInt64, "an index")
	if err != nil {
		return nil, err
	}
	return combined([]*expr{of, by}, *of.typ.Of, func(v []any) (any, error) {
		all, at := v[0].(value.Array), v[1].(int64)
		switch {
		case at >= first && at-first < int64(len(all)):
			return all[at-first], nil
		case safe:
			return nil, nil
		}
		return nil, p.Errorf(n.Pos, "index %d is out of range: the array has %d elements", at, len(all))
	}), nil
}

func compileArrayLength(p *planner, n *parse.Node) (*expr, error) {
	e, err := p.only(n, value.TypeArray)
	if err != nil {
		return nil, err
	}
	return mapped(e, value.Type{Kind: value.TypeInt64}, func(v any) (any, error) { return int64(len(v.(value.Array))), nil }), nil
}

func compileArrayReverse(p *planner, n *parse.Node) (*expr, error) {
	e, err := p.only(n, value.TypeArray)
	if err != nil {
		return nil, err
	}
	return mapped(e, e.typ, func(v any) (any, error) {
		all := slices.Clone(v.(value.Array))
		slices.Reverse(all)
		return all, nil
	}), nil
}

// compileArrayEnd compiles ARRAY_FIRST and ARRAY_LAST.
func compileArrayEnd(p *planner, n *parse.Node) (*expr, error) {
	e, err := p.only(n, value.TypeArray)
	if err != nil {
		return nil, err
	}
	return mapped(e, *e.typ.Of, func(v any) (any, error) {
		all := v.(value.Array)
		switch {
		case len(all) == 0:
			return nil, p.Errorf(n.Pos, "%s of an array without elements", n.Text)
		case n.Text == "ARRAY_FIRST":
			return all[0], nil
		}
		return all[len(all)-1], nil
	}), nil
}
