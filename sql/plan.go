package sql

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/rowkey"
	"github.com/smolwc/smolwc/sql/value"
)

// maxParts bounds the expressions of a compiled query: each SELECT * has those of all columns
// before it.
const maxParts = 1 << 20

// A Plan is a query on a table as it is declared. Without values of its
// parameters it only knows its columns. Goroutines may share it.
type Plan struct {
	parse.Source
	table   schema.Table
	rowKeys *rowkey.Schema // nil: row keys have no fields
	bundles Bundles        // nil: the table has no schema bundles
	params  Params
	now     time.Time // of CURRENT_TIMESTAMP
	noFiles bool
	steady  bool // it is of a materialized view
	history bool
	cells   bool // it needs more than row keys
	// It sees only cells of a range of times.
	windowed bool
	explain  bool
	columns  []output
	where    *expr     // of the rows of the table; nil: every row
	within   keyRanges // the rows of a materialized view that the condition demands; nil: all
	reverse  bool      // rows are read from the last
	stream   bool      // the result is the wanted rows, one by one
	limit    *expr     // of a stream
	offset   *expr
	steps    []step // of other results
	opts     []read.Option
	reads    []read.ColumnSpec     // the columns that expressions read
	parts    int                   // how many expressions there are
	scope    scope                 // of the stage that is compiled
	lambdas  []slotName            // the arguments of the lambdas that are compiled
	noted    map[*parse.Node]*expr // the arguments of SAFE. functions that are compiled
	kept     atomic.Int64          // the bytes of values that are remembered
}

type output struct {
	name string
	expr *expr
}

// A step makes the sink of a stage before the sink of the next.
type step struct {
	name   string // in EXPLAIN
	run    func(x *execution, next sink) sink
	alone  bool      // each tuple is by itself
	groups *grouping // of a step that groups
}

// Plan looks up the query's names and checks its types. A query without a table
// gets the zero table.
func (q *Query) Plan(t schema.Table, params Params) (*Plan, error) {
	from := &q.parsed.From
	t.Name = from.Table // as errors call it: the server has other tables of that name
	p := &Plan{Source: q.parsed.Source, table: t, rowKeys: q.rowKeys, bundles: q.bundles, params: params, now: q.now, noFiles: q.noFiles, explain: q.parsed.Explain}
	if p.now.IsZero() {
		p.now = time.Now()
	}
	p.scope = scope{table: from.Table != "", alias: from.Alias}
	if err := p.options(from.Options); err != nil {
		return nil, err
	}
	if q.view != nil {
		p.ofRecords(q.view)
		if len(from.Unnests) == 0 && len(q.parsed.Stages) > 0 {
			p.keysOfView(q.view, q.parsed.Stages[0].Where)
		}
	}
	if err := p.compileStages(q.parsed); err != nil {
		return nil, err
	}
	if len(q.through) > 0 {
		p.Source = parse.Nowhere // values are computed in several texts
	}
	for _, c := range p.reads {
		p.opts = append(p.opts, c)
	}
	if !p.pushes() { // rows without any of the columns may be wanted too
		p.opts = append(p.opts, read.EveryRow())
	}
	return p, nil
}

// pushes reports whether only the columns that the query names are read. A row without
// any of them would not be seen, so the condition must exclude such rows.
func (p *Plan) pushes() bool {
	return len(p.reads) > 0 && p.where != nil && (p.where.strict || p.where.rejects)
}

func (p *Plan) rowCount(n *parse.Node, what string) (*expr, error) {
	if n == nil {
		return nil, nil
	}
	return p.typed(n, value.TypeInt64, what)
}

// tableColumns are the names of _key and of all families.
func (p *Plan) tableColumns() []string {
	names := []string{parse.RowKey}
	for _, f := range p.table.Families {
		names = append(names, f.Name)
	}
	slices.Sort(names[1:])
	return names
}

func (p *Plan) resultColumns() []output {
	if p.explain {
		return []output{{"plan", fixedExpr(value.Type{Kind: value.TypeString}, "")}}
	}
	return p.columns
}

// maxExplained bounds the ranges and columns that EXPLAIN lists.
const maxExplained = 20

// explained emits the lines of EXPLAIN: what is read, and what is done with it.
func (p *Plan) explained(emit func([]any) error) error {
	for _, line := range p.explanation() {
		if err := emit([]any{line}); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plan) explanation() (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if p.table.Name == "" {
		add("one row without a table")
	} else {
		lines = append(lines, p.explainedRead()...)
	}
	parted := -1
	if p.table.Name != "" {
		parted = p.partial()
	}
	for i, s := range p.steps {
		if i == parted {
			add("%s; parts of the table on all processors, then merged", s.name)
			continue
		}
		add("%s", s.name)
	}
	if p.stream {
		add("select %d columns, row by row", len(p.columns))
		if p.limit != nil {
			add("limit")
		}
	}
	return lines
}

func (p *Plan) explainedRead() (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	keys := allKeys
	if p.where != nil && p.where.keys != nil {
		keys = p.where.keys()
	}
	if p.within != nil {
		keys = p.within
	}
	direction := ""
	if p.reverse {
		direction = ", from the last"
	}
	switch {
	case len(keys) == 0:
		add("read no rows of %s", p.table.Name)
	case len(keys) == 1 && keys[0] == (cf.Range{}):
		add("read all rows of %s%s", p.table.Name, direction)
	default:
		add("read %d ranges of rows of %s%s", len(keys), p.table.Name, direction)
		for _, r := range keys[:min(len(keys), maxExplained)] {
			add("  from %q to %q", r.Start, r.End)
		}
	}
	lines = append(lines, p.explainedColumns()...)
	for _, c := range p.conditions() {
		add("  where %s", c)
	}
	if p.limitsRead() && p.limit != nil {
		add("  as many rows as LIMIT and OFFSET need")
	}
	if p.where != nil {
		add("filter rows")
	}
	return lines
}

// explainedColumns says which cells are read.
func (p *Plan) explainedColumns() (lines []string) {
	whole := func(f schema.Family) bool { return slices.Contains(p.reads, read.Family(f.Name)) }
	switch {
	case !p.cells:
		return []string{"  row keys only"}
	case len(p.reads) == 0, !slices.ContainsFunc(p.table.Families, func(f schema.Family) bool { return !whole(f) }):
		return []string{"  whole rows"}
	}
	seen := map[read.ColumnSpec]bool{}
	for _, c := range p.reads {
		switch {
		case seen[c] || len(seen) == maxExplained:
		case c.Kind == read.OneColumn:
			lines = append(lines, fmt.Sprintf("  column %s:%s", c.Family, c.Qualifier))
		default:
			lines = append(lines, fmt.Sprintf("  family %s", c.Family))
		}
		seen[c] = true
	}
	if !p.pushes() {
		lines = append(lines, "  which rows have other cells")
	}
	return lines
}

// Params are the parameters of a query: their types and, once they are bound,
// their values. The zero Params has no parameters.
type Params struct {
	types  map[string]value.Type
	values map[string]any // nil until they are bound
}

// NewParams are parameters of these types, by name: scalar types, and arrays of them.
func NewParams(types map[string]value.Type) (Params, error) {
	for name, t := range types {
		if t.Kind == value.TypeArray {
			t = *t.Of
		}
		if t.Kind < value.TypeBytes || t.Kind > value.TypeDate {
			return Params{}, parse.Invalid("parameter @%s: its type is not one of %s, or an ARRAY of one", name, value.ScalarNames)
		}
	}
	return Params{types: types}, nil
}

// Types are the types of the parameters, by name. The caller does not change them.
func (ps Params) Types() map[string]value.Type { return ps.types }

// Bind returns the parameters with values, as package value has them. Each parameter
// must have one, of its type or nil for NULL. The caller no longer changes them.
func (ps Params) Bind(values map[string]any) (Params, error) {
	bound := Params{types: ps.types, values: make(map[string]any, len(ps.types))}
	for name, t := range ps.types {
		v, ok := values[name]
		switch {
		case !ok:
			return Params{}, parse.Invalid("parameter @%s has no value", name)
		case !t.Fits(v):
			return Params{}, parse.Invalid("parameter @%s: the value is not a valid %s", name, t)
		}
		bound.values[name] = v
	}
	for name := range values {
		if _, ok := ps.types[name]; !ok {
			return Params{}, parse.Invalid("the query has no parameter @%s", name)
		}
	}
	return bound, nil
}

func (ps Params) bound() bool { return ps.values != nil }
