package exec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/ql"
	"github.com/smolwc/smolwc/query/ql/lex"
)

// filterOf returns the filter for regex=, sample= and column patterns, or nil if the
// read has none of these. If the bound on cells per row must apply after the filter,
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
		return &lex.Error{Pos: at, Msg: lex.Escape(err.Error()), Err: &query.Error{Kind: query.KindInvalidArgument, Err: err}}
	}
	return nil
}

// columnFilter keeps the cells of the columns. It has one branch for each family, so
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
