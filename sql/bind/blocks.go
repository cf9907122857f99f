package bind

import (
	"strings"
	"time"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

// Plan looks up the query's names and checks its types.
func (q *Query) Plan(params Params) (*run.Plan, error) {
	w := &whole{query: q, params: params, now: q.Now, functions: allFunctions()}
	if w.now.IsZero() {
		w.now = time.Now()
	}
	p, err := w.block(&q.Parsed.Block)
	if err != nil {
		return nil, err
	}
	if len(q.Through) > 0 {
		for _, of := range w.planners {
			of.Source = parse.Nowhere // values are computed in several texts
		}
	}
	p.plan.Analyze, p.plan.Explain, p.plan.Size, p.plan.Queries = q.Parsed.Analyze, q.Parsed.Explain, w.size, w.queries
	return p.plan, nil
}

// maxPlans bounds the tables and the queries within a query.
const maxPlans = 200

// planner makes a planner of a part of the query.
func (w *whole) planner(pos int) (*planner, error) {
	p := &planner{Source: w.query.Parsed.Source, whole: w, frame: w.frame, params: w.params, now: w.now, functions: w.functions}
	p.plan = &run.Plan{InMemory: w.query.InMemory}
	if len(w.planners)-w.doubled >= maxPlans {
		return nil, p.Errorf(pos, "a query may read up to %d tables and queries", maxPlans)
	}
	w.planners = append(w.planners, p)
	return p, nil
}

// block makes the plan of a query, or of one within it, which does not stream.
func (w *whole) block(b *parse.Block) (*planner, error) {
	b = (&pusher{w.functions, w.starOf}).pushed(b).Flat()
	p, err := w.planner(b.From.Pos)
	if err != nil {
		return nil, err
	}
	p.inner = len(w.planners) > 1
	open := p.sealed(b.From.Sealed)
	if len(b.From.Joins) > 0 || p.readsWindowed(b) {
		b, err = joinSides(p, b)
	} else {
		err = p.from(b)
	}
	open()
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
			if o.expr = e; from.Kind != value.TypeNull && !from.Same(t) { // also within a struct
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

// starOf are the columns of * of a table; nil: it is none.
func (w *whole) starOf(table string) []string {
	s, ok := w.query.Sources[table]
	if !ok || s.View != nil {
		return nil
	}
	names := []string{parse.RowKey}
	for _, f := range s.Table.Families {
		names = append(names, f.Name)
	}
	return names
}
