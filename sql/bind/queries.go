package bind

import (
	"slices"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

// query compiles a query in an expression. It returns the type of its first column.
func (p *planner) query(n *parse.Node, kind run.QueryKind) (q *run.Query, t value.Type, fixed bool, err error) {
	if p.steady {
		return nil, t, false, p.Errorf(n.Pos, "a materialized view cannot have a query in an expression")
	}
	w := p.whole
	q = &run.Query{Kind: kind, Placed: p.places(n.Pos)}
	fixed = true
	h := p.holdable(n, kind)
	if h != nil {
		if t, fixed, err = p.hold(n, q, h); err != nil {
			return nil, t, false, err
		}
	}
	if q.Held == nil || !h.nested {
		before := len(w.planners)
		var sub *planner
		f, size, err := w.within(p, func() (err error) {
			sub, err = w.block(n.Query)
			return err
		})
		if err != nil {
			return nil, t, false, err
		}
		if kind != run.QueryExists && len(sub.columns) != 1 {
			return nil, t, false, p.Errorf(n.Pos, "a query in an expression has one column, and this one has %d", len(sub.columns))
		}
		if q.Held != nil {
			w.doubled += len(w.planners) - before
		}
		fixed = fixed && allFixed(f.taken)
		t = sub.columns[0].expr.typ
		q.Plan, q.Outer = sub.plan, evals(f.taken)
		sub.plan.Size = size
		q.Known = !slices.ContainsFunc(f.taken, func(e *expr) bool { return !e.typ.Groupable() })
	}
	q.ByKey = h != nil && h.byKey
	w.queries = append(w.queries, q)
	q.At = len(w.queries) - 1
	return q, t, fixed, nil
}

// compileQuery compiles a query as a value, or after ARRAY.
func compileQuery(p *planner, n *parse.Node) (*expr, error) {
	kind := run.QueryValue
	if n.Text != "" {
		kind = run.QueryArray
	}
	q, t, fixed, err := p.query(n, kind)
	if err != nil {
		return nil, err
	}
	if kind == run.QueryArray {
		if t.Kind == value.TypeArray || t.Kind == value.TypeMap {
			return nil, p.Errorf(n.Pos, "an array cannot have elements of type %s", t)
		}
		t = value.ArrayOf(t)
	}
	return &expr{typ: t, fixed: fixed, eval: q.Value}, nil
}

// compileExists compiles EXISTS.
func compileExists(p *planner, n *parse.Node) (*expr, error) {
	q, _, fixed, err := p.query(n, run.QueryExists)
	if err != nil {
		return nil, err
	}
	return &expr{typ: value.Type{Kind: value.TypeBool}, fixed: fixed, eval: q.Value}, nil
}

// compileInQuery compiles x IN (SELECT …).
func compileInQuery(p *planner, n *parse.Node) (*expr, error) {
	x, err := p.compile(n.Args[0])
	if err != nil {
		return nil, err
	}
	q, t, fixed, err := p.query(n, run.QueryIn)
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
	q.Float = x.typ.Numeric() && x.typ.Kind != t.Kind
	e := &expr{typ: value.Type{Kind: value.TypeBool}, fixed: fixed && x.fixed, eval: func(t *run.Tuple) (any, error) {
		v, err := x.eval(t)
		if err != nil {
			return nil, err
		}
		return q.Verdict(t, v)
	}}
	e.rejects = x.strict
	if x.key && fixed {
		e.keys = func(t *run.Tuple) keyRanges {
			if ranges, ok := q.RowKeys(t.Alone()); ok {
				return unionOf(ranges)
			}
			return allKeys
		}
	}
	return e, nil
}

// A holding is how a query is answered from a table that is made once: without the equalities of
// its columns with those around it, whose values find its rows.
type holding struct {
	block        *parse.Block
	equalities   []*parse.Node
	inner, outer []*parse.Node
	limit        *parse.Stage
	alone        bool // it is a group without keys
	having       bool // the last column is its condition
	byKey        bool // its rows are read by their key
	nested       bool
}

// holdable finds the equalities; nil: the query takes other things of the one around it, or
// nothing.
func (p *planner) holdable(n *parse.Node, kind run.QueryKind) *holding {
	b, w := n.Query, p.whole
	if len(b.Stages) != 1 || b.Stages[0].Kind != parse.SelectStage || b.From.Set != nil || b.From.Unpack != nil || b.From.Sealed {
		return nil
	}
	if b.From.Table == "" && b.From.Of == nil || !ofOneRow(b.Stages[0]) {
		return nil
	}
	find := w.finding()
	all := find.of(b)
	if all.blind || len(all.nodes) == 0 {
		return nil
	}
	s := *b.Stages[0]
	from := &freeNames{}
	v := find.source(&b.From, from)
	if len(from.nodes) > 0 || v.blind {
		return nil
	}
	h := &holding{nested: all.nested}
	var rest []*parse.Node
	for _, c := range conjuncts(s.Where) {
		if c.Op == parse.OpCompare && c.Text == "=" {
			x, y := c.Args[0], c.Args[1]
			if p.isOuter(x, v) {
				x, y = y, x
			}
			if p.isInner(x, v) && p.isOuter(y, v) {
				h.equalities, h.inner, h.outer = append(h.equalities, c), append(h.inner, x), append(h.outer, y)
				continue
			}
		}
		rest = append(rest, c)
	}
	grouped := s.Grouped || s.Having != nil
	for _, c := range s.Columns {
		grouped = grouped || p.functions.hasAggregate(c.Expr)
		if c.Expr != nil && c.Expr.Op == parse.OpFields && !isSource(v, c.Expr.Args[0]) {
			return nil
		}
	}
	for _, o := range s.Order {
		grouped = grouped || p.functions.hasAggregate(o.Expr)
	}
	if len(h.inner) == 0 || grouped && hidden(h.inner, s.Columns) {
		return nil
	}
	s.Where = conjunction(rest)
	left := &freeNames{}
	find.stage(&s, v, left)
	if len(left.nodes) > 0 || left.blind {
		return nil
	}
	if s.Limit != nil {
		h.limit = &parse.Stage{Limit: s.Limit, Offset: s.Offset}
		s.Limit, s.Offset = nil, nil
	}
	if kind == run.QueryExists && !grouped {
		s.Columns, s.Order, s.Distinct = nil, nil, false
	}
	s.Columns, s.Group = slices.Clone(s.Columns), slices.Clone(s.Group)
	for _, x := range h.inner {
		c := parse.Column{Expr: x, Pos: x.Pos}
		if s.Columns = append(s.Columns, c); grouped {
			s.Group = append(s.Group, c)
		}
	}
	h.alone = grouped && !s.Grouped
	if h.having = h.alone && s.Having != nil; h.having { // a group that it excludes is not one without rows
		s.Columns = append(s.Columns, parse.Column{Expr: aliased(s.Having, b.Stages[0].Columns), Pos: s.Having.Pos})
		s.Having = nil
	}
	s.Grouped = grouped
	h.block = &parse.Block{From: b.From, Stages: []*parse.Stage{&s}}
	h.byKey = slices.ContainsFunc(h.inner, func(x *parse.Node) bool { return p.isRowKey(x, &b.From) })
	return h
}

// hidden reports whether GROUP BY would take a name in an expression for that of a column of
// the result.
func hidden(all []*parse.Node, columns []parse.Column) bool {
	return slices.ContainsFunc(all, func(n *parse.Node) bool {
		return n.Op == parse.OpLiteral || n.Find(func(n *parse.Node) bool {
			return n.Op == parse.OpName && slices.ContainsFunc(columns, func(c parse.Column) bool {
				return parse.Same(c.Name, n.Text) && c.Expr != nil && (c.Expr.Op != parse.OpName || !parse.Same(c.Expr.Text, n.Text))
			})
		}) != nil
	})
}

// isInner reports whether an expression takes all its names, and some, of the query itself.
func (p *planner) isInner(n *parse.Node, v *visible) bool {
	free := &freeNames{}
	p.whole.finding().node(n, v, nil, free)
	return len(free.nodes) == 0 && !free.blind && p.functions.simple(n) && named(n)
}

// isOuter reports whether an expression takes all its names, and some, of what is around the
// query, which is the planner's.
func (p *planner) isOuter(n *parse.Node, v *visible) bool {
	all := &freeNames{}
	p.whole.finding().node(n, v, nil, all)
	if !p.functions.simple(n) || slices.ContainsFunc(all.nodes, func(n *parse.Node) bool { return !p.shows(n) && !p.outward(n) }) {
		return false
	}
	bound := n.Find(func(n *parse.Node) bool {
		if n.Op == parse.OpLambda {
			return true
		}
		free := &freeNames{}
		if n.Op == parse.OpName {
			p.whole.finding().node(n, v, nil, free)
			return len(free.nodes) == 0
		}
		return false
	})
	return bound == nil && named(n)
}

func named(n *parse.Node) bool {
	return n.Find(func(n *parse.Node) bool { return n.Op == parse.OpName }) != nil
}

// isRowKey reports whether an expression is the row key of the only table, or its first field.
func (p *planner) isRowKey(n *parse.Node, from *parse.From) bool {
	s, ok := p.whole.query.Sources[from.Table]
	if !ok || s.View != nil || len(from.Joins) > 0 {
		return false
	}
	if n.Op == parse.OpCast && n.Text == "STRING" {
		n = n.Args[0]
	}
	if n.Op == parse.OpField && n.Args[0].Op == parse.OpName && parse.Same(n.Args[0].Text, from.Alias) {
		n = &parse.Node{Op: parse.OpName, Text: n.Text}
	}
	names := s.RowKeys.Names()
	return n.Op == parse.OpName && (n.Text == parse.RowKey || len(names) > 0 && n.Text == names[0])
}

// hold compiles the table that answers the query. It leaves the query as it is where values of
// these types cannot be found.
func (p *planner) hold(n *parse.Node, q *run.Query, h *holding) (t value.Type, fixed bool, err error) {
	w := p.whole
	if h.byKey && h.nested { // each row reads few rows
		return t, true, nil
	}
	var sub *planner
	f, size, err := w.within(p, func() (err error) {
		sub, err = w.block(h.block)
		return err
	})
	if err != nil || len(f.taken) > 0 {
		return t, false, err
	}
	columns := len(sub.columns) - len(h.inner)
	if h.having {
		columns--
		if last := sub.columns[len(sub.columns)-1].expr.typ; last.Kind != value.TypeBool && last.Kind != value.TypeNull {
			pos := n.Query.Stages[0].Having.Pos
			return t, false, p.Errorf(pos, "a condition is %s; it must be BOOL", last)
		}
	}
	if q.Kind != run.QueryExists && columns != 1 {
		return t, false, p.Errorf(n.Pos, "a query in an expression has one column, and this one has %d", columns)
	}
	fixed = true
	var keys []run.JoinKey
	for i, y := range h.outer {
		a, err := p.compile(p.ofResult(y))
		if err != nil {
			return t, false, err
		}
		fixed = fixed && a.fixed
		b := slotExpr(sub.columns[columns+i].expr.typ, columns+i)
		c := h.equalities[i]
		of := &parse.Node{Op: parse.OpCompare, Text: "=", Pos: c.Pos, Args: []*parse.Node{y, h.inner[i]}}
		if a, b, err = p.comparable(of, a, b); err != nil {
			return t, false, err
		}
		if !a.typ.Comparable() || !b.typ.Comparable() {
			h.nested = false
			w.doubled++
			return t, true, nil
		}
		keys = append(keys, run.JoinKey{Left: a.eval, Right: b.eval, Float: a.typ.Numeric() && a.typ.Kind != b.typ.Kind})
	}
	if h.limit != nil {
		if q.Limit, q.Offset, err = sub.bounds(h.limit); err != nil {
			return t, false, err
		}
	}
	sub.plan.Size = size
	q.Held, q.Keys, q.Columns, q.Alone, q.Having = sub.plan, keys, columns, h.alone, h.having
	if columns > 0 {
		t = sub.columns[0].expr.typ
	}
	return t, fixed, nil
}
