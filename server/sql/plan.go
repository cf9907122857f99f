package sql

import (
	"math"
	"slices"
	"strconv"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// A Plan is a query on a table as it is declared. Without values of its
// parameters it can say its columns only. Goroutines may share it.
type Plan struct {
	source
	table   schema.Table
	params  Params
	alias   string // of the table in the query
	history bool
	cells   bool // not only row keys are asked for
	columns []output
	count   bool  // the result is the number of rows
	where   *expr // nil: every row
	reverse bool
	limit   *expr
	offset  *expr
	opts    []query.ReadOption
	reads   []query.ColumnSpec // what expressions look at
}

type output struct {
	name string
	expr *expr
}

// Plan looks up what the query names and checks its types. The table is the zero
// one when the query is of none.
func (q *Query) Plan(t schema.Table, params Params) (*Plan, error) {
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
		p.opts = append(p.opts, query.Select(p.reads...))
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

// options are those of the table: which versions of cells there are.
func (p *Plan) options(options []option) error {
	var w window
	given := map[string]bool{}
	for _, o := range options {
		if given[o.name] {
			return p.errorf(o.pos, "option %s is given twice", o.name)
		}
		given[o.name] = true
		v, err := p.option(o)
		if err != nil {
			return err
		}
		if o.name == "with_history" {
			p.history = v.(bool)
		} else if v != nil {
			w.narrow(o.name, v)
		}
	}
	for _, o := range options {
		if o.name != "with_history" && o.name != "as_of" && !p.history {
			return p.errorf(o.pos, "%s wants with_history => TRUE", o.name)
		}
	}
	if !p.history {
		w.versions = 1
	}
	p.read(w)
	return nil
}

// option is the value of an option, nil while the parameters have no values.
func (p *Plan) option(o option) (any, error) {
	want := typeTimestamp
	switch o.name {
	case "with_history":
		want = typeBool
	case "latest_n":
		want = typeInt64
	case "as_of", "before", "before_or_equal", "after", "after_or_equal":
	default:
		return nil, p.errorf(o.pos, "unknown option %s; there are with_history, latest_n, as_of, before, before_or_equal, after, after_or_equal", o.name)
	}
	e, err := p.typed(o.value, want, o.name)
	switch {
	case err != nil:
		return nil, err
	case !e.fixed:
		return nil, p.errorf(o.value.pos, "%s must be the same for every row", o.name)
	case !p.params.bound() && want != typeBool:
		return nil, nil
	}
	v, err := e.eval(nil)
	switch {
	case err != nil:
		return nil, err
	case v == nil:
		return nil, p.errorf(o.value.pos, "%s must not be NULL", o.name)
	case want == typeBool && o.value.op != opBool:
		return nil, p.errorf(o.value.pos, "with_history must be TRUE or FALSE")
	case want == typeInt64 && v.(int64) <= 0:
		return nil, p.errorf(o.value.pos, "latest_n is %d; it must be greater than 0", v)
	}
	return v, nil
}

// A window is the cells that a query sees: those since a time and before one, which
// is 0 for all, and of each column so many, 0 for all.
type window struct {
	since, until cells.Timestamp
	versions     int
}

// narrow makes the window what an option leaves of it.
func (w *window) narrow(option string, v any) {
	before := func(ts cells.Timestamp) {
		if w.until == 0 || ts < w.until {
			w.until = max(ts, 1)
		}
	}
	switch option {
	case "latest_n":
		w.versions = int(v.(int64))
	case "as_of", "before_or_equal":
		before(v.(cells.Timestamp) + 1)
	case "before":
		before(v.(cells.Timestamp))
	case "after":
		w.since = max(w.since, v.(cells.Timestamp)+1)
	case "after_or_equal":
		w.since = max(w.since, v.(cells.Timestamp))
	}
}

// read has the cells of a window read alone.
func (p *Plan) read(w window) {
	if w.versions > 0 {
		p.opts = append(p.opts, query.Versions(w.versions))
	}
	if w.until != 0 && w.until <= w.since {
		w.since, w.until = cells.MaxTimestamp, 0 // no cell is both
	}
	if w.since != 0 || w.until != 0 {
		p.opts = append(p.opts, query.TimeRange(min(w.since, cells.MaxTimestamp), min(w.until, cells.MaxTimestamp)))
		p.cells = true
	}
}

// An expr is an expression that can be evaluated.
type expr struct {
	typ     valueType
	key     bool // it is _key
	fixed   bool // it is the same for every row
	strict  bool // it is NULL in a row that has none of the columns that the query reads
	rejects bool // it is not TRUE there
	literal bool
	eval    func(*query.Row) (any, error)
	// keys are the rows for which a condition may hold; nil: all.
	keys func() keyRanges
}

// condition compiles an expression that is true or not.
func (p *Plan) condition(n *node) (*expr, error) { return p.typed(n, typeBool, "a condition") }

// typed compiles an expression that must have a type.
func (p *Plan) typed(n *node, want typeKind, what string) (*expr, error) {
	e, err := p.compile(n)
	if err == nil {
		e, err = coerced(e, want)
	}
	if err == nil && e.typ.kind != want {
		err = p.errorf(n.pos, "%s is %s; it must be %s", what, e.typ, want)
	}
	return e, err
}

// only compiles the one argument of a function.
func (p *Plan) only(n *node, want typeKind) (*expr, error) {
	if len(n.args) != 1 {
		return nil, p.errorf(n.pos, "%s takes one argument", n.text)
	}
	return p.typed(n.args[0], want, "the argument of "+n.text)
}

// coerced makes a literal one of the type that its place asks for.
func coerced(e *expr, want typeKind) (*expr, error) {
	switch {
	case e.typ.kind == typeNull:
		return &expr{typ: valueType{kind: want}, fixed: true, literal: true, eval: e.eval}, nil
	case e.literal && e.typ.kind == typeString && (want == typeBytes || want == typeTimestamp):
		v, err := e.eval(nil)
		if err == nil {
			v, err = castValue(v, want)
		}
		return fixedExpr(valueType{kind: want}, v), err
	}
	return e, nil
}

func fixedExpr(t valueType, v any) *expr {
	return &expr{typ: t, fixed: true, literal: true, eval: func(*query.Row) (any, error) { return v, nil }}
}

func (p *Plan) compile(n *node) (*expr, error) {
	n = p.unqualified(n)
	switch n.op {
	case opLiteral:
		return p.literal(n)
	case opNull:
		return fixedExpr(valueType{}, nil), nil
	case opBool:
		return fixedExpr(valueType{kind: typeBool}, n.text == "true"), nil
	case opParam:
		return p.param(n)
	case opName:
		return p.named(n)
	case opIndex:
		return p.index(n)
	case opField:
		return p.field(n)
	case opCall:
		return p.call(n)
	case opCast, opSafeCast:
		return p.cast(n)
	case opNegate:
		return p.negate(n)
	case opCompare:
		return p.compare(n)
	case opArray:
		return p.array(n)
	case opStruct:
		return p.structure(n)
	case opInArray:
		return p.inArray(n)
	case opIs:
		return p.is(n)
	case opNot:
		e, err := p.condition(n.args[0])
		if err != nil {
			return nil, err
		}
		return mapped(e, valueType{kind: typeBool}, func(v any) (any, error) { return !v.(bool), nil }), nil
	case opLike:
		return p.like(n)
	}
	return p.junction(n)
}

// mapped is a function of an expression that is NULL where that is.
func mapped(e *expr, t valueType, f func(any) (any, error)) *expr {
	return &expr{typ: t, fixed: e.fixed, strict: e.strict, eval: func(r *query.Row) (any, error) {
		v, err := e.eval(r)
		if v == nil || err != nil {
			return nil, err
		}
		return f(v)
	}}
}

// combined is a function of several expressions that is NULL where any is.
func combined(parts []*expr, t valueType, f func([]any) (any, error)) *expr {
	e := &expr{typ: t, fixed: true}
	for _, part := range parts {
		e.fixed = e.fixed && part.fixed
		e.strict = e.strict || part.strict
	}
	e.eval = func(r *query.Row) (any, error) {
		values, err := evalAll(parts, r)
		if err != nil || slices.Contains(values, nil) {
			return nil, err
		}
		return f(values)
	}
	return e
}

func evalAll(parts []*expr, r *query.Row) ([]any, error) {
	values := make([]any, len(parts))
	for i, part := range parts {
		var err error
		if values[i], err = part.eval(r); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// both evaluates two expressions.
func both(a, b *expr, r *query.Row) (x, y any, err error) {
	if x, err = a.eval(r); err != nil {
		return nil, nil, err
	}
	y, err = b.eval(r)
	return x, y, err
}

func (p *Plan) literal(n *node) (*expr, error) {
	switch n.kind {
	case stringToken:
		return fixedExpr(valueType{kind: typeString}, n.text), nil
	case bytesToken:
		return fixedExpr(valueType{kind: typeBytes}, []byte(n.text)), nil
	case floatToken:
		f, err := strconv.ParseFloat(n.text, 64)
		if err != nil {
			return nil, p.errorf(n.pos, "%q is out of the range of FLOAT64", n.text)
		}
		return fixedExpr(valueType{kind: typeFloat64}, f), nil
	}
	i, err := literalInt(n.text)
	if err != nil {
		return nil, p.errorf(n.pos, "%.100q is not an INT64, or out of its range", n.text)
	}
	return fixedExpr(valueType{kind: typeInt64}, i), nil
}

func (p *Plan) negate(n *node) (*expr, error) {
	e, err := p.compile(n.args[0])
	if err != nil {
		return nil, err
	}
	if !e.typ.numeric() {
		return nil, p.errorf(n.pos, "%s has no negative", e.typ)
	}
	return mapped(e, e.typ, func(v any) (any, error) {
		if i, ok := v.(int64); ok {
			if i == math.MinInt64 {
				return nil, p.errorf(n.pos, "-(%d) is out of the range of INT64", i)
			}
			return -i, nil
		}
		return -v.(float64), nil
	}), nil
}

func (p *Plan) param(n *node) (*expr, error) {
	t, ok := p.params.types[n.text]
	if !ok {
		return nil, p.errorf(n.pos, "query parameter @%s has no type in param_types", n.text)
	}
	return &expr{typ: t, fixed: true, eval: func(*query.Row) (any, error) { return p.params.values[n.text], nil }}, nil
}
