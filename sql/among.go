package sql

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// A search finds which of many values another one equals: by a search of sorted values, as
// each row would compare itself with thousands.
type search struct {
	plan   *Plan
	values func(*tuple) (value.Array, error) // they are the same for every row
	float  bool                              // what is looked for is a FLOAT32 or FLOAT64

	mu     sync.Mutex
	sorted atomic.Pointer[sortedValues]
}

// sortedValues are the values of a search.
type sortedValues struct {
	*search
	large  bool // the plan has no room for them: they are compared one by one
	all    value.Array
	exact  []int32 // the numbers of the values, sorted by them
	floats []int32 // and of those that an INT64 equals as FLOAT64
	inner  []int32 // and of those with a NULL in them
	null   bool    // a value is NULL
	some   bool    // a value is not NULL
}

// sort sorts the values, once. It ends early with the context of the tuple.
func (s *search) sort(t *tuple) (*sortedValues, error) {
	if known := s.sorted.Load(); known != nil {
		return known, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.sorted.Load(); known != nil {
		return known, nil
	}
	made := &sortedValues{search: s}
	alone := &tuple{ctx: t.ctx}
	var err error
	if made.all, err = s.values(alone); err != nil {
		return nil, err
	}
	size := 4 * len(made.all)
	if alone.made > 0 { // literals and parameters are there anyway
		size += value.Size(made.all)
	}
	if made.large = !s.plan.keeps(size); made.large {
		made.all = nil
	} else if err := made.sortBy(t.ctx); err != nil {
		s.plan.kept.Add(-int64(size))
		return nil, err
	}
	s.sorted.Store(made)
	return made, nil
}

func (s *sortedValues) sortBy(ctx context.Context) error {
	for i, v := range s.all {
		s.some = s.some || v != nil
		_, isInt := v.(int64)
		switch equal := value.Equal(v, v); {
		case v == nil:
			s.null = true
		case equal == nil:
			s.inner = append(s.inner, int32(i))
		case equal == false: // NaN
		case isNumber(v) && !isInt && !s.float:
			s.floats = append(s.floats, int32(i))
		default:
			s.exact = append(s.exact, int32(i))
		}
	}
	compared, stopped := 0, false
	for _, numbers := range [][]int32{s.exact, s.floats} {
		slices.SortFunc(numbers, func(i, j int32) int {
			if compared++; compared%4096 == 0 && ctx != nil && ctx.Err() != nil {
				stopped = true
			}
			if stopped { // what is equal is sorted at once
				return 0
			}
			return cmp.Or(value.Order(s.key(s.all[i]), s.key(s.all[j])), cmp.Compare(i, j))
		})
	}
	if stopped {
		return ctx.Err()
	}
	return nil
}

// key is what values are sorted by: INT64 beside FLOAT64 is one.
func (s *search) key(v any) any {
	if _, ok := v.(int64); ok && s.float {
		return value.ToFloat(v)
	}
	return v
}

func isNumber(v any) bool {
	switch v.(type) {
	case int64, float32, float64:
		return true
	}
	return false
}

// find is the number of the first value that v equals, -1 if it equals no value. null reports
// whether v = value is NULL for some value then.
func (s *search) find(t *tuple, v any) (first int, null bool, err error) {
	if t == nil { // it is the same for every row
		t = &tuple{}
	}
	of, err := s.sort(t)
	switch {
	case err != nil:
		return -1, false, err
	case of.large:
		all, err := s.values(t)
		first, null = foundIn(v, all)
		return first, null, err
	case v == nil:
		return -1, len(of.all) > 0, nil
	case !of.some: // it may be of a type that is not compared
		return -1, of.null, nil
	}
	switch value.Equal(v, v) {
	case nil: // it has a NULL in it, which no other value equals
		_, null = foundIn(v, of.all)
		return -1, null, nil
	case true: // it has no NaN in it
		first = of.first(of.exact, s.key(v))
		if at := of.first(of.floats, v); first < 0 || at >= 0 && at < first {
			first = at
		}
	default:
		first = -1
	}
	if first < 0 {
		null = of.null || slices.ContainsFunc(of.inner, func(i int32) bool { return value.Equal(v, of.all[i]) == nil })
	}
	return first, null, nil
}

// foundIn compares a value with others one by one.
func foundIn(v any, all value.Array) (first int, null bool) {
	for i, w := range all {
		switch value.Equal(v, w) {
		case true:
			return i, false
		case nil:
			null = true
		}
	}
	return -1, null
}

func (s *sortedValues) first(numbers []int32, v any) int {
	at, found := slices.BinarySearchFunc(numbers, v, func(i int32, v any) int { return value.Order(s.key(s.all[i]), v) })
	if !found {
		return -1
	}
	return int(numbers[at])
}

// verdict is what IN makes of a value: TRUE, FALSE or nil for NULL.
func (s *search) verdict(t *tuple, v any) (any, error) {
	first, null, err := s.find(t, v)
	switch {
	case err != nil || first < 0 && null:
		return nil, err
	}
	return first >= 0, nil
}

// searched is a search among expressions that are the same for every row.
func (p *Plan) searched(x *expr, among []*expr) *search {
	return &search{plan: p, float: isFloat(x.typ), values: func(t *tuple) (value.Array, error) { return evalAll(among, t) }}
}

// searchedIn is a search in an array that is the same for every row; NULL is an empty one.
func (p *Plan) searchedIn(x, array *expr) *search {
	return &search{plan: p, float: isFloat(x.typ), values: func(t *tuple) (value.Array, error) {
		v, err := array.eval(t)
		all, _ := v.(value.Array)
		return all, err
	}}
}

func isFloat(t value.Type) bool { return t.Numeric() && t.Kind != value.TypeInt64 }

// compared compiles an expression and others that it is compared with by =, and gives them
// one type, where they are not numbers.
func (p *Plan) compared(n *parse.Node, nodes []*parse.Node) (all []*expr, err error) {
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

// in compiles x IN (a, b, …), which is x = a OR x = b OR ….
func (p *Plan) in(n *parse.Node) (*expr, error) {
	if len(n.Args) == 2 {
		return p.compare(&parse.Node{Op: parse.OpCompare, Text: "=", Pos: n.Pos, Args: n.Args})
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
	e.eval = func(t *tuple) (any, error) {
		v, err := x.eval(t)
		if err != nil {
			return nil, err
		}
		result, err := s.verdict(t, v)
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
	p.narrowed(e, x, s)
	return e, nil
}

// narrowed notes which rows x IN (…) leaves.
func (p *Plan) narrowed(e, x *expr, s *search) {
	// all are the values, if each row does not have to say what is wrong with them.
	all := func() (value.Array, bool) {
		of, err := s.sort(&tuple{})
		return valuesOf(of), err == nil && !of.large
	}
	switch {
	case x.keyField > 0:
		p.constrain(e, x, func() (tests []fieldTest) {
			values, ok := all()
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
		e.keys = func() keyRanges {
			values, ok := all()
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
		e.stored = func() (conditions []read.Condition) {
			values, ok := all()
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

func valuesOf(s *sortedValues) value.Array {
	if s == nil {
		return nil
	}
	return s.all
}

// inArray compiles x IN UNNEST(array): FALSE when the array is NULL or empty.
func (p *Plan) inArray(n *parse.Node) (*expr, error) {
	x, array, err := p.element(n, n.Args[0], n.Args[1])
	if err != nil {
		return nil, err
	}
	e := &expr{typ: value.Type{Kind: value.TypeBool}, fixed: x.fixed && array.fixed, rejects: x.strict || array.strict}
	if !array.fixed {
		e.eval = func(r *tuple) (any, error) {
			v, all, err := both(x, array, r)
			if all == nil || err != nil {
				return false, err
			}
			first, null := foundIn(v, all.(value.Array))
			if first < 0 && null {
				return nil, nil
			}
			return first >= 0, nil
		}
		return e, nil
	}
	s := p.searchedIn(x, array)
	e.eval = func(r *tuple) (any, error) {
		v, err := x.eval(r)
		if err != nil {
			return nil, err
		}
		return s.verdict(r, v)
	}
	if x.key || x.keyField > 0 {
		p.narrowed(e, x, s)
	}
	return e, nil
}

// element compiles an array and what is compared with its elements.
func (p *Plan) element(n, of, in *parse.Node) (x, array *expr, err error) {
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
func (p *Plan) elementOf(n *parse.Node, x, array *expr, of, in *parse.Node) (_, _ *expr, err error) {
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

// switched compiles CASE x WHEN a THEN …: the value of the first expression that x equals.
func (p *Plan) switched(n *parse.Node) (*expr, error) {
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
	find := func(t *tuple, v any) (int, error) {
		for i, when := range whens {
			w, err := when.eval(t)
			if err != nil || value.Equal(v, w) == true {
				return i, err
			}
		}
		return -1, nil
	}
	if s := p.searched(x, whens); allFixed(whens) {
		find = func(t *tuple, v any) (int, error) {
			first, _, err := s.find(t, v)
			return first, err
		}
	}
	e.eval = func(t *tuple) (any, error) {
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
func (p *Plan) gathered(n *parse.Node) []*parse.Node {
	if len(n.Args) < fewest {
		return n.Args
	}
	op := "="
	if n.Op == parse.OpAnd {
		op = "!="
	}
	g := &grouping{nodes: map[*parse.Node]int{}, seen: map[string]int{}}
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
func (p *Plan) asSwitch(n *parse.Node) *parse.Node {
	if len(n.Args) < 2*fewest {
		return nil
	}
	g := &grouping{nodes: map[*parse.Node]int{}, seen: map[string]int{}}
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
