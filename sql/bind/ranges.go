package bind

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

// limitRows notes which rows a comparison leaves.
func limitRows(p *planner, e *expr, op string, a, b *expr) {
	if op == "!=" {
		return
	}
	switch {
	case a.keyField > 0 && b.fixed:
		constrain(p, e, a, tested(op, b))
	case b.keyField > 0 && a.fixed:
		constrain(p, e, b, tested(turned.Replace(op), a))
	case a.keyText && b.fixed && op == "=":
		e.keys = keysWhere(b, func(key string) keyRanges { return keysThat(op, key) })
	case b.keyText && a.fixed && op == "=":
		e.keys = keysWhere(a, func(key string) keyRanges { return keysThat(op, key) })
	case a.key && b.fixed:
		e.keys = keysWhere(b, func(key string) keyRanges { return keysThat(op, key) })
	case b.key && a.fixed:
		e.keys = keysWhere(a, func(key string) keyRanges { return keysThat(turned.Replace(op), key) })
	case a.column != nil && b.fixed:
		e.stored = func(t *run.Tuple) []read.Condition { return a.column.whereThat(t, op, b) }
	case b.column != nil && a.fixed:
		e.stored = func(t *run.Tuple) []read.Condition { return b.column.whereThat(t, turned.Replace(op), a) }
	}
}

// turned is the comparison with the operands the other way round.
var turned = strings.NewReplacer("<", ">", ">", "<")

// keysWhere are the row keys for a value that is the same for every row. With
// NULL no row is wanted.
func keysWhere(e *expr, keys func(string) keyRanges) func(*run.Tuple) keyRanges {
	return func(t *run.Tuple) keyRanges {
		v, err := e.eval(t.Alone())
		switch {
		case err != nil:
			return allKeys // each row says what is wrong
		case v == nil:
			return nil
		}
		return keys(value.TextOf(v))
	}
}

// keyRanges are row keys: sorted ranges that do not touch.
type keyRanges []cf.Range

// allKeys is every row.
var allKeys = keyRanges{{}}

func (rs keyRanges) and(others keyRanges) keyRanges { return cf.IntersectRanges(rs, others) }

// intersectionOf is the keys that are in all elements of all; there is at least one
// range. Halves are combined, so that many small ranges do not each walk a large one.
func intersectionOf(all []keyRanges) keyRanges {
	if len(all) == 1 {
		return all[0]
	}
	half := len(all) / 2
	return intersectionOf(all[:half]).and(intersectionOf(all[half:]))
}

// unionOf joins ranges in any order.
func unionOf(rs keyRanges) keyRanges {
	var union keyRanges
	for _, r := range cf.MergeRanges(rs) {
		if last := len(union) - 1; last >= 0 && union[last].End == r.Start {
			union[last].End = r.End
		} else {
			union = append(union, r)
		}
	}
	return union
}

// keysThat are the row keys for which a comparison holds.
func keysThat(op, key string) keyRanges {
	after := key + "\x00"
	var rs keyRanges
	switch op {
	case "=":
		rs = keyRanges{cf.Single(key)}
	case "<":
		if key == "" {
			return nil
		}
		rs = keyRanges{{End: key}}
	case "<=":
		rs = keyRanges{{End: after}}
	case ">":
		rs = keyRanges{{Start: after}}
	case ">=":
		rs = keyRanges{{Start: key}}
	default:
		rs = allKeys
	}
	return rs
}

func keysWith(prefix string) keyRanges { return keyRanges{cf.Prefix(prefix)} }

var storeOps = map[string]cells.Op{"=": cells.OpEqual, "<": cells.OpLess, "<=": cells.OpLessOrEqual, ">": cells.OpGreater, ">=": cells.OpGreaterOrEqual}

// whereThat is where of a value that is the same for every row.
func (c *cellExpr) whereThat(t *run.Tuple, op string, with *expr) []read.Condition {
	v, err := with.eval(t.Alone())
	if err != nil {
		return nil // each row says what is wrong
	}
	return c.where(op, v)
}

// where is a comparison of the column with a value, as the store judges it; nil if the store
// compares otherwise, or the value is NULL.
func (c *cellExpr) where(op string, v any) []read.Condition {
	var than cells.Value
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		than = cells.String(v)
	case int64:
		than = cells.I64(v)
	case []byte:
		if c.declared == cells.TypeAny {
			return c.whereAny(op, v)
		}
		than = cells.Bytes(v)
	}
	if than.Type() != c.declared && (c.declared != cells.TypeI32 || than.Type() != cells.TypeI64) {
		return nil
	}
	return []read.Condition{read.Where(c.Family, c.Qualifier, storeOps[op], than)}
}

// whereAny is for a family with values of all types, which queries see as bytes.
func (c *cellExpr) whereAny(op string, v []byte) []read.Condition {
	number := len(v) == 1 || len(v) == 4 || len(v) == 8
	if op != "=" || number {
		return nil
	}
	return []read.Condition{read.WhereIn(c.Family, c.Qualifier, cells.Bytes(v), cells.String(string(v)))}
}

// maxStoredTerms bounds the alternatives that the store judges.
const maxStoredTerms = 1000

// storedBy are the conditions of AND and OR. All alternatives of OR must be on one column.
func storedBy(op parse.Operator, parts []*expr) func(t *run.Tuple) []read.Condition {
	some := func(e *expr) bool { return e.stored != nil }
	none := func(e *expr) bool { return e.stored == nil }
	if op == parse.OpAnd && !slices.ContainsFunc(parts, some) ||
		op == parse.OpOr && (slices.ContainsFunc(parts, none)) {
		return nil
	}
	return func(t *run.Tuple) (all []read.Condition) {
		for _, part := range parts {
			if part.stored == nil {
				continue
			}
			conditions := part.stored(t)
			if op == parse.OpOr && (len(conditions) != 1 || len(all) > 0 && (conditions[0].Family != all[0].Family || conditions[0].Qualifier != all[0].Qualifier)) {
				return nil
			}
			all = append(all, conditions...)
		}
		if op == parse.OpAnd || len(all) < 2 {
			return all
		}
		return anyOf(all)
	}
}

// anyOf is the condition that one of the conditions on a column holds; nil if it would be
// too large.
func anyOf(all []read.Condition) []read.Condition {
	one := read.Condition{Family: all[0].Family, Qualifier: all[0].Qualifier, Kind: read.IsOneOf}
	var terms []read.Condition
	for _, c := range all {
		switch {
		case c.Kind == read.AnyOf:
			terms = append(terms, c.Terms...)
		case c.Kind == read.IsOneOf:
			one.Values = append(one.Values, c.Values...)
		case c.Op == cells.OpEqual:
			one.Values = append(one.Values, c.Value)
		default:
			terms = append(terms, c)
		}
	}
	if len(one.Values) > 0 {
		terms = append(terms, one)
	}
	switch {
	case len(terms)+len(one.Values) > maxStoredTerms:
		return nil
	case len(terms) == 1:
		return terms
	}
	either := read.Any(terms...)
	either.Family, either.Qualifier = one.Family, one.Qualifier // for an OR around this one
	return []read.Condition{either}
}

// A fieldCondition is a condition on one field of structured row keys: one of its tests
// must hold. Tests compare with values that are the same for every row.
type fieldCondition struct {
	field int
	tests func(*run.Tuple) []fieldTest
}

type fieldTest struct {
	op    string // = < <= > >=, ^ for a beginning, empty for a test that says nothing
	value any
}

// constrain notes a condition on a field of the row key.
func constrain(p *planner, e, field *expr, tests func(*run.Tuple) []fieldTest) {
	e.fields = []fieldCondition{{field.keyField - 1, tests}}
	e.keys = func(t *run.Tuple) keyRanges { return p.keysOn(t, e.fields) }
}

// tested is one test with a value that is the same for every row. No value passes a test
// with NULL.
func tested(op string, with *expr) func(t *run.Tuple) []fieldTest {
	return func(t *run.Tuple) []fieldTest {
		v, err := with.eval(t.Alone())
		switch {
		case err != nil:
			return []fieldTest{{}} // each row says what is wrong
		case v == nil:
			return nil
		}
		return []fieldTest{{op, v}}
	}
}

// anyField is the condition that one of the parts holds; it is nil when they are not on
// one field.
func anyField(parts []*expr) []fieldCondition {
	for _, part := range parts {
		if len(part.fields) != 1 || part.fields[0].field != parts[0].fields[0].field {
			return nil
		}
	}
	return []fieldCondition{{parts[0].fields[0].field, func(t *run.Tuple) (tests []fieldTest) {
		for _, part := range parts {
			tests = append(tests, part.fields[0].tests(t)...)
		}
		return tests
	}}}
}

// maxFieldRanges bounds the ranges that conditions on several fields make: they multiply.
const maxFieldRanges = 10_000

// keysOn are ranges with all keys for which the conditions hold together. A condition on
// a field narrows them when the fields before equal known values.
func (p *planner) keysOn(t *run.Tuple, conditions []fieldCondition) keyRanges {
	bases, found := []string{""}, allKeys
	for i := 0; ; i++ {
		var known []fieldTest
		some := false
		for _, c := range conditions {
			if c.field != i {
				continue
			}
			tests := c.tests(t)
			if len(tests)*len(bases) > maxFieldRanges && i > 0 {
				continue
			}
			some = true
			found = found.and(p.keysTested(bases, i, tests))
			if !slices.ContainsFunc(tests, func(t fieldTest) bool { return t.op != "=" || !p.rowKeys.Fits(i, t.value) }) {
				known = tests
			}
		}
		if !some || len(known) == 0 || len(known)*len(bases) > maxFieldRanges {
			return found
		}
		var longer []string
		for _, base := range bases {
			for _, t := range known {
				longer = append(longer, p.rowKeys.After(base, i, t.value))
			}
		}
		bases = longer
	}
}

// keysTested are the keys that begin with one of bases and whose field passes a test.
func (p *planner) keysTested(bases []string, field int, tests []fieldTest) keyRanges {
	var rs keyRanges
	for _, base := range bases {
		for _, t := range tests {
			rs = append(rs, p.keysOf(base, field, t)...)
		}
	}
	return unionOf(rs)
}

func (p *planner) keysOf(base string, field int, t fieldTest) keyRanges {
	switch t.op {
	case "":
		return p.rowKeys.Beginning(base, "")
	case "^":
		return p.rowKeys.Beginning(base, value.TextOf(t.value))
	}
	if rs, ok := p.rowKeys.Compared(base, field, t.op, t.value); ok {
		return rs
	}
	return p.rowKeys.Beginning(base, "")
}
