package bind

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

// A view is a materialized view whose query is compiled.
type view struct {
	*planner
	of      *run.ViewPlan
	groups  *grouping // nil in the form with ORDER BY
	columns []output
}

// Materialized checks that a materialized view can have the query, and looks its names up.
func (q *Query) Materialized() (*run.ViewPlan, error) {
	if err := q.Parsed.WithoutHints(); err != nil {
		return nil, err
	}
	from := &q.Parsed.From
	of := q.Sources[from.Table]
	t := of.Table
	t.Name = from.Table
	s, err := q.formOfView(allFunctions())
	if err != nil {
		return nil, err
	}
	none, err := Params{}.Bind(nil)
	if err != nil {
		return nil, err
	}
	p := &planner{Source: q.Parsed.Source, table: t, bundles: of.Bundles, params: none, functions: allFunctions(), steady: true, whole: &whole{}, scope: scope{table: true, alias: from.Alias}}
	p.plan = &run.Plan{Table: t.Name}
	if err := compileOptions(p, from.Options); err != nil {
		return nil, err
	}
	for i := range from.Unnests {
		if err := compileUnnest(p, &from.Unnests[i]); err != nil {
			return nil, err
		}
	}
	if s.Where != nil {
		if err := compileWhere(p, s.Where); err != nil {
			return nil, err
		}
	}
	m := &view{planner: p, of: &run.ViewPlan{Steps: p.plan.Steps}}
	if s.Grouped {
		err = m.group(s)
	} else {
		err = m.order(s)
	}
	if err != nil {
		return nil, err
	}
	if p.pushes() {
		for _, c := range p.plan.Reads {
			p.plan.Options = append(p.plan.Options, c)
		}
	}
	if err := m.checkColumns(s); err != nil {
		return nil, err
	}
	m.of.Options, m.of.Where, m.of.Columns, m.of.Size = p.plan.Options, evalOf(p.where), outputsOf(m.columns), p.whole.size
	if m.groups != nil {
		m.of.Groups = m.groups.run(false)
	}
	return m.of, nil
}

// formOfView is the only stage of the query of a materialized view.
func (q *Query) formOfView(r *registry) (*parse.Stage, error) {
	p := q.Parsed
	refuse := func(pos int, what string) error {
		return p.Errorf(pos, "a materialized view cannot have %s; it is SELECT … FROM a table [WHERE …] and then GROUP BY …, or ORDER BY … for a view with other row keys", what)
	}
	switch {
	case p.Explain:
		return nil, refuse(0, "EXPLAIN")
	case len(p.From.Joins) > 0:
		return nil, refuse(p.From.Joins[0].Pos, "a join")
	case p.From.Of != nil:
		return nil, refuse(p.From.Pos, "a query in FROM")
	case p.From.Set != nil:
		return nil, refuse(p.From.Set.Pos, p.From.Set.Kind.String())
	case p.From.Table == "":
		return nil, refuse(p.From.Pos, "no table")
	case p.From.Unpack != nil:
		return nil, refuse(p.From.Unpack.Pos, "UNPACK")
	case len(p.Stages) != 1 || p.Stages[0].Kind != parse.SelectStage:
		return nil, refuse(0, "pipes")
	}
	s := p.Stages[0]
	switch {
	case s.Distinct:
		return nil, refuse(s.Pos, "SELECT DISTINCT")
	case s.GroupAll || s.Sets != nil:
		return nil, refuse(s.Pos, "GROUP BY ALL and grouping sets")
	case s.Having != nil:
		return nil, refuse(s.Having.Pos, "HAVING")
	case s.Qualify != nil:
		return nil, refuse(s.Qualify.Pos, "QUALIFY")
	case s.Limit != nil:
		return nil, refuse(s.Limit.Pos, "LIMIT")
	case s.Grouped && len(s.Order) > 0:
		return nil, refuse(s.Order[0].Expr.Pos, "both GROUP BY and ORDER BY")
	case !s.Grouped && len(s.Order) == 0:
		return nil, p.Errorf(s.Pos, "a materialized view needs GROUP BY or ORDER BY; one row for the whole table is SELECT '*' AS _key, … GROUP BY _key")
	}
	nodes := []*parse.Node{s.Where}
	for _, u := range p.From.Unnests {
		nodes = append(nodes, u.Array)
	}
	for _, c := range s.Columns {
		if c.Expr == nil {
			return nil, refuse(c.Pos, "SELECT *")
		}
		nodes = append(nodes, c.Expr)
	}
	for _, k := range s.Group {
		nodes = append(nodes, k.Expr)
	}
	for _, o := range s.Order {
		if o.Desc {
			return nil, refuse(o.Expr.Pos, "DESC")
		}
		nodes = append(nodes, o.Expr)
	}
	for _, n := range nodes {
		if bad := r.unsteady(n); bad != nil {
			return nil, refuse(bad.Pos, bad.Text+", whose value is not the same in every call")
		}
		if of := n.Window(); of != nil {
			return nil, refuse(of.Pos, "a window function")
		}
	}
	return s, nil
}

// group compiles the form with GROUP BY.
func (m *view) group(s *parse.Stage) error {
	p := m.planner
	keys, err := groupKeys(p, s)
	if err != nil {
		return err
	}
	if err := p.group(keys); err != nil {
		return err
	}
	m.groups = p.scope.groups
	if m.columns, err = p.outputs(s.Columns); err != nil {
		return err
	}
	for _, a := range m.groups.aggs {
		kind, err := m.foldKind(a)
		if err != nil {
			return err
		}
		m.of.Kinds = append(m.of.Kinds, kind)
	}
	for i, k := range keys {
		if err := m.key(s, &m.groups.numbering, k, s.Group[i].Pos, "GROUP BY"); err != nil {
			return err
		}
	}
	return nil
}

// order compiles the form with ORDER BY.
func (m *view) order(s *parse.Stage) (err error) {
	p := m.planner
	for _, c := range s.Columns {
		if p.functions.hasAggregate(c.Expr) {
			return p.Errorf(c.Pos, "a materialized view with ORDER BY has no aggregate functions; GROUP BY has")
		}
	}
	if m.columns, err = p.outputs(s.Columns); err != nil {
		return err
	}
	g := newNumbering()
	unique := false
	for _, o := range s.Order {
		n := aliased(o.Expr, s.Columns)
		if err := m.key(s, &g, n, o.Expr.Pos, "ORDER BY"); err != nil {
			return err
		}
		of := p.unqualified(n)
		_, computed := p.computed(of.Text)
		unique = unique || of.Op == parse.OpName && of.Text == parse.RowKey && !computed
	}
	if !unique {
		return p.Errorf(s.Order[0].Expr.Pos, "ORDER BY of a materialized view must include _key, so that each row of the table has its own row key in the view")
	}
	return nil
}

// key adds an expression to the row key: it must be one of the columns.
func (m *view) key(s *parse.Stage, g *numbering, n *parse.Node, pos int, clause string) error {
	for i, c := range s.Columns {
		if g.number(m.planner, c.Expr) == g.number(m.planner, n) {
			if slices.Contains(m.of.Keys, i) {
				return m.Errorf(pos, "%s has the column %s twice", clause, c.Name)
			}
			m.of.Keys = append(m.of.Keys, i)
			return nil
		}
	}
	return m.Errorf(pos, "%s of a materialized view must have columns of SELECT only: they are its row key", clause)
}

// checkColumns refuses columns that cannot be cells.
func (m *view) checkColumns(s *parse.Stage) error {
	names := map[string]bool{}
	for i, c := range m.columns {
		at := s.Columns[i]
		switch {
		case c.name == "":
			return m.Errorf(at.Pos, "a column of a materialized view needs a name: write AS and a name after it")
		case names[strings.ToLower(c.name)]:
			return m.Errorf(at.Pos, "a materialized view cannot have two columns of the name %s", c.name)
		}
		names[strings.ToLower(c.name)] = true
		switch c.expr.typ.Kind {
		case value.TypeBytes, value.TypeString, value.TypeInt64, value.TypeFloat64, value.TypeBool, value.TypeTimestamp:
		default:
			return m.Errorf(at.Pos, "the column %s is %s; a column of a materialized view can be BYTES, STRING, INT64, FLOAT64, BOOL or TIMESTAMP", c.name, c.expr.typ)
		}
		if slices.Contains(m.of.Keys, i) {
			continue
		}
		if family, _ := run.Place(c.name); schema.CheckFamilyName(family) != nil || family == run.RecordFamily {
			return m.Errorf(at.Pos, "the column %s would be in a family %q, which is not the name of a family: the family is the part of the name before the first point", c.name, family)
		}
	}
	return nil
}

// foldKind is how a function of the view follows changes of its groups.
func (m *view) foldKind(a *aggregate) (run.FoldKind, error) {
	n := a.call
	if n.IgnoreNulls || len(n.Order) > 0 || n.Limit != nil {
		return 0, m.Errorf(n.Pos, "an aggregate function of a materialized view takes no IGNORE NULLS, ORDER BY and LIMIT")
	}
	if a.distinct {
		return 0, m.Errorf(n.Pos, "a materialized view cannot have %s(DISTINCT …)", n.Text)
	}
	if !m.functions.named(n.Text).inViews {
		return 0, m.Errorf(n.Pos, "a materialized view cannot have %s; it can have %s, and those of HLL_COUNT", n.Text, m.functions.inViews())
	}
	ints := !a.star && a.args[0].typ.Kind == value.TypeInt64
	switch {
	case n.Text == "COUNT":
		return run.FoldCount, nil
	case n.Text == "SUM" && ints:
		return run.FoldSum, nil
	case n.Text == "AVG" && ints:
		return run.FoldAverage, nil
	case n.Text == "BIT_XOR":
		return run.FoldXor, nil
	case n.Text == "MIN":
		return run.FoldMin, nil
	case n.Text == "MAX":
		return run.FoldMax, nil
	}
	if k := a.args[0].typ.Kind; k == value.TypeArray || k == value.TypeMap || k == value.TypeStruct {
		return 0, m.Errorf(n.Args[0].Pos, "%s of a materialized view cannot take %s", n.Text, a.args[0].typ)
	}
	return run.FoldAnew, nil
}
