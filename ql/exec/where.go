package exec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/filter"
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
	} else if err := checkTerm(t, where); err != nil {
		return where, errorAt(err, c.Pos)
	}
	if c.Not {
		where = read.Negate(where)
	}
	return where, nil
}

// checkTerm finds the mistakes that the read would find too, but without a place. What a
// family does not hold the read does not compare.
func checkTerm(t schema.Table, where read.Condition) error {
	if err := read.CheckPatterns([]read.Condition{where}); err != nil {
		return err
	}
	_, err := where.Prepare(func(family string) (cells.Type, error) {
		f, ok := t.Family(family)
		switch {
		case !ok:
			return cells.TypeAny, nil
		case f.Aggregate != schema.NoAggregate:
			return cells.TypeI64, nil
		}
		return f.Type, nil
	})
	return err
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
		return like(where, c.Pattern.Expr), nil
	case "=~":
		where.Kind, where.Pattern = read.Matches, c.Pattern.Expr
		return where, checkFilter(filter.Value(c.Pattern.Expr), c.Pattern.Pos)
	}
	if c.Other != nil && c.On == read.OnTime {
		if _, err := column(t, *c.Other); err != nil {
			return where, err
		}
		return read.WhereTimes(where.Family, where.Qualifier, comparisons[c.Op], c.Other.Family, c.Other.Qualifier), nil
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

// operands are the right-hand sides of a condition.
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
		v, err := valueFor(f, l.OperandFor)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// utf8Text matches a text that is UTF-8 as a whole, and character a character of such one.
const (
	utf8Text  = `(?:[\x00-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2})*`
	character = `(?:[\x00-\x7f\xc0-\xff][\x80-\xbf]*)`
)

// like is a condition with a pattern of like, on the subject of a condition. As in SQL, _
// is one character of a text, and one byte of bytes that are not UTF-8.
func like(on read.Condition, pattern string) read.Condition {
	matches := func(expr string) read.Condition {
		c := on
		c.Kind, c.Pattern = read.Matches, expr
		return c
	}
	ofBytes, counts := likePattern(pattern, `\C`)
	if !counts || !utf8.ValidString(pattern) {
		return matches(ofBytes)
	}
	ofText, _ := likePattern(pattern, character)
	isText := matches(utf8Text)
	return read.Any(read.All(matches(ofText), isText), read.All(matches(ofBytes), read.Negate(isText)))
}

// likePattern is a pattern of like as a regular expression: % is any text, _ is one of the
// units, and a backslash makes the next character mean itself. counts reports whether the
// pattern contains a _, so that the unit matters.
func likePattern(like, unit string) (expr string, counts bool) {
	var b strings.Builder
	for i := 0; i < len(like); {
		if c := like[i]; c != '%' && c != '_' {
			if c == '\\' && i+1 < len(like) {
				i++
			}
			b.WriteString(regexp.QuoteMeta(like[i : i+1]))
			i++
			continue
		}
		// A run of both is a number of units, and any text.
		units, rest := 0, ""
		for ; i < len(like) && (like[i] == '%' || like[i] == '_'); i++ {
			if like[i] == '%' {
				rest = unit + "*"
			} else {
				units++
			}
		}
		counts = counts || units > 0
		b.WriteString(repeated(unit, units) + rest)
	}
	return b.String(), counts
}

// repeated is an expression n times. A repetition is at most 1,000 with those inside.
func repeated(expr string, n int) string {
	const most = 300
	var b strings.Builder
	for ; n > 1; n -= min(n, most) {
		fmt.Fprintf(&b, "%s{%d}", expr, min(n, most))
	}
	return b.String() + strings.Repeat(expr, n)
}

// filterOf returns the filter for regex=, sample= and column patterns, or nil if the
// read uses none of these. If the bound on cells per row must apply after the filter,
// filterOf moves it into the filter.
func filterOf(want *ql.Read) (filter.Filter, error) {
	var chain []filter.Filter
	if want.Regex != nil {
		f := filter.RowKey(want.Regex.Expr)
		if err := checkFilter(f, want.Regex.Pos); err != nil {
			return nil, err
		}
		chain = append(chain, f)
	}
	if want.Sample != 0 {
		chain = append(chain, filter.RowSample(want.Sample))
	}
	if slices.ContainsFunc(want.Columns, func(c ql.Column) bool { return c.Kind == ql.ColumnRegex }) {
		f, err := columnFilter(want.Columns)
		if err != nil {
			return nil, err
		}
		chain = append(chain, f)
		if want.CellsPerRow > 0 {
			chain = append(chain, filter.CellsPerRowLimit(want.CellsPerRow))
			want.CellsPerRow = 0
		}
	}
	return filter.ChainOf(chain...), nil
}

// checkFilter returns a pattern's error with its place.
func checkFilter(f filter.Filter, at lex.Pos) error {
	if err := filter.Check(f); err != nil {
		return errorAt(err, at)
	}
	return nil
}

func errorAt(err error, at lex.Pos) error {
	return &lex.Error{Pos: at, Msg: lex.Escape(err.Error()), Err: &query.Error{Kind: query.KindInvalidArgument, Err: err}}
}

// columnFilter keeps the cells of the columns. It uses one branch for each family, so
// that no cell is returned twice.
func columnFilter(columns []ql.Column) (filter.Filter, error) {
	byFamily := map[string][]ql.Column{}
	var families []string
	for _, c := range columns {
		if byFamily[c.Family] == nil {
			families = append(families, c.Family)
		}
		byFamily[c.Family] = append(byFamily[c.Family], c)
	}
	var branches []filter.Filter
	for _, name := range families {
		expr, err := qualifierPattern(byFamily[name])
		if err != nil {
			return nil, err
		}
		var chain []filter.Filter
		if len(families) > 1 {
			chain = append(chain, filter.Family(literalPattern(name)))
		}
		if expr != "" {
			chain = append(chain, filter.Column(expr))
		}
		if len(chain) == 0 {
			return filter.PassAll{}, nil
		}
		branches = append(branches, filter.ChainOf(chain...))
	}
	return filter.InterleaveOf(branches...), nil
}

// qualifierPattern matches the qualifiers of the columns of one family; "" matches all
// that are read. The read selects columns before the filter runs, but it reads a whole
// family if one of the family's columns is a pattern.
func qualifierPattern(columns []ql.Column) (string, error) {
	if !slices.ContainsFunc(columns, func(c ql.Column) bool { return c.Kind == ql.ColumnRegex }) {
		return "", nil
	}
	var alternatives []string
	for _, c := range columns {
		switch c.Kind {
		case ql.ColumnFamily:
			return "", nil
		case ql.ColumnRegex:
			if err := checkFilter(filter.Column(c.Qualifier), c.Pos); err != nil {
				return "", err
			}
			alternatives = append(alternatives, "(?:"+c.Qualifier+")")
		case ql.ColumnPrefix:
			alternatives = append(alternatives, literalPattern(c.Qualifier)+`\C*`)
		case ql.ColumnRange:
			return "", lex.ErrorAt(c.Pos, "a range and a pattern of qualifiers of one family do not go together; read them one after another")
		default:
			alternatives = append(alternatives, literalPattern(c.Qualifier))
		}
	}
	if len(columns) == 1 {
		return columns[0].Qualifier, nil
	}
	return strings.Join(alternatives, "|"), nil
}

// literalPattern returns a pattern that matches exactly these bytes.
func literalPattern(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c < 0x80 && ('0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_') {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String()
}
