package bind

import (
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
	p.whole.size.Searches++
	return run.NewSearch(p.whole.size.Searches-1, isFloat(x.typ), values)
}

// compileIn compiles x IN (a, b, …), which is x = a OR x = b OR ….
func compileIn(p *planner, n *parse.Node) (*expr, error) {
	if len(n.Args) == 2 {
		return p.functions.operators[parse.OpCompare](p, &parse.Node{Op: parse.OpCompare, Text: "=", Pos: n.Pos, Args: n.Args})
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
