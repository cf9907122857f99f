package bind

import (
	"slices"

	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

// searched is a search among expressions that are the same for every row.
func (p *planner) searched(x *expr, among []*expr) *run.Search {
	return p.search(x, func(t *run.Tuple) (value.Array, error) { return evalAll(among, t) })
}

// searchedIn is a search in an array that is the same for every row; NULL is an empty one.
func (p *planner) searchedIn(x, array *expr) *run.Search {
	return p.search(x, func(t *run.Tuple) (value.Array, error) {
		v, err := array.eval(t)
		all, _ := v.(value.Array)
		return all, err
	})
}

// search is a search of values that are the same for every row.
func (p *planner) search(x *expr, values func(*run.Tuple) (value.Array, error)) *run.Search {
	p.plan.Size.Searches++
	return run.NewSearch(p.plan.Size.Searches-1, isFloat(x.typ), values)
}

func isFloat(t value.Type) bool { return t.Numeric() && t.Kind != value.TypeInt64 }

// compared compiles an expression and others that it is compared with by =, and gives them
// one type, where they are not numbers.
func (p *planner) compared(n *parse.Node, nodes []*parse.Node) (all []*expr, err error) {
	all = make([]*expr, len(nodes))
	nulls := make([]bool, len(nodes)) // they compare with everything
	t, numbers := value.Type{}, true
	for i, n := range nodes {
		if all[i], err = p.compile(n); err != nil {
			return nil, err
		}
		t, nulls[i] = common(t, all[i]), all[i].typ.Kind == value.TypeNull
		numbers = numbers && (all[i].typ.Numeric() || all[i].typ.Kind == value.TypeNull)
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

// compileIn compiles x IN (a, b, …), which is x = a OR x = b OR ….
func compileIn(p *planner, n *parse.Node) (*expr, error) {
	if len(n.Args) == 2 {
		return compileCompare(p, &parse.Node{Op: parse.OpCompare, Text: "=", Pos: n.Pos, Args: n.Args})
	}
	all, err := p.compared(n, n.Args)
	if err != nil {
		return nil, err
	}
	x, among := all[0], all[1:]
	var fixed, others []*expr
	strict := true
	for _, e := range among {
		if strict = strict && e.strict; e.fixed {
			fixed = append(fixed, e)
		} else {
			others = append(others, e)
		}
	}
	s := p.searched(x, fixed)
	e := &expr{typ: value.Type{Kind: value.TypeBool}, fixed: x.fixed && len(others) == 0, strict: x.strict || strict}
	e.eval = func(t *run.Tuple) (any, error) {
		v, err := x.eval(t)
		if err != nil {
			return nil, err
		}
		result, err := s.Verdict(t, v)
		if result == true || err != nil {
			return result, err
		}
		for _, other := range others {
			w, err := other.eval(t)
			if err != nil {
				return nil, err
			}
			switch value.Equal(v, w) {
			case true:
				return true, nil
			case nil:
				result = nil
			}
		}
		return result, nil
	}
	if len(others) > 0 {
		return e, nil
	}
	narrowed(p, e, x, s)
	return e, nil
}

// narrowed notes which rows x IN (…) leaves.
func narrowed(p *planner, e, x *expr, s *run.Search) {
	switch {
	case x.keyField > 0:
		constrain(p, e, x, func(t *run.Tuple) (tests []fieldTest) {
			values, ok := s.Values(t) // if not, each row says what is wrong
			if !ok {
				return []fieldTest{{}}
			}
			for _, v := range values {
				if v != nil {
					tests = append(tests, fieldTest{"=", v})
				}
			}
			return tests
		})
	case x.key:
		e.keys = func(t *run.Tuple) keyRanges {
			values, ok := s.Values(t) // if not, each row says what is wrong
			if !ok {
				return allKeys
			}
			var rs keyRanges
			for _, v := range values {
				if key, ok := v.([]byte); ok {
					rs = append(rs, keysThat("=", string(key))...)
				}
			}
			return unionOf(rs)
		}
	case x.column != nil:
		e.stored = func(t *run.Tuple) (conditions []read.Condition) {
			values, ok := s.Values(t) // if not, each row says what is wrong
			if !ok || len(values) > maxStoredTerms {
				return nil
			}
			for _, v := range values {
				one := x.column.where("=", v)
				if len(one) != 1 {
					return nil
				}
				conditions = append(conditions, one...)
			}
			return anyOf(conditions)
		}
	}
}

// compileInArray compiles x IN UNNEST(array): FALSE when the array is NULL or empty.
func compileInArray(p *planner, n *parse.Node) (*expr, error) {
	x, array, err := p.element(n, n.Args[0], n.Args[1])
	if err != nil {
		return nil, err
	}
	e := &expr{typ: value.Type{Kind: value.TypeBool}, fixed: x.fixed && array.fixed, rejects: x.strict || array.strict}
	if !array.fixed {
		e.eval = func(r *run.Tuple) (any, error) {
			v, all, err := both(x, array, r)
			if all == nil || err != nil {
				return false, err
			}
			first, null := run.FoundIn(v, all.(value.Array))
			if first < 0 && null {
				return nil, nil
			}
			return first >= 0, nil
		}
		return e, nil
	}
	s := p.searchedIn(x, array)
	e.eval = func(r *run.Tuple) (any, error) {
		v, err := x.eval(r)
		if err != nil {
			return nil, err
		}
		return s.Verdict(r, v)
	}
	if x.key || x.keyField > 0 {
		narrowed(p, e, x, s)
	}
	return e, nil
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
	if t := *array.typ.Of; !t.Numeric() || !x.typ.Numeric() {
		t = common(t, x)
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

// compileSwitch compiles CASE x WHEN a THEN …: the value of the first expression that x equals.
func compileSwitch(p *planner, n *parse.Node) (*expr, error) {
	last := len(n.Args) - 1
	compared, results := []*parse.Node{n.Args[0]}, []*parse.Node{}
	for i := 1; i < last; i += 2 {
		compared, results = append(compared, n.Args[i]), append(results, n.Args[i+1])
	}
	all, err := p.compared(n, compared)
	if err != nil {
		return nil, err
	}
	parts, t, err := p.alike(append(results, n.Args[last]), "the values of CASE")
	if err != nil {
		return nil, err
	}
	x, whens := all[0], all[1:]
	e := &expr{typ: t, fixed: allFixed(parts) && allFixed(all)}
	find := func(t *run.Tuple, v any) (int, error) {
		for i, when := range whens {
			w, err := when.eval(t)
			if err != nil || value.Equal(v, w) == true {
				return i, err
			}
		}
		return -1, nil
	}
	if s := p.searched(x, whens); allFixed(whens) {
		find = func(t *run.Tuple, v any) (int, error) {
			first, _, err := s.Find(t, v)
			return first, err
		}
	}
	e.eval = func(t *run.Tuple) (any, error) {
		v, err := x.eval(t)
		if err != nil {
			return nil, err
		}
		at, err := find(t, v)
		if err != nil {
			return nil, err
		}
		if at < 0 {
			at = len(whens)
		}
		return parts[at].eval(t)
	}
	return e, nil
}

// fewest is the number of comparisons that are worth a search.
const fewest = 8

// gathered are the operands of OR in which x = a OR x = b OR … is x IN (a, b, …), and of AND
// in which x != a AND x != b AND … is NOT x IN (a, b, …), if there are many of them.
func gathered(p *planner, n *parse.Node) []*parse.Node {
	if len(n.Args) < fewest {
		return n.Args
	}
	op := "="
	if n.Op == parse.OpAnd {
		op = "!="
	}
	g := newNumbering()
	lists := map[int]*parse.Node{}
	var args []*parse.Node
	for _, arg := range n.Args {
		if arg.Op != parse.OpCompare || arg.Text != op || isConstant(arg.Args[0]) || !isConstant(arg.Args[1]) {
			args = append(args, arg)
			continue
		}
		id := g.number(p, arg.Args[0])
		in := lists[id]
		if in == nil {
			in = &parse.Node{Op: parse.OpIn, Pos: arg.Pos, Args: arg.Args[:1:1]}
			lists[id] = in
			if args = append(args, in); op != "=" {
				args[len(args)-1] = &parse.Node{Op: parse.OpNot, Pos: arg.Pos, Args: []*parse.Node{in}}
			}
		}
		in.Args = append(in.Args, arg.Args[1])
	}
	return args
}

// asSwitch is CASE WHEN x = a THEN … WHEN x = b THEN … as CASE x WHEN a THEN … WHEN b THEN …,
// if there are many of them; nil: it is another CASE.
func asSwitch(p *planner, n *parse.Node) *parse.Node {
	if len(n.Args) < 2*fewest {
		return nil
	}
	g := newNumbering()
	of := &parse.Node{Op: parse.OpSwitch, Pos: n.Pos, Args: []*parse.Node{n.Args[0]}}
	last := len(n.Args) - 1
	for i := 0; i < last; i += 2 {
		when := n.Args[i]
		if when.Op != parse.OpCompare || when.Text != "=" || isConstant(when.Args[0]) || !isConstant(when.Args[1]) {
			return nil
		}
		if i == 0 {
			of.Args[0] = when.Args[0]
		}
		if g.number(p, when.Args[0]) != g.number(p, of.Args[0]) {
			return nil
		}
		of.Args = append(of.Args, when.Args[1], n.Args[i+1])
	}
	of.Args = append(of.Args, n.Args[last])
	return of
}

// isConstant reports whether an expression is a literal or a parameter, as it is written.
func isConstant(n *parse.Node) bool {
	return n.Op <= parse.OpParam || n.Op == parse.OpCast && n.Args[0].Op == parse.OpLiteral
}
