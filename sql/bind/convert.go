package bind

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/smolwc/smolwc/sql/message"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

func isFloat(t value.Type) bool { return t.Kind == value.TypeFloat32 || t.Kind == value.TypeFloat64 }

var numeric = value.Type{Kind: value.TypeNumeric}

// decimals makes a NUMERIC of the integers and of the literals beside one, unless there is a
// FLOAT64 that is not a literal: all are FLOAT64 then.
func (p *planner) decimals(nodes []*parse.Node, all []*expr) error {
	some := false
	for _, e := range all {
		if isFloat(e.typ) && !e.literal {
			return nil
		}
		some = some || e.typ.Kind == value.TypeNumeric
	}
	for i, e := range all {
		if !some || !e.typ.Numeric() {
			continue
		}
		var err error
		if all[i], err = p.converted(nodes[i], e, numeric); err != nil {
			return err
		}
	}
	return nil
}

// widened is the type of numbers that two types have together.
func widened(a, b value.Kind) value.Type {
	if a != value.TypeNumeric {
		a, b = b, a
	}
	if a == value.TypeNumeric && (b == value.TypeInt64 || b == value.TypeNumeric) {
		return numeric
	}
	return value.Type{Kind: value.TypeFloat64}
}

// widensTo reports whether numbers become another kind of number where one is required: of integers
// any, and of literals.
func widensTo(e *expr, want value.Kind) bool {
	return want == value.TypeFloat64 || want == value.TypeNumeric && (e.typ.Kind == value.TypeInt64 || e.literal)
}

// isNumeric reports whether one of two expressions is a NUMERIC, which is compared with others of
// its type only.
func isNumeric(a, b value.Type) bool {
	return a.Kind == value.TypeNumeric || b.Kind == value.TypeNumeric
}

// compared compiles an expression and others that it is compared with by =, and gives them
// one type, where they are not numbers.
func (p *planner) compared(n *parse.Node, nodes []*parse.Node) (all []*expr, err error) {
	all = make([]*expr, len(nodes))
	nulls := make([]bool, len(nodes)) // they compare with everything
	for i, n := range nodes {
		if all[i], err = p.compile(n); err != nil {
			return nil, err
		}
	}
	if err = p.decimals(nodes, all); err != nil {
		return nil, err
	}
	t, numbers := value.Type{}, true
	for i, e := range all {
		t, nulls[i] = common(t, e), e.typ.Kind == value.TypeNull
		numbers = numbers && (e.typ.Numeric() && e.typ.Kind != value.TypeNumeric || nulls[i])
	}
	for i, e := range all {
		if e, err = p.inEnum(e, t, nodes[i]); err != nil {
			return nil, err
		}
		if !numbers {
			if e, err = p.converted(nodes[i], e, t); err != nil {
				return nil, err
			}
		}
		all[i] = e
	}
	first := slices.Index(nulls, false)
	for i, e := range all {
		if i <= first || nulls[i] {
			continue
		}
		if err := p.checkCompared(n, "=", all[first], e); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// element compiles an array and what is compared with its elements.
func (p *planner) element(n, of, in *parse.Node) (x, array *expr, err error) {
	if x, err = p.compile(of); err != nil {
		return nil, nil, err
	}
	if array, err = p.compile(in); err != nil {
		return nil, nil, err
	}
	if array, err = p.coerced(in, array, anyOfKind(value.TypeArray)); err != nil {
		return nil, nil, err
	}
	if array.typ.Kind != value.TypeArray {
		return nil, nil, p.Errorf(in.Pos, "UNNEST takes an array, not %s", array.typ)
	}
	x, array, err = p.elementOf(n, x, array, of, in)
	return x, array, err
}

// elementOf gives an array, and what is compared with its elements, types that can be
// compared.
func (p *planner) elementOf(n *parse.Node, x, array *expr, of, in *parse.Node) (_, _ *expr, err error) {
	if array, err = p.inEnum(array, x.typ, in); err != nil {
		return nil, nil, err
	}
	null := x.typ.Kind == value.TypeNull || array.typ.Of.Kind == value.TypeNull // it compares with everything
	both := []*expr{x, {typ: *array.typ.Of}}
	if err = p.decimals([]*parse.Node{of, in}, both[:]); err != nil {
		return nil, nil, err
	}
	if t := *array.typ.Of; !t.Numeric() || !x.typ.Numeric() || isNumeric(t, x.typ) {
		x, t = both[0], common(t, both[0])
		if x, err = p.converted(of, x, t); err != nil {
			return nil, nil, err
		}
		if array, err = p.converted(in, array, value.ArrayOf(t)); err != nil {
			return nil, nil, err
		}
	}
	if !null && !canCompare(x.typ, *array.typ.Of) {
		return nil, nil, p.Errorf(n.Pos, "%s cannot be among %s; CAST(… AS …) makes one type of another", x.typ, array.typ)
	}
	return x, array, nil
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

// alike compiles expressions that must have one type: literals take the type of the
// other expressions, and a mix of integers and floats is FLOAT64. The type is NULL's
// when all are NULL.
func (p *planner) alike(nodes []*parse.Node, what string) (parts []*expr, t value.Type, err error) {
	parts = make([]*expr, len(nodes))
	for i, n := range nodes {
		if parts[i], err = p.compile(n); err != nil {
			return nil, t, err
		}
	}
	if err = p.decimals(nodes, parts); err != nil {
		return nil, t, err
	}
	for _, e := range parts {
		t = common(t, e)
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

// common finds the type that takes both the values of t and the values of an expression; it
// returns t where there is no such type. A literal takes the type of what stands beside it,
// also within arrays and structs, and a mix of numbers is FLOAT64, or NUMERIC. The fields of a struct
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
	case t.Kind == value.TypeString && (u.Kind == value.TypeBytes || u.Kind.Temporal()):
		return u
	case t.Numeric() && u.Numeric() && t.Kind != u.Kind:
		return widened(t.Kind, u.Kind)
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
// becomes any type, a literal STRING becomes a time or BYTES, and so do the elements of arrays
// and the fields of structs.
func (p *planner) coerced(n *parse.Node, e *expr, want value.Type) (*expr, error) {
	return p.convert(n, e, want, nil)
}

// converted is coerced, and makes a FLOAT64 or a NUMERIC of other numbers where one is required.
func (p *planner) converted(n *parse.Node, e *expr, want value.Type) (*expr, error) {
	return p.convert(n, e, want, widensTo)
}

// assigned is converted for a type that is written: a literal number can be a FLOAT32, too.
func (p *planner) assigned(n *parse.Node, e *expr, want value.Type) (*expr, error) {
	return p.convert(n, e, want, func(e *expr, want value.Kind) bool {
		return widensTo(e, want) || want == value.TypeFloat32 && e.literal
	})
}

// convert is coerced; widens says which numbers become another kind of number.
func (p *planner) convert(n *parse.Node, e *expr, want value.Type, widens func(e *expr, want value.Kind) bool) (*expr, error) {
	from, kind := e.typ, want.Kind
	switch {
	case from.Kind == value.TypeNull:
		typed := *e // also expressions that are not literals: [NULL][i] is untyped too
		typed.typ = want
		return &typed, nil
	case e.literal && from.Kind == value.TypeString && (kind == value.TypeBytes || kind.Temporal()),
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

// conversion converts values from one type to another; it is nil if nothing changes. ok is false if a value of one type cannot be one of the other.
func conversion(from, to value.Type, widens func(*expr, value.Kind) bool) (change func(any) any, ok bool) {
	switch {
	case from.Kind == value.TypeNull || from.Same(to):
		return nil, true
	case from.Numeric() && to.Numeric() && widens != nil && widens(&expr{typ: from}, to.Kind):
		if to.Kind == value.TypeNumeric {
			return func(v any) any { return value.NumericOf(v.(int64)) }, true
		}
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

// changed applies a change to the elements of a list. NULL stays NULL.
func changed(list []any, change func(i int) func(any) any) []any {
	all := slices.Clone(list)
	for i, v := range all {
		if f := change(i); f != nil && v != nil {
			all[i] = f(v)
		}
	}
	return all
}

// comparable gives two expressions types that can be compared.
func (p *planner) comparable(n *parse.Node, a, b *expr) (_, _ *expr, err error) {
	if a, err = p.inEnum(a, b.typ, n.Args[0]); err != nil {
		return nil, nil, err
	}
	if b, err = p.inEnum(b, a.typ, n.Args[1]); err != nil {
		return nil, nil, err
	}
	null := a.typ.Kind == value.TypeNull || b.typ.Kind == value.TypeNull
	both := []*expr{a, b}
	if err = p.decimals(n.Args, both); err != nil {
		return nil, nil, err
	}
	if a, b = both[0], both[1]; !a.typ.Numeric() || !b.typ.Numeric() || isNumeric(a.typ, b.typ) {
		t := common(a.typ, b)
		if a, err = p.converted(n.Args[0], a, t); err != nil {
			return nil, nil, err
		}
		if b, err = p.converted(n.Args[1], b, t); err != nil {
			return nil, nil, err
		}
	}
	if null { // it compares with everything
		return a, b, nil
	}
	return a, b, p.checkCompared(n, n.Text, a, b)
}

// bytesAsNumbers says how values of a family without a type become numbers.
const bytesAsNumbers = "TO_INT64 and TO_FLOAT64 read numbers of a family without a type, CAST(CAST(… AS STRING) AS INT64) reads text"

// checkCompared refuses types that a comparison does not take.
func (p *planner) checkCompared(n *parse.Node, op string, a, b *expr) error {
	switch {
	case a.typ.Kind == value.TypeNull || b.typ.Kind == value.TypeNull:
	case !canCompare(a.typ, b.typ) && a.typ.Same(b.typ):
		return p.Errorf(n.Pos, "values of type %s cannot be compared", a.typ)
	case !canCompare(a.typ, b.typ):
		how := "CAST(… AS …) makes one type of another"
		if a.typ.Kind == value.TypeBytes && b.typ.Numeric() || b.typ.Kind == value.TypeBytes && a.typ.Numeric() {
			how = bytesAsNumbers
		}
		return p.Errorf(n.Pos, "%s %s %s cannot be compared; %s", a.typ, op, b.typ, how)
	case op != "=" && op != "!=" && !a.typ.Comparable():
		return p.Errorf(n.Pos, "values of type %s have no order; they are compared with = and !=", a.typ)
	}
	return nil
}

func canCompare(a, b value.Type) bool {
	return a.Groupable() && b.Groupable() && (a.Same(b) || a.Numeric() && b.Numeric())
}

// bothTexts gives two expressions one type, STRING or BYTES.
func (p *planner) bothTexts(n *parse.Node, a, b *expr, ofA, ofB *parse.Node) (_, _ *expr, err error) {
	t := common(a.typ, b)
	if t.Kind == value.TypeNull {
		t.Kind = value.TypeString
	}
	if a, err = p.coerced(ofA, a, t); err != nil {
		return nil, nil, err
	}
	if b, err = p.coerced(ofB, b, t); err != nil {
		return nil, nil, err
	}
	name := cmp.Or(n.Text, "LIKE")
	switch {
	case a.typ.Kind != value.TypeBytes && a.typ.Kind != value.TypeString:
		return nil, nil, p.Errorf(ofA.Pos, "%s takes BYTES or STRING, not %s", name, a.typ)
	case !a.typ.Same(b.typ):
		return nil, nil, p.Errorf(ofB.Pos, "the second operand of %s is %s; it must be %s, as the first", name, b.typ, a.typ)
	}
	return a, b, nil
}

func compileCast(p *planner, n *parse.Node) (*expr, error) {
	t, err := p.typeNamed(n)
	if err != nil {
		return nil, err
	}
	e, err := p.compile(n.Args[0])
	switch {
	case err != nil:
		return nil, err
	case n.Kind == parse.StringToken && t.Kind == value.TypeNumeric: // a literal
		v, err := value.ReadNumeric(n.Args[0].Text, true)
		return fixedExpr(t, v), p.placed(err, n.Pos)
	case n.Kind == parse.StringToken && t.Kind == value.TypeJSON:
		v, err := value.ParseJSON(context.Background(), n.Args[0].Text, false)
		return fixedExpr(t, v), p.placed(err, n.Pos)
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
	made.keyText = e.key && to == value.TypeString && n.Op == parse.OpCast
	if to == value.TypeString || to == value.TypeBytes {
		return p.counted(n, made), nil
	}
	return made, nil
}

// typeNamed is the type of a CAST: a scalar, or a message or an enum of a schema bundle as
// bundle.package.Name.
func (p *planner) typeNamed(n *parse.Node) (t value.Type, err error) {
	if kind, ok := value.TypeNames[n.Text]; ok {
		return value.Type{Kind: kind}, nil
	}
	if of, ok := strings.CutPrefix(n.Text, "ARRAY<"); ok {
		t, err := p.typeNamed(&parse.Node{Pos: n.Pos, Text: strings.TrimSuffix(of, ">")})
		if err == nil && t.Kind == value.TypeArray {
			err = p.Errorf(n.Pos, "an array cannot have elements of type %s", t)
		}
		return value.ArrayOf(t), err
	}
	if of, ok := strings.CutPrefix(n.Text, "STRUCT<"); ok {
		return p.structNamed(n.Pos, strings.TrimSuffix(of, ">"))
	}
	id, name, ok := strings.Cut(n.Text, ".")
	switch {
	case n.Text == "BIGNUMERIC":
		return t, p.Errorf(n.Pos, "there is no BIGNUMERIC; a NUMERIC has 29 digits before the point and 9 after it")
	case !ok:
		return t, p.Errorf(n.Pos, "type %s is not one of %s, or a message or an enum of a schema bundle, as bundle.package.Name", n.Text, value.ScalarNames)
	}
	if p.bundles == nil {
		return t, p.Errorf(n.Pos, "Type not found: %s; only a server knows the schema bundles of tables", n.Text)
	}
	bundle, ok, err := p.bundles(id)
	switch {
	case err != nil:
		return t, p.Placed(err, n.Pos)
	case !ok:
		return t, p.Errorf(n.Pos, "Type not found: %s; table %s has no schema bundle %s", n.Text, p.table.Name, id)
	}
	if t, ok = bundle.Type(name); !ok {
		return t, p.Errorf(n.Pos, "Type not found: %s; schema bundle %s has no message and no enum %s", n.Text, id, name)
	}
	return t, nil
}

// structNamed is a struct by the fields that are written: types with commas between, each
// perhaps with a name before it.
func (p *planner) structNamed(pos int, fields string) (t value.Type, err error) {
	t.Kind = value.TypeStruct
	for fields != "" {
		end, depth := 0, 0
		for ; end < len(fields) && (fields[end] != ',' || depth > 0); end++ {
			switch fields[end] {
			case '<':
				depth++
			case '>':
				depth--
			}
		}
		f, of := value.Field{}, fields[:end]
		if name, rest, ok := strings.Cut(of, " "); ok && !strings.Contains(name, "<") {
			f.Name, of = name, rest
		}
		if f.Type, err = p.typeNamed(&parse.Node{Pos: pos, Text: of}); err != nil {
			return t, err
		}
		t.Fields = append(t.Fields, f)
		fields = strings.TrimPrefix(fields[end:], ", ")
	}
	return t, nil
}

// compileProtoCast compiles a CAST to or from a message or an enum.
func compileProtoCast(p *planner, n *parse.Node, of *expr, to value.Type) (*expr, error) {
	if !message.CanCast(of.typ, to) {
		return nil, p.Errorf(n.Pos, "Invalid cast from %s to %s", of.typ, to)
	}
	// failed is the error of a value.
	failed := func(err error) error {
		if err == nil || n.Op == parse.OpSafeCast {
			return nil
		}
		return p.Placed(err, n.Pos)
	}
	e := mapped(of, to, func(v any) (any, error) {
		c, err := message.Cast(v, of.typ, to)
		if err != nil {
			return nil, failed(err)
		}
		return c, nil
	})
	if of.typ.Kind == value.TypeBytes {
		e.decode = func(r *run.Tuple) (protoreflect.Message, error) {
			v, err := of.eval(r)
			if v == nil || err != nil {
				return nil, err
			}
			m, err := r.Message(to, v.([]byte))
			if err != nil {
				return nil, failed(err)
			}
			return m, nil
		}
	}
	return e, nil
}

// inEnum gives a literal or a parameter the type of an enum beside it; other expressions
// stay.
func (p *planner) inEnum(e *expr, t value.Type, n *parse.Node) (*expr, error) {
	given := e.literal || n.Op == parse.OpParam
	switch {
	case t.Kind != value.TypeEnum || !given:
		return e, nil
	case e.typ.Kind == value.TypeArray:
		of := *e.typ.Of
		if !message.CanCast(of, t) {
			return e, nil
		}
		return mapped(e, value.ArrayOf(t), func(v any) (any, error) {
			all := make(value.Array, len(v.(value.Array)))
			for i, element := range v.(value.Array) {
				if element == nil {
					continue
				}
				var err error
				if all[i], err = message.Cast(element, of, t); err != nil {
					return nil, p.Placed(err, n.Pos)
				}
			}
			return all, nil
		}), nil
	case !message.CanCast(e.typ, t):
		return e, nil
	}
	of, err := compileProtoCast(p, &parse.Node{Op: parse.OpCast, Pos: n.Pos}, e, t)
	if err != nil || !e.literal {
		return of, err
	}
	v, err := of.eval(nil)
	return fixedExpr(t, v), err
}
