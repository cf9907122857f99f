package exec

import (
	"regexp"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/ql"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

var comparisons = map[string]cells.Op{"==": cells.OpEqual, "!=": cells.OpNotEqual, "<": cells.OpLess, "<=": cells.OpLessOrEqual, ">": cells.OpGreater, ">=": cells.OpGreaterOrEqual}

// condition is a condition of a statement on the rows of a table.
func (r *Runner) condition(t schema.Table, c *ql.Condition) (where read.Condition, err error) {
	if c.Op == "and" || c.Op == "or" {
		where.Kind = read.AllOf
		if c.Op == "or" {
			where.Kind = read.AnyOf
		}
		where.Terms = make([]read.Condition, len(c.Terms))
		for i := range c.Terms {
			if where.Terms[i], err = r.condition(t, &c.Terms[i]); err != nil {
				return where, err
			}
		}
	} else if where, err = r.term(t, c); err != nil {
		return where, err
	}
	if c.Not {
		where = read.Negate(where)
	}
	return where, nil
}

func (r *Runner) term(t schema.Table, c *ql.Condition) (where read.Condition, err error) {
	where = read.Condition{On: c.On, Part: c.Part}
	var f schema.Family
	if c.On == read.OnValue || c.On == read.OnTime {
		where.Family, where.Qualifier = c.Column.Family, c.Column.Qualifier
		if f, err = column(t, c.Column); err != nil {
			return where, err
		}
	}
	switch c.Op {
	case "exists":
		where.Kind = read.IsPresent
		return where, nil
	case "absent":
		where.Kind = read.IsAbsent
		return where, nil
	case "like":
		where.Kind, where.Pattern = read.Matches, likePattern(c.Pattern.Expr)
		return where, nil
	case "=~":
		where.Kind, where.Pattern = read.Matches, c.Pattern.Expr
		return where, checkFilter(filter.Value(c.Pattern.Expr), c.Pattern.Pos)
	}
	if c.Other != nil {
		if _, ok := t.Family(c.Other.Family); ok {
			return read.WhereColumns(where.Family, where.Qualifier, comparisons[c.Op], c.Other.Family, c.Other.Qualifier), nil
		}
	}
	values, err := r.operands(f, c)
	if err != nil {
		return where, err
	}
	switch c.Op {
	case "in":
		where.Kind, where.Values = read.IsOneOf, values
	case "between":
		first, last := where, where
		first.Op, first.Value = cells.OpGreaterOrEqual, values[0]
		last.Op, last.Value = cells.OpLessOrEqual, values[1]
		return read.All(first, last), nil
	default:
		where.Op, where.Value = comparisons[c.Op], values[0]
	}
	return where, nil
}

// operands are what a condition compares with.
func (r *Runner) operands(f schema.Family, c *ql.Condition) (values []cells.Value, err error) {
	for _, at := range c.Times {
		ts, err := r.resolve(at, 0)
		if err != nil {
			return nil, err
		}
		values = append(values, cells.I64(int64(ts)))
	}
	for _, key := range c.Keys {
		values = append(values, cells.Bytes([]byte(key)))
	}
	for _, l := range c.Values {
		v, err := valueFor(f, l, l.OperandFor)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// oneCharacter matches one character of UTF-8, or one byte of what is not UTF-8.
const oneCharacter = `(?:[\x00-\x7f]|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}|\C)`

// likePattern is a pattern of like as a regular expression: % is any text, _ is one
// character, and a backslash makes the next character mean itself.
func likePattern(like string) string {
	var b strings.Builder
	for i := 0; i < len(like); i++ {
		switch c := like[i]; {
		case c == '%':
			b.WriteString(`\C*`)
		case c == '_':
			b.WriteString(oneCharacter)
		case c == '\\' && i+1 < len(like):
			i++
			b.WriteString(regexp.QuoteMeta(like[i : i+1]))
		default:
			b.WriteString(regexp.QuoteMeta(like[i : i+1]))
		}
	}
	return b.String()
}
