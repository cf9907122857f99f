package bind

import (
	"slices"
	"strings"
	"time"

	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/rowkey"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

// A Source describes a table of a query, or a materialized view.
type Source struct {
	Table   schema.Table
	RowKeys *rowkey.Schema // nil: row keys have no fields
	Bundles Bundles        // nil: no schema bundles
	View    *run.ViewPlan  // nil: it is a table
}

// A whole is shared by the planners of one query.
type whole struct {
	query     *Query
	params    Params
	now       time.Time
	functions *registry
	size      run.Size
	parts     int // how many expressions there are
	planners  []*planner
	used      []Bundles // of all tables so far
	queries   []*run.Plan
}

// maxPlans bounds the tables and the queries within a query.
const maxPlans = 200

// planner makes a planner of a part of the query.
func (w *whole) planner(pos int) (*planner, error) {
	p := &planner{Source: w.query.Parsed.Source, whole: w, params: w.params, now: w.now, functions: w.functions}
	p.plan = &run.Plan{InMemory: w.query.InMemory}
	if len(w.planners) == maxPlans {
		return nil, p.Errorf(pos, "a query may read up to %d tables and queries", maxPlans)
	}
	w.planners = append(w.planners, p)
	return p, nil
}

// block makes the plan of a query, or of one within it, which does not stream.
func (w *whole) block(b *parse.Block) (*planner, error) {
	b = b.Flat()
	p, err := w.planner(b.From.Pos)
	if err != nil {
		return nil, err
	}
	p.inner = len(w.planners) > 1
	if len(b.From.Joins) > 0 {
		b, err = joinSides(p, b)
	} else {
		err = p.from(b)
	}
	if err == nil {
		err = compileStages(p, b)
	}
	if err != nil {
		return nil, err
	}
	p.plan.Plain = !p.plan.Stream
	p.finish()
	return p, nil
}

// from looks the only source of a block's rows up.
func (p *planner) from(b *parse.Block) error {
	from := &b.From
	if from.Set != nil {
		return compileSet(p, from.Set)
	}
	if from.Table == "" {
		p.scope = scope{alias: from.Alias}
		return nil
	}
	s := p.whole.query.Sources[from.Table]
	p.table, p.rowKeys, p.bundles = s.Table, s.RowKeys, s.Bundles
	if s.Bundles != nil {
		p.whole.used = append(p.whole.used, s.Bundles)
	}
	p.table.Name = from.Table // as errors call it: the server stores other tables of that name
	p.plan.Table = from.Table
	p.scope = scope{table: true, alias: from.Alias}
	if err := compileOptions(p, from.Options); err != nil {
		return err
	}
	if s.View != nil {
		readRecords(p, s.View)
		if len(from.Unnests) == 0 && len(b.Stages) > 0 {
			keysInView(p, s.View, b.Stages[0].Where)
		}
	}
	return nil
}

// finish completes the plan, once everything is compiled.
func (p *planner) finish() {
	if p.plan.From != nil {
		p.plan.Columns = outputsOf(p.columns)
		return
	}
	for _, c := range p.plan.Reads {
		p.plan.Options = append(p.plan.Options, c)
	}
	if p.plan.Pushed = p.pushes(); !p.plan.Pushed { // rows without any of the columns may be wanted too
		p.plan.Options = append(p.plan.Options, read.EveryRow())
	}
	p.plan.Families, p.plan.Columns, p.plan.Where = p.table.Families, outputsOf(p.columns), p.where.condition()
}

// query compiles a query in an expression, which has one column if wanted is set.
func (p *planner) query(n *parse.Node, wanted bool) (*run.Plan, value.Type, error) {
	if p.steady {
		return nil, value.Type{}, p.Errorf(n.Pos, "a materialized view cannot have a query in an expression")
	}
	sub, err := p.whole.block(n.Query)
	if err != nil {
		return nil, value.Type{}, err
	}
	if wanted && len(sub.columns) != 1 {
		return nil, value.Type{}, p.Errorf(n.Pos, "a query in an expression has one column, and this one has %d", len(sub.columns))
	}
	return sub.plan, sub.columns[0].expr.typ, nil
}

func (p *planner) asValue(n *parse.Node, of *run.Plan, float bool) *run.Query {
	p.whole.queries = append(p.whole.queries, of)
	return run.NewQuery(len(p.whole.queries)-1, float, p.places(n.Pos))
}

// compileQuery compiles a query as a value, or after ARRAY.
func compileQuery(p *planner, n *parse.Node) (*expr, error) {
	of, t, err := p.query(n, true)
	if err != nil {
		return nil, err
	}
	q := p.asValue(n, of, false)
	if n.Text == "" {
		return &expr{typ: t, fixed: true, eval: q.Value}, nil
	}
	if t.Kind == value.TypeArray || t.Kind == value.TypeMap {
		return nil, p.Errorf(n.Pos, "an array cannot have elements of type %s", t)
	}
	return &expr{typ: value.ArrayOf(t), fixed: true, eval: q.Array}, nil
}

// compileExists compiles EXISTS.
func compileExists(p *planner, n *parse.Node) (*expr, error) {
	of, _, err := p.query(n, false)
	if err != nil {
		return nil, err
	}
	return &expr{typ: value.Type{Kind: value.TypeBool}, fixed: true, eval: p.asValue(n, of, false).Exists}, nil
}

// compileInQuery compiles x IN (SELECT …).
func compileInQuery(p *planner, n *parse.Node) (*expr, error) {
	x, err := p.compile(n.Args[0])
	if err != nil {
		return nil, err
	}
	of, t, err := p.query(n, true)
	if err != nil {
		return nil, err
	}
	compared := &parse.Node{Op: parse.OpCompare, Text: "=", Pos: n.Pos, Args: []*parse.Node{n.Args[0], n}}
	x, y, err := p.comparable(compared, x, &expr{typ: t})
	if err != nil {
		return nil, err
	}
	if !x.typ.Comparable() || !y.typ.Same(t) && t.Kind != value.TypeNull {
		return nil, p.Errorf(n.Pos, "IN with a query compares single values of one type, not %s and %s", x.typ, t)
	}
	q := p.asValue(n, of, x.typ.Numeric() && x.typ.Kind != t.Kind)
	e := &expr{typ: value.Type{Kind: value.TypeBool}, fixed: x.fixed, rejects: x.strict, eval: func(t *run.Tuple) (any, error) {
		v, err := x.eval(t)
		if err != nil {
			return nil, err
		}
		return q.Verdict(t, v)
	}}
	if x.key {
		e.keys = func(t *run.Tuple) keyRanges {
			if ranges, ok := q.RowKeys(t.Alone()); ok {
				return unionOf(ranges)
			}
			return allKeys
		}
	}
	return e, nil
}

// compileSet compiles UNION ALL and its like.
func compileSet(p *planner, s *parse.Set) error {
	u := &run.Union{Name: strings.ToLower(s.Kind.String())}
	var subs []*planner
	for _, b := range s.Blocks {
		sub, err := p.whole.block(b)
		if err != nil {
			return err
		}
		if subs = append(subs, sub); len(sub.columns) != len(subs[0].columns) {
			return p.Errorf(s.Pos, "the queries of %s have %d and %d columns", s.Kind, len(subs[0].columns), len(sub.columns))
		}
		u.Of = append(u.Of, sub.plan)
	}
	n := len(subs[0].columns)
	p.scope = scope{slots: n}
	for i := range n {
		t := value.Type{}
		for _, sub := range subs {
			t = common(t, sub.columns[i].expr)
		}
		for _, sub := range subs {
			o := &sub.columns[i]
			from := o.expr.typ
			e, err := p.converted(&parse.Node{Pos: s.Pos}, o.expr, t)
			if err != nil {
				return err
			}
			if !e.typ.Same(t) {
				return p.Errorf(s.Pos, "column %d is %s in one query of %s and %s in another; CAST(… AS …) makes one type of another", i+1, t, s.Kind, from)
			}
			if o.expr = e; from.Kind != t.Kind && from.Kind != value.TypeNull {
				sub.plan.Plain = false
			}
			sub.plan.Columns = outputsOf(sub.columns)
		}
		if s.Kind != parse.UnionAll && !t.Groupable() {
			return p.Errorf(s.Pos, "%s cannot compare values of type %s", s.Kind, t)
		}
		p.scope.named(slotName{name: subs[0].columns[i].name, typ: t, slot: i})
	}
	p.plan.From = u
	switch s.Kind {
	case parse.UnionDistinct:
		return compileDistinct(p, s.Pos)
	case parse.ExceptDistinct, parse.IntersectDistinct:
		markSet(p, s, u, n)
	}
	return nil
}

// markSet groups the rows of all queries, whose groups know in which queries they are.
func markSet(p *planner, s *parse.Set, u *run.Union, columns int) {
	want := int64(1)
	for i := range u.Of {
		tag := int64(1) << min(i, 1)
		if s.Kind == parse.IntersectDistinct {
			tag = 1 << i
			want |= tag
		}
		u.Tags = append(u.Tags, tag)
	}
	g := &run.Grouping{InMemory: p.plan.InMemory, Aggs: []*run.Aggregate{run.Marked(run.Slot(columns))}}
	var all []run.Eval
	for i := range columns {
		all = append(all, run.Slot(i))
		g.Keys = append(g.Keys, run.Key{Eval: run.Slot(i)})
	}
	p.plan.Steps = append(p.plan.Steps, run.GroupBy(g), run.Filter(func(t *run.Tuple) (any, error) {
		mark, err := run.Slot(columns)(t)
		return mark == want, err
	}), run.Project(all))
}

// bundleOf finds a schema bundle among those of all tables of the query.
func (w *whole) bundleOf() Bundles {
	if len(w.used) == 0 {
		return nil
	}
	used := slices.Clone(w.used)
	return joinedBundles(used)
}
