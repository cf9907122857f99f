package sql

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/query"
)

// array compiles [a, b, c], whose elements are of one type.
func (p *Plan) array(n *node) (*expr, error) {
	parts, t, err := p.alike(n.args, "the elements of an array")
	if err != nil {
		return nil, err
	}
	if t.kind == typeArray || t.kind == typeMap {
		return nil, p.errorf(n.pos, "an array cannot have elements of type %s", t)
	}
	e := &expr{typ: arrayOf(t), fixed: allFixed(parts)}
	e.literal = !slices.ContainsFunc(parts, func(part *expr) bool { return !part.literal })
	e.eval = func(r *query.Row) (any, error) {
		values, err := evalAll(parts, r)
		return arrayValue(values), err
	}
	return e, nil
}

func allFixed(parts []*expr) bool {
	return !slices.ContainsFunc(parts, func(part *expr) bool { return !part.fixed })
}

// alike compiles expressions that must have one type: literals take the type of the
// other expressions, and a mix of integers and floats is FLOAT64. The type is NULL's
// when all are NULL.
func (p *Plan) alike(nodes []*node, what string) (parts []*expr, t valueType, err error) {
	parts = make([]*expr, len(nodes))
	for i, n := range nodes {
		if parts[i], err = p.compile(n); err != nil {
			return nil, t, err
		}
		switch e := parts[i]; {
		case e.typ.kind == typeNull:
		case t.kind == typeNull, t.kind == typeString && e.typ.kind == typeBytes: // the literals before can be BYTES
			t = e.typ
		case t.numeric() && e.typ.numeric() && t.kind != e.typ.kind:
			t.kind = typeFloat64
		}
	}
	for i, e := range parts {
		null := e.typ.kind == typeNull
		if e, err = coerced(e, t.kind); err != nil {
			return nil, t, p.placed(err, nodes[i].pos)
		}
		if null {
			e.typ = t
		}
		if e.typ.kind != t.kind && e.typ.numeric() && t.numeric() {
			e = mapped(e, t, func(v any) (any, error) { return toFloat(v), nil })
		}
		if e.typ.kind != t.kind || !t.comparable() && e.typ.String() != t.String() {
			return nil, t, p.errorf(nodes[i].pos, "%s are of types %s and %s; CAST(… AS …) makes one type of another", what, t, e.typ)
		}
		parts[i] = e
	}
	return parts, t, nil
}

// structure compiles STRUCT(a AS name, b).
func (p *Plan) structure(n *node) (*expr, error) {
	t := valueType{kind: typeStruct}
	parts := make([]*expr, len(n.args))
	for i, arg := range n.args {
		var err error
		if parts[i], err = p.compile(arg); err != nil {
			return nil, err
		}
		t.fields = append(t.fields, field{n.names[i], parts[i].typ})
	}
	return &expr{typ: t, fixed: allFixed(parts), eval: func(r *query.Row) (any, error) {
		values, err := evalAll(parts, r)
		return structValue(values), err
	}}, nil
}

// field compiles a field of a struct, such as the timestamp or the value of a
// cell in a history.
func (p *Plan) field(n *node) (*expr, error) {
	of, err := p.compile(n.args[0])
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(of.typ.fields, func(f field) bool { return strings.EqualFold(f.name, n.text) })
	if i < 0 {
		return nil, p.errorf(n.pos, "%s has no field %q", of.typ, n.text)
	}
	return mapped(of, of.typ.fields[i].typ, func(v any) (any, error) { return v.(structValue)[i], nil }), nil
}

// element compiles array[i]; i may also be OFFSET(i), which is the same, or
// ORDINAL(i), which counts from 1; with SAFE_ before these a missing element is
// NULL.
func (p *Plan) element(n *node, of *expr) (*expr, error) {
	index, first, safe := n.args[1], int64(0), false
	if index.op == opCall && len(index.args) == 1 {
		var name string
		name, safe = strings.CutPrefix(index.text, "SAFE_")
		switch name {
		case "ORDINAL":
			first = 1
			fallthrough
		case "OFFSET":
			index = index.args[0]
		}
	}
	by, err := p.typed(index, typeInt64, "an index")
	if err != nil {
		return nil, err
	}
	return combined([]*expr{of, by}, *of.typ.of, func(v []any) (any, error) {
		all, at := v[0].(arrayValue), v[1].(int64)
		switch {
		case at >= first && at-first < int64(len(all)):
			return all[at-first], nil
		case safe:
			return nil, nil
		}
		return nil, p.errorf(n.pos, "index %d is out of range: the array has %d elements", at, len(all))
	}), nil
}

// inArray compiles x IN UNNEST(array): FALSE when the array is NULL or empty.
func (p *Plan) inArray(n *node) (*expr, error) {
	x, err := p.compile(n.args[0])
	if err != nil {
		return nil, err
	}
	array, err := p.compile(n.args[1])
	if err != nil {
		return nil, err
	}
	if array.typ.kind != typeArray {
		return nil, p.errorf(n.args[1].pos, "UNNEST takes an array, not %s", array.typ)
	}
	of := *array.typ.of
	if x, err = coerced(x, of.kind); err != nil {
		return nil, p.placed(err, n.args[0].pos)
	}
	if array.literal && of.kind == typeString && x.typ.kind == typeBytes {
		of = x.typ
		array = mapped(array, arrayOf(of), castElements(of.kind))
	}
	if of.kind != typeNull && !canCompare(x.typ, of) {
		return nil, p.errorf(n.pos, "%s cannot be among %s; CAST(… AS …) makes one type of another", x.typ, array.typ)
	}
	e := &expr{typ: valueType{kind: typeBool}, fixed: x.fixed && array.fixed, rejects: x.strict || array.strict, eval: func(r *query.Row) (any, error) {
		v, all, err := both(x, array, r)
		if all == nil || err != nil {
			return false, err
		}
		return among(v, all.(arrayValue)), nil
	}}
	if x.key && array.fixed {
		e.keys = func() keyRanges { return keysAmong(array) }
	}
	return e, nil
}

func castElements(to typeKind) func(any) (any, error) {
	return func(v any) (any, error) {
		var err error
		array := slices.Clone(v.(arrayValue))
		for i, element := range array {
			if element != nil && err == nil {
				array[i], err = castValue(element, to)
			}
		}
		return array, err
	}
}

// among is NULL when no element is equal and one of the values compared is NULL.
func among(v any, all arrayValue) any {
	var result any = false
	for _, element := range all {
		if v == nil || element == nil {
			result = nil
		} else if order, ok := compareValues(v, element); ok && order == 0 {
			return true
		}
	}
	return result
}

func keysAmong(array *expr) keyRanges {
	v, err := array.eval(nil)
	if err != nil {
		return allKeys // each row says what is wrong
	}
	var rs keyRanges
	all, _ := v.(arrayValue)
	for _, key := range all {
		if b, ok := key.([]byte); ok {
			rs = append(rs, keysThat("=", string(b))...)
		}
	}
	return unionOf(rs)
}

// firstOf compiles COALESCE and IFNULL: the first value that is not NULL.
func (p *Plan) firstOf(n *node) (*expr, error) {
	if len(n.args) == 0 || n.text == "IFNULL" && len(n.args) != 2 {
		return nil, p.errorf(n.pos, "%s takes other arguments: COALESCE(a, b, …), IFNULL(a, b)", n.text)
	}
	parts, t, err := p.alike(n.args, "the arguments of "+n.text)
	if err != nil {
		return nil, err
	}
	e := &expr{typ: t, fixed: allFixed(parts), strict: !slices.ContainsFunc(parts, func(part *expr) bool { return !part.strict })}
	e.eval = func(r *query.Row) (any, error) {
		for _, part := range parts {
			if v, err := part.eval(r); v != nil || err != nil {
				return v, err
			}
		}
		return nil, nil
	}
	return e, nil
}
