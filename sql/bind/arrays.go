package bind

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
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

// compileCastParts compiles a CAST of the elements of an array or the fields of a struct.
func compileCastParts(p *planner, n *parse.Node, of *expr, to value.Type) (*expr, error) {
	cast, ok := caster(of.typ, to)
	if !ok {
		return nil, p.Errorf(n.Pos, "Invalid cast from %s to %s", of.typ, to)
	}
	return p.counted(n, mapped(of, to, func(v any) (any, error) {
		made, err := cast(v)
		if err != nil && n.Op == parse.OpSafeCast {
			return nil, nil
		} else if err != nil {
			return nil, p.Placed(err, n.Pos)
		}
		return made, nil
	})), nil
}

// caster casts values of a type that are not NULL; ok is false if there is no such cast.
func caster(from, to value.Type) (cast func(any) (any, error), ok bool) {
	switch {
	case from.Kind == value.TypeNull || from.Same(to):
		return func(v any) (any, error) { return v, nil }, true
	case from.Kind == value.TypeArray && to.Kind == value.TypeArray:
		of, ok := caster(*from.Of, *to.Of)
		return func(v any) (any, error) {
			all, err := castAll(v.(value.Array), func(int) func(any) (any, error) { return of })
			return value.Array(all), err
		}, ok
	case from.Kind == value.TypeStruct && to.Kind == value.TypeStruct && len(from.Fields) == len(to.Fields):
		fields := make([]func(any) (any, error), len(from.Fields))
		for i, f := range from.Fields {
			if fields[i], ok = caster(f.Type, to.Fields[i].Type); !ok {
				return nil, false
			}
		}
		return func(v any) (any, error) {
			all, err := castAll(v.(value.Struct), func(i int) func(any) (any, error) { return fields[i] })
			return value.Struct(all), err
		}, true
	}
	return func(v any) (any, error) { return value.Cast(v, to.Kind) }, value.CanCast(from.Kind, to.Kind)
}

func castAll(list []any, cast func(i int) func(any) (any, error)) ([]any, error) {
	all := slices.Clone(list)
	for i, v := range all {
		if v == nil {
			continue
		}
		var err error
		if all[i], err = cast(i)(v); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func allFixed(parts []*expr) bool {
	return !slices.ContainsFunc(parts, func(part *expr) bool { return !part.fixed })
}

// alike compiles expressions that must have one type: literals take the type of the
// other expressions, and a mix of integers and floats is FLOAT64. The type is NULL's
// when all are NULL.
func (p *planner) alike(nodes []*parse.Node, what string) (parts []*expr, t value.Type, err error) {
	parts = make([]*expr, len(nodes))
	for i, n := range nodes {
		if parts[i], err = p.compile(n); err != nil {
			return nil, t, err
		}
		t = common(t, parts[i])
	}
	for i, e := range parts {
		if e, err = p.inEnum(e, t, nodes[i]); err != nil {
			return nil, t, err
		}
		if e, err = p.converted(nodes[i], e, t); err != nil {
			return nil, t, err
		}
		if !e.typ.Same(t) {
			return nil, t, p.Errorf(nodes[i].Pos, "%s are of types %s and %s; CAST(… AS …) makes one type of another", what, t, e.typ)
		}
		parts[i] = e
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
	if of.typ.Kind == value.TypeMessage {
		return compileMessageField(p, n, of)
	}
	i := slices.IndexFunc(of.typ.Fields, func(f value.Field) bool { return strings.EqualFold(f.Name, n.Text) })
	if i < 0 {
		var names []string
		for _, f := range of.typ.Fields {
			names = append(names, f.Name)
		}
		return nil, p.Errorf(n.Pos, "%s has no field %q%s", of.typ, n.Text, schema.DidYouMean(n.Text, names))
	}
	return structField(of, i), nil
}

func structField(of *expr, i int) *expr {
	return mapped(of, of.typ.Fields[i].Type, func(v any) (any, error) { return v.(value.Struct)[i], nil })
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

// compileFirstOf compiles COALESCE and IFNULL: the first value that is not NULL.
func compileFirstOf(p *planner, n *parse.Node) (*expr, error) {
	if len(n.Args) == 0 || n.Text == "IFNULL" && len(n.Args) != 2 {
		return nil, p.Errorf(n.Pos, "%s takes other arguments: COALESCE(a, b, …), IFNULL(a, b)", n.Text)
	}
	parts, t, err := p.alike(n.Args, "the arguments of "+n.Text)
	if err != nil {
		return nil, err
	}
	e := &expr{typ: t, fixed: allFixed(parts), strict: !slices.ContainsFunc(parts, func(part *expr) bool { return !part.strict })}
	e.eval = func(r *run.Tuple) (any, error) {
		for _, part := range parts {
			if v, err := part.eval(r); v != nil || err != nil {
				return v, err
			}
		}
		return nil, nil
	}
	return e, nil
}

// compileUnnest compiles UNNEST: each element of an array, for each tuple before it.
func compileUnnest(p *planner, u *parse.Unnest) error {
	array, err := p.compile(u.Array)
	if err != nil {
		return err
	}
	if array.typ.Kind != value.TypeArray {
		return p.Errorf(u.Array.Pos, "UNNEST takes an array, not %s", array.typ)
	}
	of := *array.typ.Of
	at := p.scope.slots
	if of.Kind == value.TypeStruct && u.Alias == "" {
		for i, f := range of.Fields {
			p.scope.named(slotName{f.Name, f.Type, at + i})
		}
		p.scope.slots += len(of.Fields)
	} else {
		p.scope.named(slotName{u.Alias, of, at})
		p.scope.slots++
	}
	if u.Offset != "" {
		p.scope.named(slotName{u.Offset, value.Type{Kind: value.TypeInt64}, p.scope.slots})
		p.scope.slots++
	}
	fields := 0
	if of.Kind == value.TypeStruct && u.Alias == "" {
		fields = len(of.Fields)
	}
	p.plan.Steps = append(p.plan.Steps, run.Unnest(array.eval, fields, u.Offset != ""))
	return nil
}

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
func (p *planner) coerced(n *parse.Node, e *expr, want value.Type) (*expr, error) {
	return p.convert(n, e, want, nil)
}

// converted is coerced, and makes a FLOAT64 of other numbers where one is required.
func (p *planner) converted(n *parse.Node, e *expr, want value.Type) (*expr, error) {
	return p.convert(n, e, want, func(e *expr, want value.Kind) bool { return want == value.TypeFloat64 })
}

// assigned is converted for a type that is written: a literal number can be a FLOAT32, too.
func (p *planner) assigned(n *parse.Node, e *expr, want value.Type) (*expr, error) {
	return p.convert(n, e, want, func(e *expr, want value.Kind) bool {
		return want == value.TypeFloat64 || want == value.TypeFloat32 && e.literal
	})
}

// convert is coerced; widens says which numbers become another kind of number.
func (p *planner) convert(n *parse.Node, e *expr, want value.Type, widens func(e *expr, want value.Kind) bool) (*expr, error) {
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
func (p *planner) convertParts(n *parse.Node, e *expr, want value.Type, widens func(*expr, value.Kind) bool) (*expr, error) {
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
func (p *planner) composed(n *parse.Node, t value.Type, parts []*expr) *expr {
	e := &expr{typ: t, fixed: allFixed(parts), parts: parts}
	e.literal = !slices.ContainsFunc(parts, func(part *expr) bool { return !part.literal })
	e.eval = func(r *run.Tuple) (any, error) {
		values, err := evalAll(parts, r)
		if t.Kind == value.TypeArray {
			return value.Array(values), err
		}
		return value.Struct(values), err
	}
	return p.counted(n, e)
}

// conversion makes values of one type of those of another; it is nil if they are the same
// values. ok is false if a value of one type cannot be one of the other.
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
