package sql

import (
	"slices"

	"github.com/smolwc/smolwc/server/sql/parse"
	"github.com/smolwc/smolwc/server/sql/value"
)

// common is the type that values of a type have together with those of an expression; it
// stays t where there is no such type. A literal takes the type of what stands beside it,
// also within arrays and structs, and a mix of numbers is FLOAT64. The fields of a struct
// have the names of the first.
func common(t value.Type, e *expr) value.Type {
	switch u := e.typ; {
	case t.Kind == value.TypeNull:
		return u
	case u.Kind == value.TypeNull:
	case t.Kind == value.TypeArray && u.Kind == value.TypeArray:
		of := *t.Of
		for _, part := range partsOf(e) {
			of = common(of, part)
		}
		return value.ArrayOf(of)
	case t.Kind == value.TypeStruct && u.Kind == value.TypeStruct && len(t.Fields) == len(u.Fields):
		t.Fields = slices.Clone(t.Fields)
		for i, part := range partsOf(e) {
			t.Fields[i].Type = common(t.Fields[i].Type, part)
		}
	case u.Kind == value.TypeEnum: // the literals before can be names of the enum
		return u
	case t.Kind == value.TypeString && (u.Kind == value.TypeBytes || u.Kind == value.TypeTimestamp || u.Kind == value.TypeDate):
		return u
	case t.Numeric() && u.Numeric() && t.Kind != u.Kind:
		return value.Type{Kind: value.TypeFloat64}
	}
	return t
}

// partsOf are the elements of an array or the fields of a struct that are written one by
// one; of any other only their types.
func partsOf(e *expr) []*expr {
	switch {
	case e.parts != nil:
		return e.parts
	case e.typ.Kind == value.TypeArray:
		return []*expr{{typ: *e.typ.Of}}
	}
	parts := make([]*expr, len(e.typ.Fields))
	for i, f := range e.typ.Fields {
		parts[i] = &expr{typ: f.Type}
	}
	return parts
}

// coerced gives an expression the type that its place requires, if it can have it: NULL
// any, a literal STRING that of a time or of BYTES, and the same within arrays and structs.
func (p *Plan) coerced(n *parse.Node, e *expr, want value.Type) (*expr, error) {
	return p.convert(n, e, want, nil)
}

// converted is coerced, and makes a FLOAT64 of other numbers where one is required.
func (p *Plan) converted(n *parse.Node, e *expr, want value.Type) (*expr, error) {
	return p.convert(n, e, want, func(e *expr, want value.Kind) bool { return want == value.TypeFloat64 })
}

// assigned is converted for a type that is written: a literal number can be a FLOAT32, too.
func (p *Plan) assigned(n *parse.Node, e *expr, want value.Type) (*expr, error) {
	return p.convert(n, e, want, func(e *expr, want value.Kind) bool {
		return want == value.TypeFloat64 || want == value.TypeFloat32 && e.literal
	})
}

// convert is coerced; widens says which numbers become another kind of number.
func (p *Plan) convert(n *parse.Node, e *expr, want value.Type, widens func(e *expr, want value.Kind) bool) (*expr, error) {
	from, kind := e.typ, want.Kind
	switch {
	case from.Kind == value.TypeNull:
		typed := *e // also expressions that are not literals: [NULL][i] has no type either
		typed.typ = want
		return &typed, nil
	case e.literal && from.Kind == value.TypeString && (kind == value.TypeBytes || kind == value.TypeTimestamp || kind == value.TypeDate),
		from.Numeric() && want.Numeric() && from.Kind != kind && widens != nil && widens(e, kind):
		cast := func(v any) (any, error) {
			made, err := value.Cast(v, kind)
			return made, p.placed(err, n.Pos)
		}
		if !e.literal {
			return mapped(e, want, cast), nil
		}
		v, err := e.eval(nil)
		if v != nil && err == nil {
			v, err = cast(v)
		}
		return fixedExpr(want, v), err
	case e.parts != nil && from.Kind == kind && !from.Same(want) && (kind == value.TypeArray || len(from.Fields) == len(want.Fields)):
		return p.convertParts(n, e, want, widens)
	}
	change, ok := conversion(from, want, widens)
	if !ok || from.Same(want) {
		return e, nil
	}
	typed := *e
	if change != nil {
		typed = *mapped(e, want, func(v any) (any, error) { return change(v), nil })
	}
	typed.typ = want
	return &typed, nil
}

// convertParts converts the parts of an array or a struct that is written part by part.
func (p *Plan) convertParts(n *parse.Node, e *expr, want value.Type, widens func(*expr, value.Kind) bool) (*expr, error) {
	parts := make([]*expr, len(e.parts))
	for i, part := range e.parts {
		of := want.Of
		if want.Kind == value.TypeStruct {
			of = &want.Fields[i].Type
		}
		var err error
		if parts[i], err = p.convert(n, part, *of, widens); err != nil {
			return nil, err
		}
		if !parts[i].typ.Same(*of) {
			return e, nil
		}
	}
	return p.composed(n, want, parts), nil
}

// composed is an array or a struct of its parts.
func (p *Plan) composed(n *parse.Node, t value.Type, parts []*expr) *expr {
	e := &expr{typ: t, fixed: allFixed(parts), parts: parts}
	e.literal = !slices.ContainsFunc(parts, func(part *expr) bool { return !part.literal })
	e.eval = func(r *tuple) (any, error) {
		values, err := evalAll(parts, r)
		if t.Kind == value.TypeArray {
			return value.Array(values), err
		}
		return value.Struct(values), err
	}
	return p.counted(n, e)
}

// conversion makes values of one type of those of another; it is nil if they are the same
// values. ok is false if a value of one type is none of the other.
func conversion(from, to value.Type, widens func(*expr, value.Kind) bool) (change func(any) any, ok bool) {
	switch {
	case from.Kind == value.TypeNull || from.Same(to):
		return nil, true
	case from.Numeric() && to.Numeric() && widens != nil && widens(&expr{typ: from}, to.Kind):
		return func(v any) any { return value.ToFloat(v) }, true
	case from.Kind == value.TypeArray && to.Kind == value.TypeArray:
		of, ok := conversion(*from.Of, *to.Of, nil)
		if of == nil {
			return nil, ok
		}
		return func(v any) any { return value.Array(changed(v.(value.Array), func(int) func(any) any { return of })) }, ok
	case from.Kind != value.TypeStruct || to.Kind != value.TypeStruct || len(from.Fields) != len(to.Fields):
		return nil, false
	}
	changes, some := make([]func(any) any, len(from.Fields)), false
	for i, f := range from.Fields {
		if changes[i], ok = conversion(f.Type, to.Fields[i].Type, widens); !ok {
			return nil, false
		}
		some = some || changes[i] != nil
	}
	if !some {
		return nil, true
	}
	return func(v any) any {
		return value.Struct(changed(v.(value.Struct), func(i int) func(any) any { return changes[i] }))
	}, true
}

// changed has the elements of a list as changes make them. NULL stays NULL.
func changed(list []any, change func(i int) func(any) any) []any {
	all := slices.Clone(list)
	for i, v := range all {
		if f := change(i); f != nil && v != nil {
			all[i] = f(v)
		}
	}
	return all
}
