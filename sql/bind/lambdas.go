package bind

import (
	"strings"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

// compileLambda compiles e -> expression, or (e, i) -> expression, of an element and its number
// from 0. The result computes it for each element in turn, until fn returns false.
func compileLambda(p *planner, n *parse.Node, of value.Type) (*expr, func(t *run.Tuple, all value.Array, fn func(i int, v any) bool) error, error) {
	if len(n.Names) > 2 {
		return nil, nil, p.Errorf(n.Pos, "the lambda has %d arguments; it may have an element, and its number", len(n.Names))
	}
	if len(n.Names) == 2 && parse.Same(n.Names[0], n.Names[1]) {
		return nil, nil, p.Errorf(n.Pos, "both arguments of the lambda are named %s", n.Names[0])
	}
	before := len(p.lambdas)
	for i, name := range n.Names {
		p.lambdas = append(p.lambdas, slotName{name: name, typ: []value.Type{of, {Kind: value.TypeInt64}}[i]})
	}
	body, err := p.compile(n.Args[0])
	p.lambdas = p.lambdas[:before]
	if err != nil {
		return nil, nil, err
	}
	made := &run.Lambda{Body: body.eval, Depth: before, Names: len(n.Names), Placed: p.places(n.Pos)}
	return body, made.Each, nil
}

// compileMatching compiles what the elements of an array are compared with: a lambda that is true
// for some, or a value that some are equal to. The result calls fn with the number of each
// such element, until fn returns false.
// The array that is searched may have other elements than the one that is given.
func compileMatching(p *planner, n, by *parse.Node, array *expr) (e, searched *expr, each func(t *run.Tuple, all value.Array, fn func(i int) bool) error, err error) {
	if by.Op == parse.OpLambda {
		body, apply, err := compileLambda(p, by, *array.typ.Of)
		if err != nil {
			return nil, nil, nil, err
		}
		if body.typ.Kind != value.TypeBool && body.typ.Kind != value.TypeNull {
			return nil, nil, nil, p.Errorf(by.Args[0].Pos, "the lambda is %s; it must be BOOL", body.typ)
		}
		return nil, array, func(t *run.Tuple, all value.Array, fn func(int) bool) error {
			return apply(t, all, func(i int, v any) bool { return v != true || fn(i) })
		}, nil
	}
	x, err := p.compile(by)
	if err != nil {
		return nil, nil, nil, err
	}
	if x, array, err = p.elementOf(n, x, array, by, n.Args[0]); err != nil {
		return nil, nil, nil, err
	}
	s := p.searchedIn(x, array)
	return x, array, func(t *run.Tuple, all value.Array, fn func(int) bool) error {
		v, err := x.eval(t)
		if err != nil {
			return err
		}
		first := 0
		if array.fixed {
			if first, _, err = s.Find(t, v); first < 0 || err != nil {
				return err
			}
		}
		for i, e := range all[first:] {
			if value.Equal(v, e) == true && !fn(first+i) {
				return nil
			}
		}
		return nil
	}, nil
}

// firstArray compiles the first argument, an array.
func firstArray(p *planner, n *parse.Node, least, most int) (*expr, error) {
	if len(n.Args) < least || len(n.Args) > most {
		return nil, p.Errorf(n.Pos, "%s takes %d to %d arguments, not %d", n.Text, least, most, len(n.Args))
	}
	e, err := p.typed(n.Args[0], value.TypeArray, "the first argument of "+n.Text)
	if err != nil {
		return nil, err
	}
	return e, nil
}

func compileArrayLambda(p *planner, n *parse.Node) (*expr, error) {
	array, err := firstArray(p, n, 2, 2)
	if err != nil {
		return nil, err
	}
	by := n.Args[1]
	if by.Op != parse.OpLambda {
		return nil, p.Errorf(by.Pos, "%s takes a lambda, such as e -> e > 0", n.Text)
	}
	body, apply, err := compileLambda(p, by, *array.typ.Of)
	if err != nil {
		return nil, err
	}
	filter := n.Text == "ARRAY_FILTER"
	made := &expr{typ: array.typ}
	switch k := body.typ.Kind; {
	case !filter && (k == value.TypeArray || k == value.TypeMap):
		return nil, p.Errorf(by.Args[0].Pos, "an array cannot have elements of type %s", body.typ)
	case filter && k != value.TypeBool && k != value.TypeNull:
		return nil, p.Errorf(by.Args[0].Pos, "the lambda is %s; it must be BOOL", body.typ)
	case !filter:
		made.typ = value.ArrayOf(body.typ)
	}
	made.eval = func(t *run.Tuple) (any, error) {
		v, err := array.eval(t)
		if v == nil || err != nil {
			return nil, err
		}
		of, all := v.(value.Array), value.Array{}
		err = apply(t, of, func(i int, v any) bool {
			if !filter {
				all = append(all, v)
			} else if v == true {
				all = append(all, of[i])
			}
			return true
		})
		return all, err
	}
	return p.counted(n, made), nil
}

func compileArrayIncludes(p *planner, n *parse.Node) (*expr, error) {
	array, err := firstArray(p, n, 2, 2)
	if err != nil {
		return nil, err
	}
	x, array, each, err := compileMatching(p, n, n.Args[1], array)
	if err != nil {
		return nil, err
	}
	return &expr{typ: value.Type{Kind: value.TypeBool}, eval: func(t *run.Tuple) (any, error) {
		v, err := array.eval(t)
		if v == nil || err != nil {
			return nil, err
		}
		if x != nil {
			if of, err := x.eval(t); of == nil || err != nil {
				return nil, err
			}
		}
		some := false
		err = each(t, v.(value.Array), func(int) bool { some = true; return false })
		return some, err
	}}, nil
}

// compileArrayOffset compiles ARRAY_OFFSET(array, value or lambda [, FIRST or LAST]), which is NULL
// where there is no such element, and ARRAY_OFFSETS.
func compileArrayOffset(p *planner, n *parse.Node) (*expr, error) {
	all, last, most := n.Text == "ARRAY_OFFSETS", false, 3
	if all {
		most = 2
	}
	array, err := firstArray(p, n, 2, most)
	if err != nil {
		return nil, err
	}
	if len(n.Args) == 3 {
		mode := n.Args[2]
		if last = strings.EqualFold(mode.Text, "LAST"); !last && !strings.EqualFold(mode.Text, "FIRST") {
			return nil, p.Errorf(mode.Pos, "the third argument of ARRAY_OFFSET must be FIRST or LAST")
		}
	}
	_, array, each, err := compileMatching(p, n, n.Args[1], array)
	if err != nil {
		return nil, err
	}
	t := value.Type{Kind: value.TypeInt64}
	if all {
		t = value.ArrayOf(t)
	}
	return &expr{typ: t, eval: func(t *run.Tuple) (any, error) {
		v, err := array.eval(t)
		if v == nil || err != nil {
			return nil, err
		}
		offsets := value.Array{}
		err = each(t, v.(value.Array), func(i int) bool {
			if !all {
				offsets = offsets[:0]
			}
			offsets = append(offsets, int64(i))
			return all || last
		})
		switch {
		case err != nil:
			return nil, err
		case all:
			return offsets, nil
		case len(offsets) == 0:
			return nil, nil
		}
		return offsets[0], nil
	}}, nil
}

// distinct are the elements of an array as keys, without NULL.
func distinct(all value.Array) map[string]bool {
	set := make(map[string]bool, len(all))
	for _, e := range all {
		if e != nil {
			set[string(value.AppendKey(nil, e))] = true
		}
	}
	return set
}

func compileArrayIncludesSome(p *planner, n *parse.Node) (*expr, error) {
	parts, t, err := p.alike(n.Args, "the arrays of "+n.Text)
	if err != nil {
		return nil, err
	}
	if t.Kind == value.TypeNull {
		t = anyOfKind(value.TypeArray)
	}
	if len(parts) != 2 || t.Kind != value.TypeArray || !t.Of.Groupable() {
		return nil, p.Errorf(n.Pos, "%s takes two arrays, whose elements can be compared", n.Text)
	}
	every := n.Text == "ARRAY_INCLUDES_ALL"
	return combined(parts, value.Type{Kind: value.TypeBool}, func(v []any) (any, error) {
		set := distinct(v[0].(value.Array))
		for _, e := range v[1].(value.Array) {
			if found := e != nil && !value.IsNaN(e) && set[string(value.AppendKey(nil, e))]; found != every {
				return found, nil
			}
		}
		return every, nil
	}), nil
}

func compileArrayIsDistinct(p *planner, n *parse.Node) (*expr, error) {
	array, err := firstArray(p, n, 1, 1)
	if err != nil {
		return nil, err
	}
	if !array.typ.Of.Groupable() {
		return nil, p.Errorf(n.Pos, "%s cannot compare values of type %s", n.Text, *array.typ.Of)
	}
	return mapped(array, value.Type{Kind: value.TypeBool}, func(v any) (any, error) {
		nulls := 0
		for _, e := range v.(value.Array) {
			if e == nil {
				nulls++
			}
		}
		return len(distinct(v.(value.Array)))+nulls == len(v.(value.Array)) && nulls < 2, nil
	}), nil
}

// compileArrayPart compiles ARRAY_LAST_N, and ARRAY_SLICE, which counts from 0, or
// from the end if a number is negative, and includes both ends.
func compileArrayPart(p *planner, n *parse.Node) (*expr, error) {
	numbers := 1
	if n.Text == "ARRAY_SLICE" {
		numbers = 2
	}
	array, err := firstArray(p, n, 1+numbers, 1+numbers)
	if err != nil {
		return nil, err
	}
	parts := []*expr{array}
	for _, arg := range n.Args[1:] {
		number, err := p.typed(arg, value.TypeInt64, "a number of "+n.Text)
		if err != nil {
			return nil, err
		}
		parts = append(parts, number)
	}
	return combined(parts, array.typ, func(v []any) (any, error) {
		all, count := v[0].(value.Array), v[1].(int64)
		length := int64(len(all))
		if n.Text == "ARRAY_SLICE" {
			end := v[2].(int64)
			if count < 0 {
				count += length
			}
			if end < 0 {
				end += length
			}
			count, end = max(count, 0), min(end, length-1)
			if count > end {
				return value.Array{}, nil
			}
			return all[count : end+1], nil
		}
		if count < 0 {
			return nil, p.Errorf(n.Args[1].Pos, "the number of %s is %d; it must not be negative", n.Text, count)
		}
		return all[length-min(count, length):], nil
	}), nil
}

func compileArrayConcat(p *planner, n *parse.Node) (*expr, error) {
	if len(n.Args) == 0 {
		return nil, p.Errorf(n.Pos, "ARRAY_CONCAT takes arrays")
	}
	// By halves: one after the other, the first arrays would be copied for each later one.
	var joined func(args []*parse.Node) *parse.Node
	joined = func(args []*parse.Node) *parse.Node {
		if len(args) == 1 {
			return args[0]
		}
		half := len(args) / 2
		return &parse.Node{Op: parse.OpBinary, Text: "||", Pos: n.Pos, Args: []*parse.Node{joined(args[:half]), joined(args[half:])}}
	}
	e, err := p.compile(joined(n.Args))
	if err == nil {
		e, err = p.coerced(n, e, anyOfKind(value.TypeArray))
	}
	if err == nil && e.typ.Kind != value.TypeArray {
		err = p.Errorf(n.Pos, "ARRAY_CONCAT takes arrays, not %s", e.typ)
	}
	return e, err
}
