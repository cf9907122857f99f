package sql

import (
	"slices"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// A Plan is a query on a table as it is declared. Without values of its
// parameters it only knows its columns. Goroutines may share it.
type Plan struct {
	source
	table   schema.Table
	params  Params
	alias   string // of the table in the query
	history bool
	cells   bool // it needs more than row keys
	columns []output
	count   bool  // the result is the number of rows
	where   *expr // nil: every row
	reverse bool
	limit   *expr
	offset  *expr
	opts    []read.Option
	reads   []read.ColumnSpec // the columns that expressions read
	parts   int               // how many expressions there are
}

type output struct {
	name string
	expr *expr
}

// Plan looks up the query's names and checks its types. A query without a table
// gets the zero table.
func (q *Query) Plan(t schema.Table, params Params) (*Plan, error) {
	t.Name = q.table // as errors call it: the server has other tables of that name
	p := &Plan{source: q.source, table: t, alias: q.alias, params: params, reverse: q.reverse}
	if err := p.options(q.options); err != nil {
		return nil, err
	}
	p.count = q.columns[0].count
	for _, c := range q.columns {
		if c.count != p.count {
			return nil, p.errorf(c.pos, "COUNT(*) cannot stand beside other columns: there is no GROUP BY")
		}
		if err := p.column(c); err != nil {
			return nil, err
		}
	}
	if p.count && q.reverse {
		return nil, p.errorf(q.columns[0].pos, "one row, of COUNT(*), cannot be ordered by _key")
	}
	var err error
	if q.where != nil {
		if p.where, err = p.condition(q.where); err != nil {
			return nil, err
		}
	}
	if q.limit != nil {
		if p.limit, err = p.typed(q.limit, typeInt64, "LIMIT"); err != nil {
			return nil, err
		}
	}
	if q.offset != nil {
		if p.offset, err = p.typed(q.offset, typeInt64, "OFFSET"); err != nil {
			return nil, err
		}
	}
	if p.where != nil && (p.where.strict || p.where.rejects) && len(p.reads) > 0 {
		// A row without any of the columns is not wanted.
		for _, c := range p.reads {
			p.opts = append(p.opts, c)
		}
	}
	return p, nil
}

func (p *Plan) column(c column) error {
	if c.count {
		p.columns = append(p.columns, output{c.name, fixedExpr(valueType{kind: typeInt64}, nil)})
		return nil
	}
	if c.expr != nil {
		e, err := p.compile(c.expr)
		p.columns = append(p.columns, output{c.name, e})
		return err
	}
	if p.table.Name == "" {
		return p.errorf(c.pos, "SELECT * must have a FROM clause")
	}
	names := []string{rowKey}
	for _, f := range p.table.Families {
		names = append(names, f.Name)
	}
	slices.Sort(names[1:])
	for _, name := range names {
		e, err := p.compile(&node{op: opName, text: name})
		if err != nil {
			return err
		}
		p.columns = append(p.columns, output{name, e})
	}
	return nil
}

// Metadata describes the columns.
func (p *Plan) Metadata() *bigtablepb.ResultSetMetadata {
	s := &bigtablepb.ProtoSchema{}
	for _, c := range p.columns {
		s.Columns = append(s.Columns, &bigtablepb.ColumnMetadata{Name: c.name, Type: c.expr.typ.message()})
	}
	return &bigtablepb.ResultSetMetadata{Schema: &bigtablepb.ResultSetMetadata_ProtoSchema{ProtoSchema: s}}
}
