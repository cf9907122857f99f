package sql

import (
	"context"
	"iter"
	"slices"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// A foldKind says how the value of an aggregate function follows a change of its group.
type foldKind uint8

const (
	foldCount   foldKind = iota // by the difference
	foldSum                     // INT64: by the difference
	foldAverage                 // INT64: by the difference
	foldXor                     // by the difference
	foldMin                     // by the difference, unless the extreme leaves
	foldMax
	foldAnew // from all values of the group
)

func (m *Materialized) foldKind(a *aggregate) (foldKind, error) {
	n := a.call
	if n.IgnoreNulls || len(n.Order) > 0 || n.Limit != nil {
		return 0, m.plan.Errorf(n.Pos, "an aggregate function of a materialized view takes no IGNORE NULLS, ORDER BY and LIMIT")
	}
	if a.distinct {
		return 0, m.plan.Errorf(n.Pos, "a materialized view cannot have %s(DISTINCT …)", n.Text)
	}
	if !functions().named(n.Text).inViews {
		return 0, m.plan.Errorf(n.Pos, "a materialized view cannot have %s; it can have %s, and those of HLL_COUNT", n.Text, functions().inViews())
	}
	ints := !a.star && a.args[0].typ.Kind == value.TypeInt64
	switch {
	case n.Text == "COUNT":
		return foldCount, nil
	case n.Text == "SUM" && ints:
		return foldSum, nil
	case n.Text == "AVG" && ints:
		return foldAverage, nil
	case n.Text == "BIT_XOR":
		return foldXor, nil
	case n.Text == "MIN":
		return foldMin, nil
	case n.Text == "MAX":
		return foldMax, nil
	}
	if k := a.args[0].typ.Kind; k == value.TypeArray || k == value.TypeMap || k == value.TypeStruct {
		return 0, m.plan.Errorf(n.Args[0].Pos, "%s of a materialized view cannot take %s", n.Text, a.args[0].typ)
	}
	return foldAnew, nil
}

// Grouped reports whether the view has GROUP BY.
func (m *Materialized) Grouped() bool { return m.groups != nil }

// Anew reports whether a group may have to be computed from all its contributions.
func (m *Materialized) Anew() bool {
	return slices.ContainsFunc(m.kinds, func(k foldKind) bool { return k >= foldMin })
}

// contribution is that of a tuple; ok is false if it has no place in the view.
func (m *Materialized) contribution(t *tuple) (c Contribution, ok bool, err error) {
	var values, key []any
	if m.groups == nil {
		if values, err = outputValues(m.columns, t); err != nil {
			return c, false, err
		}
		for _, i := range m.keys {
			key = append(key, values[i])
		}
	} else {
		if values, err = evalAll(m.groups.keys, t); err != nil {
			return c, false, err
		}
		key = values
		for i, a := range m.groups.aggs {
			v, err := argument(a, m.kinds[i], t)
			if err != nil {
				return c, false, err
			}
			values = append(values, v)
		}
		key = values[:len(m.groups.keys)]
	}
	if c.Key, ok = value.RowKey(key); !ok || len(c.Key) > cells.MaxRowKey {
		return c, false, nil
	}
	c.Record = value.AppendRecord(nil, values)
	return c, true, nil
}

// argument is the value that an aggregate function takes of a tuple. COUNT needs to know
// only whether there is a value.
func argument(a *aggregate, kind foldKind, t *tuple) (any, error) {
	if a.star {
		return true, nil
	}
	v, err := a.args[0].eval(t)
	if kind == foldCount && v != nil {
		v = true
	}
	return v, err
}

// A Group is the state of a group: how many contributions it has, and for each function
// how many values, their sum, and their extreme or result.
type Group struct {
	of   *Materialized
	n    int64
	keys []any
	aggs []groupAgg
}

type groupAgg struct {
	n, sum, high int64
	v            any
}

// Group reads the state of a group as [Group.Record] wrote it; nil is an empty group.
func (m *Materialized) Group(record []byte) (*Group, error) {
	g := &Group{of: m, aggs: make([]groupAgg, len(m.kinds))}
	if len(record) == 0 {
		return g, nil
	}
	values, err := value.ReadRecord(record)
	keys := len(m.groups.keys)
	if err == nil && len(values) != 1+keys+4*len(g.aggs) {
		err = parse.Invalid("the record of a group has %d values", len(values))
	}
	if err != nil {
		return nil, err
	}
	number := func(v any) int64 { n, _ := v.(int64); return n }
	g.n, g.keys, values = number(values[0]), values[1:1+keys], values[1+keys:]
	for i := range g.aggs {
		g.aggs[i] = groupAgg{number(values[4*i]), number(values[4*i+1]), number(values[4*i+2]), narrowed(values[4*i+3], m.groups.aggs[i].typ)}
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
func (m *Materialized) contributed(record []byte) ([]any, error) {
	values, err := value.ReadRecord(record)
	keys := len(m.groups.keys)
	if err == nil && len(values) != keys+len(m.groups.aggs) {
		err = parse.Invalid("the record of a contribution has %d values", len(values))
	}
	if err != nil {
		return nil, err
	}
	for i, a := range m.groups.aggs {
		if !a.star {
			values[keys+i] = narrowed(values[keys+i], a.args[0].typ)
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

// Change adds a contribution to the group, or removes it. If ok is false, the group has
// to be computed anew.
func (g *Group) Change(record []byte, add bool) (ok bool, err error) {
	values, err := g.of.contributed(record)
	if err != nil {
		return false, err
	}
	keys := len(g.of.groups.keys)
	by := int64(-1)
	if add {
		by = 1
		g.keys = values[:keys]
	}
	g.n += by
	ok = g.n >= 0
	for i, v := range values[keys:] {
		if v != nil {
			ok = g.aggs[i].change(g.of.kinds[i], v, by) && ok
		}
	}
	return ok, nil
}

func (a *groupAgg) change(kind foldKind, v any, by int64) bool {
	a.n += by
	switch kind {
	case foldCount:
	case foldSum, foldAverage:
		a.addInt(v.(int64), by)
	case foldXor:
		a.sum ^= v.(int64)
	case foldMin, foldMax:
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

func (a *groupAgg) extreme(kind foldKind, v any, by int64) bool {
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
	if kind == foldMin {
		order = -order
	}
	if order > 0 {
		a.v = v
	}
	return comparable
}

// Compute makes the group of contributions, in the order of the rows that they are of.
func (m *Materialized) Compute(ctx context.Context, records iter.Seq2[[]byte, error]) (*Group, error) {
	g := &Group{of: m, aggs: make([]groupAgg, len(m.kinds))}
	of := m.groups.newGroup(&execution{ctx: ctx}, nil)
	keys := len(m.groups.keys)
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
		for i, kind := range m.kinds {
			if v := values[keys+i]; kind >= foldMin && v != nil {
				if err := of.accs[i].add(v); err != nil {
					return nil, err
				}
			}
		}
	}
	for i, kind := range m.kinds {
		if kind < foldMin {
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
	values, err := outputValues(g.of.columns, &tuple{slots: slots})
	if err != nil {
		return nil, err
	}
	return g.of.viewRow(values), nil
}

// result is the value of a function, by the code that also runs queries.
func (g *Group) result(i int, a groupAgg) (any, error) {
	kind := g.of.kinds[i]
	if kind == foldCount {
		return a.n, nil
	}
	if a.n == 0 {
		return nil, nil
	}
	acc := g.of.groups.aggs[i].start(&execution{ctx: context.Background()})
	switch kind {
	case foldSum:
		sum := acc.(*intSum)
		sum.sum, sum.high, sum.some = a.sum, a.high, true
	case foldAverage:
		average := acc.(*average)
		average.n, average.ints = a.n, intSum{sum: a.sum, high: a.high, some: true}
	case foldXor:
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
func (m *Materialized) Row(record []byte) (*ViewRow, error) {
	values, err := value.ReadRecord(record)
	if err == nil && len(values) != len(m.columns) {
		err = parse.Invalid("the record of a row has %d values", len(values))
	}
	if err != nil {
		return nil, err
	}
	return m.viewRow(values), nil
}

func (m *Materialized) viewRow(values []any) *ViewRow {
	r := &ViewRow{Record: value.AppendRecord(nil, values), Cells: []ViewCell{{DefaultFamily, "", []byte{}}}}
	for i, c := range m.columns {
		if b := value.CellBytes(values[i]); b != nil && !slices.Contains(m.keys, i) {
			family, qualifier := place(c.name)
			r.Cells = append(r.Cells, ViewCell{family, qualifier, b})
		}
	}
	return r
}

// Columns are the families and qualifiers that the rows of the view may have.
func (m *Materialized) Columns() [][2]string {
	all := [][2]string{{DefaultFamily, ""}}
	for i, c := range m.columns {
		if family, qualifier := place(c.name); !slices.Contains(m.keys, i) {
			all = append(all, [2]string{family, qualifier})
		}
	}
	return all
}
