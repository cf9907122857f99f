package sql

import (
	"context"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// A Materialized is the query of a materialized view on a table as it is declared. It has
// a row of the view for each group, or, in the form with ORDER BY, for each row. The values
// of GROUP BY or ORDER BY are the row key of the view. Goroutines may share it.
type Materialized struct {
	plan    *Plan
	rows    []step     // from a row of the table to the rows that are grouped or ordered
	groups  *grouping  // nil in the form with ORDER BY
	kinds   []foldKind // of groups.aggs
	columns []output
	keys    []int // the columns of the row key, in its order
}

// DefaultFamily is the family of the columns whose names have no family. Each row of a
// materialized view has an empty cell in it, in the column without a name.
const DefaultFamily = "default"

// RecordFamily is the family of a materialized view in which each row has a record of all
// its columns. Users do not see it.
const RecordFamily = "."

// Materialized checks that the query can be that of a materialized view, and looks its
// names up.
func (q *Query) Materialized(t schema.Table) (*Materialized, error) {
	from := &q.parsed.From
	t.Name = from.Table
	s, err := q.formOfView()
	if err != nil {
		return nil, err
	}
	none, err := Params{}.Bind(nil)
	if err != nil {
		return nil, err
	}
	p := &Plan{Source: q.parsed.Source, table: t, bundles: q.bundles, params: none, steady: true, scope: scope{table: true, alias: from.Alias}}
	if err := p.options(from.Options); err != nil {
		return nil, err
	}
	for i := range from.Unnests {
		if err := p.unnest(&from.Unnests[i]); err != nil {
			return nil, err
		}
	}
	if s.Where != nil {
		if err := p.filtered(s.Where); err != nil {
			return nil, err
		}
	}
	m := &Materialized{plan: p, rows: p.steps}
	if s.Grouped {
		err = m.group(s)
	} else {
		err = m.order(s)
	}
	if err != nil {
		return nil, err
	}
	if p.pushes() {
		for _, c := range p.reads {
			p.opts = append(p.opts, c)
		}
	}
	return m, m.checkColumns(s)
}

// formOfView is the only stage of the query of a materialized view.
func (q *Query) formOfView() (*parse.Stage, error) {
	p := q.parsed
	refuse := func(pos int, what string) error {
		return p.Errorf(pos, "a materialized view cannot have %s; it is SELECT … FROM a table [WHERE …] and then GROUP BY …, or ORDER BY … for a view with other row keys", what)
	}
	switch {
	case p.Explain:
		return nil, refuse(0, "EXPLAIN")
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
	case s.Having != nil:
		return nil, refuse(s.Having.Pos, "HAVING")
	case s.Limit != nil:
		return nil, refuse(s.Limit.Pos, "LIMIT")
	case s.Grouped && len(s.Order) > 0:
		return nil, refuse(s.Order[0].Expr.Pos, "both GROUP BY and ORDER BY")
	case !s.Grouped && len(s.Order) == 0:
		return nil, p.Errorf(s.Pos, "a materialized view needs GROUP BY or ORDER BY; one row for the whole table is SELECT '*' AS _key, … GROUP BY _key")
	}
	seen := map[*parse.Node]bool{}
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
		if bad := findNode(n, seen, func(n *parse.Node) bool { return n.Op == parse.OpCall && functions().named(n.Text).unsteady }); bad != nil {
			return nil, refuse(bad.Pos, bad.Text+", whose value is not the same in every call")
		}
	}
	return s, nil
}

// findNode finds a part of an expression.
func findNode(n *parse.Node, seen map[*parse.Node]bool, wanted func(*parse.Node) bool) *parse.Node {
	if n == nil || seen[n] {
		return nil
	}
	if seen[n] = true; wanted(n) {
		return n
	}
	for _, arg := range n.Args {
		if found := findNode(arg, seen, wanted); found != nil {
			return found
		}
	}
	return nil
}

// group compiles the form with GROUP BY.
func (m *Materialized) group(s *parse.Stage) error {
	p := m.plan
	keys, err := p.groupKeys(s)
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
		m.kinds = append(m.kinds, kind)
	}
	for i, k := range keys {
		if err := m.key(s, m.groups, k, s.Group[i].Pos, "GROUP BY"); err != nil {
			return err
		}
	}
	return nil
}

// order compiles the form with ORDER BY.
func (m *Materialized) order(s *parse.Stage) (err error) {
	p := m.plan
	for _, c := range s.Columns {
		if hasAggregate(c.Expr) {
			return p.Errorf(c.Pos, "a materialized view with ORDER BY has no aggregate functions; GROUP BY has")
		}
	}
	if m.columns, err = p.outputs(s.Columns); err != nil {
		return err
	}
	g := &grouping{nodes: map[*parse.Node]int{}, seen: map[string]int{}}
	unique := false
	for _, o := range s.Order {
		n := aliased(o.Expr, s.Columns)
		if err := m.key(s, g, n, o.Expr.Pos, "ORDER BY"); err != nil {
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
func (m *Materialized) key(s *parse.Stage, g *grouping, n *parse.Node, pos int, clause string) error {
	for i, c := range s.Columns {
		if g.number(m.plan, c.Expr) == g.number(m.plan, n) {
			if slices.Contains(m.keys, i) {
				return m.plan.Errorf(pos, "%s has the column %s twice", clause, c.Name)
			}
			m.keys = append(m.keys, i)
			return nil
		}
	}
	return m.plan.Errorf(pos, "%s of a materialized view must have columns of SELECT only: they are its row key", clause)
}

// checkColumns refuses columns that cannot be cells.
func (m *Materialized) checkColumns(s *parse.Stage) error {
	names := map[string]bool{}
	for i, c := range m.columns {
		at := s.Columns[i]
		switch {
		case c.name == "":
			return m.plan.Errorf(at.Pos, "a column of a materialized view needs a name: write AS and a name after it")
		case names[strings.ToLower(c.name)]:
			return m.plan.Errorf(at.Pos, "a materialized view cannot have two columns of the name %s", c.name)
		}
		names[strings.ToLower(c.name)] = true
		switch c.expr.typ.Kind {
		case value.TypeBytes, value.TypeString, value.TypeInt64, value.TypeFloat64, value.TypeBool, value.TypeTimestamp:
		default:
			return m.plan.Errorf(at.Pos, "the column %s is %s; a column of a materialized view can be BYTES, STRING, INT64, FLOAT64, BOOL or TIMESTAMP", c.name, c.expr.typ)
		}
		if slices.Contains(m.keys, i) {
			continue
		}
		if family, _ := place(c.name); schema.CheckFamilyName(family) != nil || family == RecordFamily {
			return m.plan.Errorf(at.Pos, "the column %s would be in a family %q, which is not the name of a family: the family is the part of the name before the first point", c.name, family)
		}
	}
	return nil
}

// place is the family and the qualifier of a column.
func place(column string) (family, qualifier string) {
	if family, qualifier, ok := strings.Cut(column, "."); ok {
		return family, qualifier
	}
	return DefaultFamily, column
}

// Families are the families of the view that its users see, sorted.
func (m *Materialized) Families() []string {
	families := []string{DefaultFamily}
	for i, c := range m.columns {
		if family, _ := place(c.name); !slices.Contains(m.keys, i) && !slices.Contains(families, family) {
			families = append(families, family)
		}
	}
	slices.Sort(families)
	return families
}

// Reads are the options of a read of the table's cells that the view depends on.
func (m *Materialized) Reads() []read.Option { return m.plan.opts }

// A Contribution is what a row of the table adds to the view: to the row of a key.
type Contribution struct {
	Key    string // of the view's row
	Record []byte // the values: all columns; or those of GROUP BY, and the arguments of the functions
}

// MaxContributions bounds the contributions of one row.
const MaxContributions = 10_000

// Contributions are those of a row of the table. A row whose key in the view would be
// NULL, empty or too long contributes nothing.
func (m *Materialized) Contributions(ctx context.Context, row *query.Row) (all []Contribution, err error) {
	next := sink{push: func(t *tuple) error {
		c, ok, err := m.contribution(t)
		if !ok || err != nil {
			return err
		}
		if all = append(all, c); len(all) > MaxContributions {
			return parse.Invalid("a row makes more than %d rows of a materialized view", MaxContributions)
		}
		return nil
	}, end: func() error { return nil }}
	x := &execution{ctx: ctx}
	for i := len(m.rows) - 1; i >= 0; i-- {
		next = m.rows[i].run(x, next)
	}
	t := &tuple{row: row}
	if m.plan.where != nil {
		if v, err := m.plan.where.eval(t); v != true || err != nil {
			return nil, err
		}
	}
	return all, next.push(t)
}
