package sql

import (
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// rowKey is the name of the column of row keys.
const rowKey = "_key"

// named is _key, or a family.
func (p *Plan) named(n *node) (*expr, error) {
	if n.text == rowKey && p.table.Name != "" {
		return &expr{typ: valueType{kind: typeBytes}, key: true, eval: func(r *query.Row) (any, error) { return []byte(r.Key()), nil }}, nil
	}
	f, ok := p.table.Family(n.text)
	if p.table.Name == "" {
		return nil, p.errorf(n.pos, "Unrecognized name: %s; the query has no FROM clause", n.text)
	}
	if !ok {
		return nil, p.errorf(n.pos, "Unrecognized name: %s; table %s has _key and its column families", n.text, p.table.Name)
	}
	p.cells = true
	p.reads = append(p.reads, read.Family(f.Name))
	of := familyType(f)
	t := mapOf(of)
	if p.history {
		t = mapOf(arrayOf(cellType(of)))
	}
	return &expr{typ: t, eval: func(r *query.Row) (any, error) { return wholeFamily(r, f.Name, of.kind, p.history) }}, nil
}

// wholeFamily is a family of a row as a map.
func wholeFamily(r *query.Row, family string, of typeKind, history bool) (any, error) {
	m := mapValue{}
	for c := range r.Cells() {
		if c.Family != family {
			continue
		}
		v, err := cellValue(&c, of)
		if err != nil {
			return nil, err
		}
		last := len(m) - 1
		switch {
		case !history:
			m = append(m, mapEntry{c.Qualifier, v})
		case last >= 0 && m[last].qualifier == c.Qualifier:
			m[last].value = append(m[last].value.(arrayValue), structValue{c.Timestamp, v})
		default:
			m = append(m, mapEntry{c.Qualifier, arrayValue{structValue{c.Timestamp, v}}})
		}
	}
	return m, nil
}

// unqualified is a column of the table without the table's name before it.
func (p *Plan) unqualified(n *node) *node {
	if n.op != opField || n.args[0].op != opName || n.args[0].text != p.alias {
		return n
	}
	if _, family := p.table.Family(p.alias); family {
		return n
	}
	return &node{op: opName, pos: n.args[0].pos, text: n.text}
}

// index is a column of a family, or an element of an array.
func (p *Plan) index(n *node) (*expr, error) {
	before := len(p.reads)
	of, err := p.compile(n.args[0])
	if err != nil {
		return nil, err
	}
	switch of.typ.kind {
	case typeMap:
		by, err := p.typed(n.args[1], typeBytes, "the qualifier of a column")
		if err != nil {
			return nil, err
		}
		f, ok := p.table.Family(p.unqualified(n.args[0]).text)
		if !ok {
			return nil, p.errorf(n.pos, "a column is written family['qualifier']")
		}
		if by.literal || by.fixed && p.params.bound() {
			if q, err := by.eval(nil); err == nil && q != nil { // read only this column of the family
				p.reads = append(p.reads[:before], read.Column(f.Name, string(q.([]byte))))
			}
		}
		return columnExpr(f, by, *of.typ.of), nil
	case typeArray:
		return p.element(n, of)
	}
	return nil, p.errorf(n.pos, "%s has no elements", of.typ)
}

// columnExpr is the value of a column, or its history.
func columnExpr(f *schema.Family, by *expr, t valueType) *expr {
	e := &expr{typ: t, strict: true}
	family, of := f.Name, familyKind(f)
	latest := func(r *query.Row, qualifier string) (any, error) {
		c, ok := r.Cell(family, qualifier)
		if !ok {
			return nil, nil
		}
		return cellValue(&c, of)
	}
	history := func(r *query.Row, qualifier string) (any, error) {
		var h arrayValue
		for c := range r.Versions(family, qualifier) {
			v, err := cellValue(&c, of)
			if err != nil {
				return nil, err
			}
			h = append(h, structValue{c.Timestamp, v})
		}
		if h == nil {
			return nil, nil
		}
		return h, nil
	}
	get := latest
	if t.kind == typeArray {
		get = history
	}
	e.eval = func(r *query.Row) (any, error) {
		q, err := by.eval(r)
		if q == nil || err != nil {
			return nil, err
		}
		return get(r, string(q.([]byte)))
	}
	return e
}
