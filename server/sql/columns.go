package sql

import (
	"strings"

	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server/sql/parse"
	"github.com/smolwc/smolwc/server/sql/value"
)

// named is _key, or a family.
func (p *Plan) named(n *parse.Node) (*expr, error) {
	if e, ok := p.computed(n.Text); ok {
		return e, nil
	}
	if !p.scope.table && (p.table.Name != "" || len(p.scope.names) > 0) {
		return nil, p.Errorf(n.Pos, "Unrecognized name: %s; the stage before has %s", n.Text, p.scopeNames())
	}
	if n.Text == parse.RowKey && p.table.Name != "" {
		return &expr{typ: value.Type{Kind: value.TypeBytes}, key: true, eval: func(r *tuple) (any, error) { return []byte(r.row.Key()), nil }}, nil
	}
	if p.table.Name != "" {
		if e, ok, err := p.keyField(n); ok {
			return e, err
		}
	}
	f, ok := p.table.Family(n.Text)
	if p.table.Name == "" {
		return nil, p.Errorf(n.Pos, "Unrecognized name: %s; the query has no FROM clause", n.Text)
	}
	if !ok {
		return nil, p.Errorf(n.Pos, "Unrecognized name: %s; table %s has _key and its column families%s", n.Text, p.table.Name, p.keyFieldNames())
	}
	p.cells = true
	p.reads = append(p.reads, read.Family(f.Name))
	of := value.FamilyType(f)
	t := value.MapOf(of)
	if p.history {
		t = value.MapOf(value.ArrayOf(value.CellType(of)))
	}
	return &expr{typ: t, eval: func(r *tuple) (any, error) { return wholeFamily(r, f.Name, of.Kind, p.history) }}, nil
}

func wholeFamily(r *tuple, family string, of value.Kind, history bool) (any, error) {
	m := value.Map{}
	for c := range r.row.Cells() {
		if c.Family != family {
			continue
		}
		v, err := value.OfCell(&c, of)
		if err != nil {
			return nil, err
		}
		last := len(m) - 1
		switch {
		case !history:
			m = append(m, value.Entry{Qualifier: c.Qualifier, Value: v})
		case last >= 0 && m[last].Qualifier == c.Qualifier:
			m[last].Value = append(m[last].Value.(value.Array), value.Struct{c.Timestamp, v})
		default:
			m = append(m, value.Entry{Qualifier: c.Qualifier, Value: value.Array{value.Struct{c.Timestamp, v}}})
		}
	}
	return m, nil
}

// unqualified is a column of the table without the table's name before it.
func (p *Plan) unqualified(n *parse.Node) *parse.Node {
	if n.Op != parse.OpField || n.Args[0].Op != parse.OpName || !p.qualifies(n.Args[0].Text) {
		return n
	}
	return &parse.Node{Op: parse.OpName, Pos: n.Args[0].Pos, Text: n.Text}
}

// qualifies reports whether a name is that of the table or the rows, and not of a column.
func (p *Plan) qualifies(name string) bool {
	if p.scope.alias == "" || !parse.Same(name, p.scope.alias) {
		return false
	}
	_, column := p.computed(name)
	_, family := p.table.Family(name)
	return !column && !(family && p.scope.table)
}

// scopeNames lists columns in messages.
func (p *Plan) scopeNames() string {
	names := make([]string, 0, len(p.scope.names))
	for _, s := range p.scope.names {
		names = append(names, s.name)
	}
	if len(names) > 20 {
		names = append(names[:20], "…")
	}
	return strings.Join(names, ", ")
}

// index is a column of a family, or an element of an array.
func (p *Plan) index(n *parse.Node) (*expr, error) {
	before := len(p.reads)
	of, err := p.compile(n.Args[0])
	if err != nil {
		return nil, err
	}
	switch of.typ.Kind {
	case value.TypeMap:
		by, err := p.typed(n.Args[1], value.TypeBytes, "the qualifier of a column")
		if err != nil {
			return nil, err
		}
		name := p.unqualified(n.Args[0])
		f, ok := p.table.Family(name.Text)
		if _, computed := p.computed(name.Text); !ok || computed || name.Op != parse.OpName || !p.scope.table {
			return entryOf(of, by), nil
		}
		if by.literal || by.fixed && p.params.bound() {
			if q, err := by.eval(nil); err == nil && q != nil { // read only this column of the family
				p.reads = append(p.reads[:before], read.Column(f.Name, string(q.([]byte))))
			}
		}
		return columnExpr(f, by, *of.typ.Of), nil
	case value.TypeArray:
		if e, err := p.entry(n, of); e != nil || err != nil {
			return e, err
		}
		return p.element(n, of)
	}
	return nil, p.Errorf(n.Pos, "%s has no elements", of.typ)
}

// entryOf is the value of a map that a stage or a function has computed.
func entryOf(of, by *expr) *expr {
	return combined([]*expr{of, by}, *of.typ.Of, func(v []any) (any, error) {
		qualifier := string(v[1].([]byte))
		for _, entry := range v[0].(value.Map) {
			if entry.Qualifier == qualifier {
				return entry.Value, nil
			}
		}
		return nil, nil
	})
}

func columnExpr(f *schema.Family, by *expr, t value.Type) *expr {
	e := &expr{typ: t, strict: true}
	family, of := f.Name, value.FamilyKind(f)
	latest := func(r *tuple, qualifier string) (any, error) {
		c, ok := r.row.Cell(family, qualifier)
		if !ok {
			return nil, nil
		}
		return value.OfCell(&c, of)
	}
	history := func(r *tuple, qualifier string) (any, error) {
		var h value.Array
		for c := range r.row.Versions(family, qualifier) {
			v, err := value.OfCell(&c, of)
			if err != nil {
				return nil, err
			}
			h = append(h, value.Struct{c.Timestamp, v})
		}
		if h == nil {
			return nil, nil
		}
		return h, nil
	}
	get := latest
	if t.Kind == value.TypeArray {
		get = history
	} else if by.literal {
		if q, err := by.eval(nil); err == nil && q != nil {
			e.column = &cellExpr{family, string(q.([]byte)), of, f.Type}
		}
	}
	e.eval = func(r *tuple) (any, error) {
		q, err := by.eval(r)
		if q == nil || err != nil {
			return nil, err
		}
		return get(r, string(q.([]byte)))
	}
	return e
}
