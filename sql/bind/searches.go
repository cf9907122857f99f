package bind

import (
	"crypto/rand"
	"fmt"

	"github.com/smolwc/smolwc/sql/function"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

// compileUUID compiles GENERATE_UUID: a random UUID, version 4 of RFC 9562.
func compileUUID(p *planner, n *parse.Node) (*expr, error) {
	if len(n.Args) > 0 {
		return nil, p.Errorf(n.Pos, "GENERATE_UUID takes no arguments")
	}
	return &expr{typ: value.Type{Kind: value.TypeString}, eval: func(*run.Tuple) (any, error) {
		var u [16]byte
		_, _ = rand.Read(u[:]) // which never fails
		u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
		return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:]), nil
	}}, nil
}

// compileContains compiles CONTAINS_SUBSTR: whether a text is in a value, or in an element of
// one, without regard to case. It is NULL if the text is nowhere and an element is NULL.
// https://cloud.google.com/bigquery/docs/reference/standard-sql/string_functions#contains_substr
func compileContains(p *planner, n *parse.Node) (*expr, error) {
	if len(n.Args) != 2 {
		return nil, p.Errorf(n.Pos, "CONTAINS_SUBSTR takes a value and the text to find in it")
	}
	of, err := p.compile(n.Args[0])
	if err != nil {
		return nil, err
	}
	if t, ok := searchable(of.typ); !ok {
		return nil, p.Errorf(n.Args[0].Pos, "CONTAINS_SUBSTR does not search %s; CAST(… AS STRING) makes a text of it", t)
	}
	text, err := p.typed(n.Args[1], value.TypeString, "the text to find")
	if err != nil {
		return nil, err
	}
	return combined([]*expr{of, text}, value.Type{Kind: value.TypeBool}, nil).calling(func(t *run.Tuple) (any, error) {
		v, what, err := both(of, text, t)
		if v == nil || what == nil || err != nil {
			return nil, err
		}
		return p.run(t, n, []any{v, what}, func(v []any) (any, error) { return function.Contains(v[0], v[1].(string)) })
	}), nil
}

// calling is the expression computed by another function.
func (e *expr) calling(eval run.Eval) *expr {
	e.eval = eval
	return e
}

// searchable reports whether values of a type, and of the types in it, have a text; t is one
// that has none.
func searchable(of value.Type) (t value.Type, ok bool) {
	switch of.Kind {
	case value.TypeArray:
		return searchable(*of.Of)
	case value.TypeStruct:
		for _, f := range of.Fields {
			if t, ok := searchable(f.Type); !ok {
				return t, false
			}
		}
		return of, true
	}
	text := of.Kind == value.TypeString || of.Kind == value.TypeNull
	return of, text || of.Kind != value.TypeBytes && value.CanCast(of.Kind, value.TypeString)
}

// compileRangeBucket compiles RANGE_BUCKET: how many of the sorted bounds are not greater than
// a value.
func compileRangeBucket(p *planner, n *parse.Node) (*expr, error) {
	if len(n.Args) != 2 {
		return nil, p.Errorf(n.Pos, "RANGE_BUCKET takes a value and an array of bounds")
	}
	x, array, err := p.element(n, n.Args[0], n.Args[1])
	if err != nil {
		return nil, err
	}
	if !x.typ.Comparable() {
		return nil, p.Errorf(n.Args[0].Pos, "values of type %s have no order", x.typ)
	}
	return combined([]*expr{x, array}, value.Type{Kind: value.TypeInt64}, func(v []any) (any, error) {
		count, bounds := 0, v[1].(value.Array)
		for i, bound := range bounds {
			if bound == nil || value.IsNaN(bound) || i > 0 && value.Order(bounds[i-1], bound) > 0 {
				return nil, p.Errorf(n.Args[1].Pos, "the bounds of RANGE_BUCKET must be sorted, without NULL and NaN")
			}
			if value.Order(bound, v[0]) <= 0 {
				count = i + 1
			}
		}
		if value.IsNaN(v[0]) {
			return nil, nil
		}
		return int64(count), nil
	}), nil
}
