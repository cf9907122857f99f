package ql

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// filter is what regex=, sample= and patterns of columns ask for, nil when
// there are none. A bound on the cells of a row that has to come behind it moves
// into it.
func (r *Runner) filter(t schema.Table, read *Read) (query.Filter, error) {
	var chain []query.Filter
	if read.Regex != nil {
		f := query.RowKeyFilter(read.Regex.Expr)
		if err := r.checkFilter(t, f, read.Regex.Pos); err != nil {
			return nil, err
		}
		chain = append(chain, f)
	}
	if read.Sample != 0 {
		chain = append(chain, query.RowSampleFilter(read.Sample))
	}
	if slices.ContainsFunc(read.Columns, func(c Column) bool { return c.Kind == ColumnRegex }) {
		f, err := r.columnFilter(t, read.Columns)
		if err != nil {
			return nil, err
		}
		chain = append(chain, f)
		if read.CellsPerRow > 0 {
			chain = append(chain, query.CellsPerRowLimitFilter(read.CellsPerRow))
			read.CellsPerRow = 0
		}
	}
	return chained(chain), nil
}

// checkFilter gives a mistake in a pattern its place.
func (r *Runner) checkFilter(t schema.Table, f query.Filter, at Pos) error {
	if r.Remote != nil { // the server checks it
		return nil
	}
	_, err := r.DB.Table(t.Name).Explain(query.RowFilter(f))
	var bad *query.Error
	if errors.As(err, &bad) {
		return &Error{Pos: at, Msg: clean(bad.Err.Error()), Err: err}
	}
	return err
}

func chained(fs []query.Filter) query.Filter {
	switch len(fs) {
	case 0:
		return nil
	case 1:
		return fs[0]
	}
	return query.ChainFilters(fs...)
}

// columnFilter leaves what the columns mean, family by family, so that no cell
// comes twice.
func (r *Runner) columnFilter(t schema.Table, columns []Column) (query.Filter, error) {
	byFamily := map[string][]Column{}
	var families []string
	for _, c := range columns {
		if byFamily[c.Family] == nil {
			families = append(families, c.Family)
		}
		byFamily[c.Family] = append(byFamily[c.Family], c)
	}
	var branches []query.Filter
	for _, name := range families {
		expr, err := r.qualifierPattern(t, byFamily[name])
		if err != nil {
			return nil, err
		}
		var chain []query.Filter
		if len(families) > 1 {
			chain = append(chain, query.FamilyFilter(literalPattern(name)))
		}
		if expr != "" {
			chain = append(chain, query.ColumnFilter(expr))
		}
		if len(chain) == 0 {
			return query.PassAllFilter(), nil
		}
		branches = append(branches, chained(chain))
	}
	if len(branches) == 1 {
		return branches[0], nil
	}
	return query.InterleaveFilters(branches...), nil
}

// qualifierPattern matches the qualifiers of any of one family's columns; "" is
// all that are read. Columns without a pattern are chosen before the filter,
// unless there is one in their family: then all of it is read.
func (r *Runner) qualifierPattern(t schema.Table, columns []Column) (string, error) {
	if !slices.ContainsFunc(columns, func(c Column) bool { return c.Kind == ColumnRegex }) {
		return "", nil
	}
	var alternatives []string
	for _, c := range columns {
		switch c.Kind {
		case ColumnFamily:
			return "", nil
		case ColumnRegex:
			if err := r.checkFilter(t, query.ColumnFilter(c.Qualifier), c.Pos); err != nil {
				return "", err
			}
			alternatives = append(alternatives, "(?:"+c.Qualifier+")")
		case ColumnPrefix:
			alternatives = append(alternatives, literalPattern(c.Qualifier)+`\C*`)
		case ColumnRange:
			return "", errorAt(c.Pos, "a range and a pattern of qualifiers of one family do not go together; read them one after another")
		default:
			alternatives = append(alternatives, literalPattern(c.Qualifier))
		}
	}
	if len(columns) == 1 {
		return columns[0].Qualifier, nil
	}
	return strings.Join(alternatives, "|"), nil
}

// literalPattern matches these bytes and no others.
func literalPattern(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c < 0x80 && (isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_') {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String()
}
