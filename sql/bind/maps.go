package bind

import (
	"slices"

	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

func compileMapEmpty(p *planner, n *parse.Node) (*expr, error) {
	e, err := p.only(n, value.TypeMap)
	if err != nil {
		return nil, err
	}
	return mapped(e, value.Type{Kind: value.TypeBool}, func(v any) (any, error) { return len(v.(value.Map)) == 0, nil }), nil
}

func compileMapKeys(p *planner, n *parse.Node) (*expr, error) {
	e, err := p.only(n, value.TypeMap)
	if err != nil {
		return nil, err
	}
	return mapped(e, value.ArrayOf(value.Type{Kind: value.TypeBytes}), func(v any) (any, error) {
		var keys value.Array
		for _, entry := range v.(value.Map) {
			keys = append(keys, []byte(entry.Qualifier))
		}
		return keys, nil
	}), nil
}

func compileMapValues(p *planner, n *parse.Node) (*expr, error) {
	e, err := p.only(n, value.TypeMap)
	if err != nil {
		return nil, err
	}
	if e.typ.Of.Kind == value.TypeArray {
		return nil, p.Errorf(n.Pos, "MAP_VALUES takes a family without history: an array has no arrays as elements")
	}
	return mapped(e, value.ArrayOf(*e.typ.Of), func(v any) (any, error) {
		all := value.Array{}
		for _, entry := range v.(value.Map) {
			all = append(all, entry.Value)
		}
		return all, nil
	}), nil
}

// compileMapEntries compiles MAP_ENTRIES: the keys and the values of a map, as structs.
func compileMapEntries(p *planner, n *parse.Node) (*expr, error) {
	e, err := p.only(n, value.TypeMap)
	if err != nil {
		return nil, err
	}
	entry := value.Type{Kind: value.TypeStruct, Fields: []value.Field{{Name: "key", Type: value.Type{Kind: value.TypeBytes}}, {Name: "value", Type: *e.typ.Of}}}
	return mapped(e, value.ArrayOf(entry), func(v any) (any, error) {
		all := value.Array{}
		for _, entry := range v.(value.Map) {
			all = append(all, value.Struct{[]byte(entry.Qualifier), entry.Value})
		}
		return all, nil
	}), nil
}

func compileContainsKey(p *planner, n *parse.Node) (*expr, error) {
	if len(n.Args) != 2 {
		return nil, p.Errorf(n.Pos, "%s takes two arguments", n.Text)
	}
	of, err := p.typed(n.Args[0], value.TypeMap, "the first argument of MAP_CONTAINS_KEY")
	if err != nil {
		return nil, err
	}
	key, err := p.typed(n.Args[1], value.TypeBytes, "the key of MAP_CONTAINS_KEY")
	if err != nil {
		return nil, err
	}
	return combined([]*expr{of, key}, value.Type{Kind: value.TypeBool}, func(v []any) (any, error) {
		return slices.ContainsFunc(v[0].(value.Map), func(e value.Entry) bool { return e.Qualifier == string(v[1].([]byte)) }), nil
	}), nil
}

// compileWriteTimestamp compiles WRITE_TIMESTAMP: when the newest cell of a column was written.
func compileWriteTimestamp(p *planner, n *parse.Node) (*expr, error) {
	if len(n.Args) != 2 {
		return nil, p.Errorf(n.Pos, "%s takes two arguments", n.Text)
	}
	f, ok := p.family(n.Args[0])
	if !ok {
		return nil, p.Errorf(n.Args[0].Pos, "the first argument of WRITE_TIMESTAMP must be a column family of the table in FROM, which is not joined")
	}
	by, err := p.typed(n.Args[1], value.TypeBytes, "the qualifier of WRITE_TIMESTAMP")
	if err != nil {
		return nil, err
	}
	p.plan.Cells = true
	column, ok := p.column(f, by)
	if !ok {
		column = read.Family(f.Name)
	}
	p.plan.Reads = append(p.plan.Reads, column)
	return &expr{typ: value.Type{Kind: value.TypeTimestamp}, eval: func(r *run.Tuple) (any, error) {
		q, err := by.eval(r)
		if q == nil || err != nil {
			return nil, err
		}
		c, ok := r.Row.Cell(f.Name, string(q.([]byte)))
		if !ok {
			return nil, nil
		}
		return c.Timestamp, nil
	}}, nil
}
