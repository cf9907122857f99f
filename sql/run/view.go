package run

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// A FoldKind says how the value of an aggregate function follows a change of its group.
type FoldKind uint8

// The kinds of folds: by the difference of what a group loses and gets, unless said otherwise.
const (
	FoldCount   FoldKind = iota
	FoldSum              // of INT64
	FoldAverage          // of INT64
	FoldXor
	FoldMin  // from all values if the extreme leaves
	FoldMax  // likewise
	FoldAnew // from all values of the group
)

// A View is the query of a materialized view on a table as it is declared. It makes a row
// of the view for each group, or, in the form with ORDER BY, for each row. The values of
// GROUP BY or ORDER BY are the row key of the view. Goroutines may share it.
type View struct {
	plan  *ViewPlan
	known *Constants
	outs  []Eval // of the columns
}

// Package bind makes a ViewPlan of the query of a materialized view. Nothing changes
// it then.
type ViewPlan struct {
	Where   Eval          // of the rows of the table; nil: every row
	Steps   []Step        // from a row of the table to the rows that are grouped or ordered
	Groups  *Grouping     // nil in the form with ORDER BY
	Kinds   []FoldKind    // of Groups.Aggs
	Columns []Output      // each is named
	Keys    []int         // the columns of the row key, in its order
	Options []read.Option // of a read of the table's cells
	Size    Size
}

// Plan is the plan that the view was made of.
func (m *View) Plan() *ViewPlan { return m.plan }

// NewView is the view of a plan.
func NewView(p *ViewPlan) *View {
	m := &View{plan: p, known: newConstants(p.Size)}
	for _, c := range p.Columns {
		m.outs = append(m.outs, c.Eval)
	}
	return m
}

// execution starts one call of the view.
func (m *View) execution(ctx context.Context) *execution {
	return &execution{call: &call{ctx: ctx, known: m.known}}
}

// DefaultFamily is the family of the columns whose names have no family. Each row of a
// materialized view contains an empty cell in it, in the column without a name.
const DefaultFamily = "default"

// RecordFamily is the family of a materialized view in which each row keeps a record of
// all its columns. Users do not see it.
const RecordFamily = "."

// Grouped reports whether the view uses GROUP BY.
func (m *View) Grouped() bool { return m.plan.Groups != nil }

// Anew reports whether a group may have to be computed from all its contributions.
func (m *View) Anew() bool {
	return slices.ContainsFunc(m.plan.Kinds, func(k FoldKind) bool { return k >= FoldMin })
}

// contribution returns what a tuple contributes; ok is false if it is not part of the
// view.
func (m *View) contribution(t *Tuple) (c Contribution, ok bool, err error) {
	var values, key []any
	if m.plan.Groups == nil {
		if values, err = All(m.outs, t); err != nil {
			return c, false, err
		}
		for _, i := range m.plan.Keys {
			key = append(key, values[i])
		}
	} else {
		for _, k := range m.plan.Groups.Keys {
			v, err := k.Eval(t)
			if err != nil {
				return c, false, err
			}
			values = append(values, v)
		}
		for i, a := range m.plan.Groups.Aggs {
			v, err := argument(a, m.plan.Kinds[i], t)
			if err != nil {
				return c, false, err
			}
			values = append(values, v)
		}
		key = values[:len(m.plan.Groups.Keys)]
	}
	if c.Key, ok = value.RowKey(key); !ok || len(c.Key) > cells.MaxRowKey {
		return c, false, nil
	}
	c.Record = value.AppendRecord(nil, values)
	return c, true, nil
}

// argument is the value that an aggregate function takes of a tuple. COUNT needs to know
// only whether there is a value.
func argument(a *Aggregate, kind FoldKind, t *Tuple) (any, error) {
	if a.Arg == nil {
		return true, nil
	}
	v, err := a.Arg(t)
	if kind == FoldCount && v != nil {
		v = true
	}
	return v, err
}

// A Group is the state of a group: how many contributions it received, and for each
// function how many values, their sum, and their extreme or result.
type Group struct {
	of   *View
	n    int64
	keys []any
	aggs []groupAgg
}

type groupAgg struct {
	n, sum, high int64
	v            any
}

// Group reads the state of a group as [Group.Record] wrote it; nil is an empty group.
func (m *View) Group(record []byte) (*Group, error) {
	g := &Group{of: m, aggs: make([]groupAgg, len(m.plan.Kinds))}
	if len(record) == 0 {
		return g, nil
	}
	values, err := value.ReadRecord(record)
	keys := len(m.plan.Groups.Keys)
	if err == nil && len(values) != 1+keys+4*len(g.aggs) {
		err = parse.Invalid("the record of a group has %d values", len(values))
	}
	if err != nil {
		return nil, err
	}
	number := func(v any) int64 { n, _ := v.(int64); return n }
	g.n, g.keys, values = number(values[0]), values[1:1+keys], values[1+keys:]
	for i := range g.aggs {
		g.aggs[i] = groupAgg{number(values[4*i]), number(values[4*i+1]), number(values[4*i+2]), narrowed(values[4*i+3], m.plan.Groups.Aggs[i].Type)}
	}
	return g, nil
}

// Record is the state of the group; nil if it is empty.
func (g *Group) Record() []byte {
	if g.n == 0 {
		return nil
	}
	values := append([]any{g.n}, g.keys...)
	for _, a := range g.aggs {
		values = append(values, a.n, a.sum, a.high, a.v)
	}
	return value.AppendRecord(nil, values)
}

// contributed are the values of a contribution's record.
func (m *View) contributed(record []byte) ([]any, error) {
	values, err := value.ReadRecord(record)
	keys := len(m.plan.Groups.Keys)
	if err == nil && len(values) != keys+len(m.plan.Groups.Aggs) {
		err = parse.Invalid("the record of a contribution has %d values", len(values))
	}
	if err != nil {
		return nil, err
	}
	for i, a := range m.plan.Groups.Aggs {
		if a.Arg != nil {
			values[keys+i] = narrowed(values[keys+i], a.ArgType)
		}
	}
	return values, nil
}

// narrowed is a value of a record as a FLOAT32 again, if it was one.
func narrowed(v any, t value.Type) any {
	if f, ok := v.(float64); ok && t.Kind == value.TypeFloat32 {
		return float32(f)
	}
	return v
}

// Change adds a contribution to the group, or removes it. If ok is false, the group
// must be computed anew.
func (g *Group) Change(record []byte, add bool) (ok bool, err error) {
	values, err := g.of.contributed(record)
	if err != nil {
		return false, err
	}
	keys := len(g.of.plan.Groups.Keys)
	by := int64(-1)
	if add {
		by = 1
		g.keys = values[:keys]
	}
	g.n += by
	ok = g.n >= 0
	for i, v := range values[keys:] {
		if v != nil {
			ok = g.aggs[i].change(g.of.plan.Kinds[i], v, by) && ok
		}
	}
	return ok, nil
}

func (a *groupAgg) change(kind FoldKind, v any, by int64) bool {
	a.n += by
	switch kind {
	case FoldCount:
	case FoldSum, FoldAverage:
		a.addInt(v.(int64), by)
	case FoldXor:
		a.sum ^= v.(int64)
	case FoldMin, FoldMax:
		return a.extreme(kind, v, by)
	default:
		return false
	}
	return a.n >= 0
}

// addInt adds a number, or subtracts it, in 128 bits.
func (a *groupAgg) addInt(v, by int64) {
	old := a.sum
	if by > 0 {
		a.sum += v
	} else {
		a.sum -= v
	}
	switch grows := (by > 0) == (v >= 0); {
	case v == 0:
	case grows && a.sum < old:
		a.high++
	case !grows && a.sum > old:
		a.high--
	}
}

func (a *groupAgg) extreme(kind FoldKind, v any, by int64) bool {
	if by < 0 {
		if a.n == 0 {
			a.v = nil
			return true
		}
		order, comparable := value.Compare(v, a.v)
		return comparable && order != 0
	}
	if a.v == nil || a.n == 1 {
		a.v = v
		return true
	}
	order, comparable := value.Compare(v, a.v)
	if kind == FoldMin {
		order = -order
	}
	if order > 0 {
		a.v = v
	}
	return comparable
}

// Compute makes the group of contributions, in the order of the rows that they are of.
func (m *View) Compute(ctx context.Context, records iter.Seq2[[]byte, error]) (*Group, error) {
	g := &Group{of: m, aggs: make([]groupAgg, len(m.plan.Kinds))}
	of := m.plan.Groups.newGroup(m.execution(ctx), nil)
	keys := len(m.plan.Groups.Keys)
	for record, err := range records {
		if err != nil {
			return nil, err
		}
		if _, err := g.Change(record, true); err != nil {
			return nil, err
		}
		values, err := m.contributed(record)
		if err != nil {
			return nil, err
		}
		for i, kind := range m.plan.Kinds {
			if v := values[keys+i]; kind >= FoldMin && v != nil {
				if err := of.accs[i].add(v); err != nil {
					return nil, err
				}
			}
		}
	}
	for i, kind := range m.plan.Kinds {
		if kind < FoldMin {
			continue
		}
		v, err := of.accs[i].result()
		if err != nil {
			return nil, err
		}
		g.aggs[i].v = value.Clone(v)
	}
	return g, nil
}

// Row is the group's row in the view; nil if the group is empty.
func (g *Group) Row() (*ViewRow, error) {
	if g.n == 0 {
		return nil, nil
	}
	slots := slices.Clone(g.keys)
	for i, a := range g.aggs {
		v, err := g.result(i, a)
		if err != nil {
			return nil, err
		}
		slots = append(slots, v)
	}
	values, err := All(g.of.outs, g.of.execution(context.Background()).tuple(slots))
	if err != nil {
		return nil, err
	}
	return g.of.viewRow(values), nil
}

// result is the value of a function, by the code that also runs queries.
func (g *Group) result(i int, a groupAgg) (any, error) {
	kind := g.of.plan.Kinds[i]
	if kind == FoldCount {
		return a.n, nil
	}
	if a.n == 0 {
		return nil, nil
	}
	acc := g.of.plan.Groups.Aggs[i].start(g.of.execution(context.Background()))
	switch kind {
	case FoldSum:
		sum := acc.(*intSum)
		sum.sum, sum.high, sum.some = a.sum, a.high, true
	case FoldAverage:
		average := acc.(*average)
		average.n, average.ints = a.n, intSum{sum: a.sum, high: a.high, some: true}
	case FoldXor:
		return a.sum, nil
	default:
		return a.v, nil
	}
	return acc.result()
}

// A ViewRow is a row of a materialized view.
type ViewRow struct {
	Record []byte // all columns, for SQL
	Cells  []ViewCell
}

// A ViewCell is a cell of a materialized view, at timestamp 0.
type ViewCell struct {
	Family, Qualifier string
	Value             []byte
}

// Row is the view's row of a contribution, in the form with ORDER BY.
func (m *View) Row(record []byte) (*ViewRow, error) {
	values, err := value.ReadRecord(record)
	if err == nil && len(values) != len(m.plan.Columns) {
		err = parse.Invalid("the record of a row has %d values", len(values))
	}
	if err != nil {
		return nil, err
	}
	return m.viewRow(values), nil
}

func (m *View) viewRow(values []any) *ViewRow {
	r := &ViewRow{Record: value.AppendRecord(nil, values), Cells: []ViewCell{{DefaultFamily, "", []byte{}}}}
	for i, c := range m.plan.Columns {
		if b := value.CellBytes(values[i]); b != nil && !slices.Contains(m.plan.Keys, i) {
			family, qualifier := Place(c.Name)
			r.Cells = append(r.Cells, ViewCell{family, qualifier, b})
		}
	}
	return r
}

// Columns are the families and qualifiers that the rows of the view may have.
func (m *View) Columns() [][2]string {
	all := [][2]string{{DefaultFamily, ""}}
	for i, c := range m.plan.Columns {
		if family, qualifier := Place(c.Name); !slices.Contains(m.plan.Keys, i) {
			all = append(all, [2]string{family, qualifier})
		}
	}
	return all
}

// Place is the family and the qualifier of a column.
func Place(column string) (family, qualifier string) {
	if family, qualifier, ok := strings.Cut(column, "."); ok {
		return family, qualifier
	}
	return DefaultFamily, column
}

// Families are the families of the view that its users see, sorted.
func (m *View) Families() []string {
	families := []string{DefaultFamily}
	for i, c := range m.plan.Columns {
		if family, _ := Place(c.Name); !slices.Contains(m.plan.Keys, i) && !slices.Contains(families, family) {
			families = append(families, family)
		}
	}
	slices.Sort(families)
	return families
}

// Reads are the options of a read of the table's cells that the view depends on.
func (m *View) Reads() []read.Option { return m.plan.Options }

// A Contribution is what a row of the table adds to the view: to the row of a key.
type Contribution struct {
	Key    string // of the view's row
	Record []byte // the values: all columns; or the columns of GROUP BY, and the arguments of the functions
}

// MaxContributions bounds the contributions of one row.
const MaxContributions = 10_000

// Contributions returns the contributions of a row of the table. A row whose key in the view would be
// NULL, empty or too long contributes nothing.
func (m *View) Contributions(ctx context.Context, row *query.Row) (all []Contribution, err error) {
	next := sink{push: func(t *Tuple) error {
		c, ok, err := m.contribution(t)
		if !ok || err != nil {
			return err
		}
		if all = append(all, c); len(all) > MaxContributions {
			return parse.Invalid("a row makes more than %d rows of a materialized view", MaxContributions)
		}
		return nil
	}, end: func() error { return nil }}
	x := m.execution(ctx)
	for i := len(m.plan.Steps) - 1; i >= 0; i-- {
		next = m.plan.Steps[i].run(x, next)
	}
	t := &Tuple{Row: row, call: x.call}
	if m.plan.Where != nil {
		if v, err := m.plan.Where(t); v != true || err != nil {
			return nil, err
		}
	}
	return all, next.push(t)
}
