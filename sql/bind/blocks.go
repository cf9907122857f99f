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
	queries   []*run.Query
	frame     *frame // of the query in an expression that is compiled; nil: none
	finder    *finder
	doubled   int // planners of queries that have another one
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
	b = (&pusher{w.functions, w.columnsOf}).pushed(b).Flat()
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

// A frame is a query in an expression while it is compiled. It sees the names at the place
// where it stands: what it takes of them are values of each run.
type frame struct {
	outer  *planner // in whose expression it stands; nil: the query itself
	hidden int      // above 0, names around are not seen: a view or a query of WITH is compiled
	size   run.Size // of outer, meanwhile
	taken  []*expr  // of outer
	slots  map[int]int
	numbering
}

// within compiles a query in an expression.
func (w *whole) within(outer *planner, compile func() error) (*frame, run.Size, error) {
	f := &frame{outer: outer, slots: map[int]int{}, numbering: newNumbering()}
	before := w.frame
	f.size, w.size, w.frame = w.size, run.Size{}, f
	err := compile()
	size := w.size
	w.size, w.frame = f.size, before
	return f, size, err
}

// bundleOf finds a schema bundle among those of all tables of the query.
func (w *whole) bundleOf() Bundles {
	if len(w.used) == 0 {
		return nil
	}
	used := slices.Clone(w.used)
	return joinedBundles(used)
}

// A finder finds the names in queries that they do not have themselves, before anything is
// compiled.
type finder struct {
	*whole
	free    map[*parse.Block]*freeNames
	outputs map[*parse.Block]*visible
}

// freeNames are the names that a query takes of those around it.
type freeNames struct {
	nodes  []*parse.Node
	blind  bool // there may be fewer: columns have names that are not known yet
	nested bool // an expression of it has a query
}

// visible are the names that expressions see.
type visible struct {
	sources map[string]bool // in lower case
	columns map[string]bool
	blind   bool
}

func (w *whole) finding() *finder {
	if w.finder == nil {
		w.finder = &finder{w, map[*parse.Block]*freeNames{}, map[*parse.Block]*visible{}}
	}
	return w.finder
}

// columnsOf are the columns of * of a table; nil: it is none.
func (w *whole) columnsOf(table string) []string {
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
