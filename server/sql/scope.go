package sql

import (
	"strings"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server/sql/parse"
	"github.com/smolwc/smolwc/server/sql/value"
)

// A tuple is a row between two stages, as expressions see it: a row of the table, the
// values that stages have computed, or both.
type tuple struct {
	row     *query.Row
	slots   []any
	decoded []decodedMessage // so that several fields of a message cost one decoding
}

// A scope is the names that the expressions of a stage can use.
type scope struct {
	table  bool   // the tuples have rows of the table
	alias  string // of the tuples
	names  []slotName
	index  map[string]int // of names, in lower case
	slots  int            // how many the tuples have
	groups *grouping      // nil: the tuples are not groups
}

// A slotName is a column that a stage has computed.
type slotName struct {
	name string
	typ  value.Type
	slot int
}

func slotExpr(t value.Type, slot int) *expr {
	return &expr{typ: t, eval: func(t *tuple) (any, error) { return t.slots[slot], nil }}
}

// named adds a column that a stage computes.
func (s *scope) named(n slotName) {
	if s.index == nil {
		s.index = map[string]int{}
	}
	s.index[strings.ToLower(n.name)] = len(s.names)
	s.names = append(s.names, n)
}

// computed looks a name up among the columns of earlier stages. The newest wins.
func (p *Plan) computed(name string) (*expr, bool) {
	i, ok := p.scope.index[strings.ToLower(name)]
	if !ok || name == "" {
		return nil, false
	}
	return slotExpr(p.scope.names[i].typ, p.scope.names[i].slot), true
}

// star is every column of the scope.
func (p *Plan) star(c parse.Column) (all []output, err error) {
	if p.scope.groups != nil {
		return nil, p.Errorf(c.Pos, "SELECT * is not possible with GROUP BY or aggregate functions")
	}
	if !p.scope.table && len(p.scope.names) == 0 {
		return nil, p.Errorf(c.Pos, "SELECT * must have a FROM clause")
	}
	unused := map[string]bool{}
	instead := map[string]*parse.Node{} // nil: the column is left out
	for _, name := range c.Except {
		unused[strings.ToLower(name)], instead[strings.ToLower(name)] = true, nil
	}
	for _, r := range c.Replace {
		unused[strings.ToLower(r.Name)], instead[strings.ToLower(r.Name)] = true, r.Expr
	}
	add := func(name string, column func() (*expr, error)) error {
		if n, ok := instead[strings.ToLower(name)]; ok && name != "" {
			delete(unused, strings.ToLower(name))
			if n == nil {
				return nil
			}
			column = func() (*expr, error) { return p.compile(n) }
		}
		e, err := column()
		all = append(all, output{name, e})
		return err
	}
	if p.scope.table {
		for _, name := range p.tableColumns() {
			n := &parse.Node{Op: parse.OpName, Pos: c.Pos, Text: name}
			if err := add(name, func() (*expr, error) { return p.compile(n) }); err != nil {
				return nil, err
			}
		}
	}
	for _, s := range p.scope.names { // by their slots: they may have no names, or the same
		if p.parts++; p.parts > maxParts {
			return nil, p.Errorf(c.Pos, "the query is too large: it comes to more than %d expressions", maxParts)
		}
		if err := add(s.name, func() (*expr, error) { return slotExpr(s.typ, s.slot), nil }); err != nil {
			return nil, err
		}
	}
	for name := range unused {
		return nil, p.Errorf(c.Pos, "EXCEPT and REPLACE name the column %s, and * has no such column", name)
	}
	if len(all) == 0 {
		return nil, p.Errorf(c.Pos, "SELECT * EXCEPT leaves no column")
	}
	return all, nil
}

// outputs compiles columns.
func (p *Plan) outputs(columns []parse.Column) (all []output, err error) {
	for _, c := range columns {
		if c.Expr == nil {
			some, err := p.star(c)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
			continue
		}
		if c.Expr.Op == parse.OpFields {
			some, err := p.fields(c)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
			continue
		}
		e, err := p.compile(c.Expr)
		if err != nil {
			return nil, err
		}
		all = append(all, output{c.Name, e})
	}
	return all, nil
}
