package bind

import (
	"slices"
	"strconv"

	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

// compileUnnest compiles UNNEST: each element of an array, for each tuple before it.
func compileUnnest(p *planner, u *parse.Unnest) error {
	array, err := p.compile(u.Array)
	if err != nil {
		return err
	}
	if array.typ.Kind != value.TypeArray {
		return p.Errorf(u.Array.Pos, "UNNEST takes an array, not %s", array.typ)
	}
	of := *array.typ.Of
	at := p.scope.slots
	if of.Kind == value.TypeStruct && u.Alias == "" {
		for i, f := range of.Fields {
			p.scope.named(slotName{name: f.Name, typ: f.Type, slot: at + i})
		}
		p.scope.slots += len(of.Fields)
	} else {
		p.scope.named(slotName{name: u.Alias, typ: of, slot: at})
		p.scope.slots++
	}
	if u.Offset != "" {
		p.scope.named(slotName{name: u.Offset, typ: value.Type{Kind: value.TypeInt64}, slot: p.scope.slots})
		p.scope.slots++
	}
	fields := 0
	if of.Kind == value.TypeStruct && u.Alias == "" {
		fields = len(of.Fields)
	}
	p.plan.Steps = append(p.plan.Steps, run.Unnest(array.eval, fields, u.Offset != ""))
	return nil
}

// compileOrders compiles the expressions of ORDER BY, in which a name first means a
// column of the result. They are nil when projected columns are ordered. A column is not compiled
// twice, since a query in it would then run twice.
func compileOrders(p *planner, s *parse.Stage, columns []output) (all []*expr, err error) {
	if s.Distinct {
		return nil, nil
	}
	for _, o := range s.Order {
		n := o.Expr
		if n.Op == parse.OpLiteral && n.Kind == parse.IntToken {
			i, err := strconv.Atoi(n.Text)
			if err != nil || i < 1 || i > len(s.Columns) || s.Columns[i-1].Expr == nil {
				return nil, p.Errorf(n.Pos, "ORDER BY %s: the result has no such column", n.Text)
			}
			n = s.Columns[i-1].Expr
		} else {
			n = aliased(n, s.Columns)
		}
		var e *expr
		if at := slices.IndexFunc(columns, func(c output) bool { return c.node == n }); at >= 0 {
			e, err = p.ordered(n, columns[at].expr)
		} else {
			e, err = p.orderable(n)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// compileSort compiles ORDER BY; all are the columns to make of a tuple, nil to keep it.
func compileSort(p *planner, s *parse.Stage, by []*expr, all []output) error {
	if by == nil {
		for _, o := range s.Order {
			n := o.Expr
			if n.Op == parse.OpLiteral && n.Kind == parse.IntToken {
				at, err := strconv.Atoi(n.Text)
				if err != nil || at < 1 || at > len(p.scope.names) {
					return p.Errorf(n.Pos, "ORDER BY %s: the result has no such column", n.Text)
				}
				column := p.scope.names[at-1]
				if !column.typ.Comparable() {
					return p.Errorf(n.Pos, "rows cannot be ordered by %s", column.typ)
				}
				by = append(by, slotExpr(column.typ, column.slot))
				continue
			}
			e, err := p.orderable(n)
			if err != nil {
				return err
			}
			by = append(by, e)
		}
	}
	if all == nil {
		if scoped, err := p.star(parse.Column{Pos: s.Pos}); err != nil {
			return err
		} else {
			all = scoped
		}
	}
	limit, offset, err := p.bounds(s)
	if err != nil {
		return err
	}
	project(p, all)
	p.plan.Steps[len(p.plan.Steps)-1] = run.Sort(evals(by), s.Order, evals(exprsOf(all)), limit, offset, p.plan.InMemory)
	return nil
}

// compileStages compiles the source of the rows and the stages after it.
func compileStages(p *planner, q *parse.Block) error {
	open := p.sealed(q.From.Sealed)
	if q.From.Unpack != nil {
		if err := compileUnpack(p, q.From.Unpack); err != nil {
			return err
		}
	}
	for i := range q.From.Unnests {
		if len(q.From.Joins) > 0 { // which has compiled them
			break
		}
		if err := compileUnnest(p, &q.From.Unnests[i]); err != nil {
			return err
		}
	}
	open()
	stages := q.Stages
	if !p.inner && p.plan.From == nil && len(stages) == 1 && !stages[0].HasQuery() && stages[0].Kind == parse.SelectStage && len(p.plan.Steps) == 0 {
		if done, err := compileStream(p, stages[0]); done || err != nil {
			return err
		}
	}
	for _, s := range stages {
		open := p.sealed(s.Sealed)
		err := compileStage(p, s)
		open()
		if err != nil && s.View != "" {
			return ofView(s.View, err)
		} else if err != nil {
			return err
		}
	}
	if len(stages) == 0 || stages[len(stages)-1].Kind != parse.SelectStage {
		all, err := p.star(parse.Column{Pos: q.From.Pos})
		if err != nil {
			return err
		}
		project(p, all)
	}
	return nil
}

// compileStream compiles a SELECT that sends the wanted rows as they are read.
func compileStream(p *planner, s *parse.Stage) (done bool, err error) {
	if s.Having != nil || s.Distinct || s.HasWindow() || s.Qualify != nil || p.grouped(s) || !byKey(p, s) {
		return false, nil
	}
	p.plan.Stream = true
	if p.columns, err = p.outputs(s.Columns); err != nil {
		return true, err
	}
	if s.Where != nil {
		if p.where, err = p.condition(s.Where); err != nil {
			return true, err
		}
	}
	p.plan.Limit, p.plan.Offset, err = p.bounds(s)
	return true, err
}

// byKey reports whether a SELECT orders by the row key.
func byKey(p *planner, s *parse.Stage) bool {
	if len(s.Order) == 0 {
		return true
	}
	if len(s.Order) > 1 || !p.scope.table {
		return false
	}
	by := s.Order[0].Expr
	name := p.unqualified(by).Text
	if p.unqualified(by).Op != parse.OpName {
		return false
	}
	for _, c := range s.Columns {
		if c.Expr != nil && parse.Same(c.Name, name) {
			of := p.unqualified(c.Expr)
			if of.Op != parse.OpName {
				return false
			}
			name = of.Text
		}
	}
	p.plan.Reverse = name == parse.RowKey && s.Order[0].Desc
	return name == parse.RowKey
}

func compileStage(p *planner, s *parse.Stage) error {
	switch s.Kind {
	case parse.SelectStage:
		return compileSelect(p, s)
	case parse.WhereStage:
		return compileWhere(p, s.Where)
	case parse.AggregateStage:
		return compileAggregateStage(p, s)
	case parse.OrderStage:
		return compileSort(p, s, nil, nil)
	case parse.LimitStage:
		return compileLimit(p, s)
	case parse.DistinctStage:
		return compileDistinct(p, s.Pos)
	case parse.AsStage:
		p.scope.alias = s.Columns[0].Name
		if p.scope.sides != nil { // they have no names from here on
			p.scope.sides, p.scope.parts = nil, nil
			p.scope.names = slices.Clone(p.scope.names)
			for i := range p.scope.names {
				p.scope.names[i].of = ""
			}
		}
		return nil
	case parse.UnnestStage:
		return compileUnnest(p, s.Unnest)
	case parse.ExtendStage:
		return compileExtend(p, s)
	}
	return compileRenames(p, s)
}

// compileSelect compiles a SELECT with its clauses.
func compileSelect(p *planner, s *parse.Stage) error {
	if s.Where != nil {
		if err := compileWhere(p, s.Where); err != nil {
			return err
		}
	}
	grouped := p.grouped(s)
	if s.GroupAll {
		of, err := p.spelledOut(s)
		if err != nil {
			return err
		}
		s = of
	}
	if grouped {
		keys, err := groupKeys(p, s)
		if err != nil {
			return err
		}
		if err := p.groupBy(s, keys); err != nil {
			return err
		}
	}
	p.beginWindows(s)
	all, err := p.outputs(s.Columns)
	if err != nil {
		return err
	}
	p.late = aliasesOf(s.Columns)
	defer func() { p.late = nil }()
	var having *expr
	if s.Having != nil {
		if !grouped {
			return p.Errorf(s.Having.Pos, "HAVING must have GROUP BY or an aggregate function")
		}
		of := aliased(s.Having, s.Columns)
		if err := p.withoutWindow(of, "HAVING, unlike QUALIFY,"); err != nil {
			return err
		}
		windows := p.scope.windows
		p.scope.windows = nil // nor can queries in it take one by its name
		having, err = p.condition(of)
		if p.scope.windows = windows; err != nil {
			return err
		}
	}
	qualify, err := p.qualify(s)
	if err != nil {
		return err
	}
	orders, err := compileOrders(p, s, all)
	if err != nil {
		return err
	}
	if p.scope.groups != nil {
		p.addGroups()
	}
	if having != nil {
		p.plan.Steps = append(p.plan.Steps, run.Filter(having.eval))
	}
	p.endWindows()
	if qualify != nil {
		p.plan.Steps = append(p.plan.Steps, run.Filter(qualify.eval))
	}
	if s.Distinct {
		project(p, all)
		if err := compileDistinct(p, s.Pos); err != nil {
			return err
		}
		all = nil
	}
	if len(s.Order) > 0 {
		if err := compileSort(p, s, orders, all); err != nil {
			return err
		}
	} else if all != nil {
		project(p, all)
	}
	if s.Limit != nil {
		return compileLimit(p, s)
	}
	return nil
}

// qualify compiles QUALIFY.
func (p *planner) qualify(s *parse.Stage) (*expr, error) {
	if s.Qualify == nil {
		return nil, nil
	}
	if s.Qualify.Window() == nil && !slices.ContainsFunc(s.Columns, func(c parse.Column) bool { return c.Expr.Window() != nil }) {
		return nil, p.Errorf(s.Qualify.Pos, "QUALIFY needs a window function, in itself or in SELECT; WHERE and HAVING do not")
	}
	return p.condition(aliased(s.Qualify, s.Columns))
}

// withoutWindow refuses window functions in a clause.
func (p *planner) withoutWindow(n *parse.Node, clause string) error {
	if of := n.Window(); of != nil {
		return p.Errorf(of.Pos, "%s cannot have a window function", clause)
	}
	return nil
}

// groupKeys are the keys of GROUP BY: expressions, the names of columns of the
// result, or their numbers.
func groupKeys(p *planner, s *parse.Stage) (keys []*parse.Node, err error) {
	if s.GroupAll {
		return p.inferredKeys(s)
	}
	for _, k := range s.Group {
		n := k.Expr
		if n == nil {
			return nil, p.Errorf(k.Pos, "GROUP BY takes expressions, not *")
		}
		if n.Op == parse.OpLiteral && n.Kind == parse.IntToken {
			i, err := strconv.Atoi(n.Text)
			if err != nil || i < 1 || i > len(s.Columns) || s.Columns[i-1].Expr == nil {
				return nil, p.Errorf(n.Pos, "GROUP BY %s: the result has no such column", n.Text)
			}
			n = s.Columns[i-1].Expr
		} else {
			n = aliased(n, s.Columns)
		}
		if p.functions.hasAggregate(n) {
			return nil, p.Errorf(k.Pos, "GROUP BY cannot have an aggregate function")
		}
		if err := p.withoutWindow(n, "GROUP BY"); err != nil {
			return nil, err
		}
		keys = append(keys, n)
	}
	return keys, nil
}

// project makes the columns the tuples' values.
func project(p *planner, all []output) {
	p.columns = nil
	p.scope = scope{slots: len(all)}
	for i, o := range all {
		p.columns = append(p.columns, output{name: o.name, expr: slotExpr(o.expr.typ, i)})
		p.scope.named(slotName{name: o.name, typ: o.expr.typ, slot: i})
	}
	p.plan.Steps = append(p.plan.Steps, run.Project(evals(exprsOf(all))))
}

// compileWhere compiles WHERE. The first filter of a table's rows also chooses the rows
// to read.
func compileWhere(p *planner, n *parse.Node) error {
	if p.functions.hasAggregate(n) {
		return p.Errorf(n.Pos, "WHERE cannot have an aggregate function; HAVING can")
	}
	if err := p.withoutWindow(n, "WHERE, unlike QUALIFY,"); err != nil {
		return err
	}
	e, err := p.condition(n)
	if err != nil {
		return err
	}
	if of := p.where; len(p.plan.Steps) == 0 && p.scope.table && (of == nil || p.sampled) {
		if p.where, p.sampled = e, n.Op == parse.OpSample; of != nil {
			p.where = joint(p, parse.OpAnd, []*expr{of, e})
		}
		return nil
	}
	p.plan.Steps = append(p.plan.Steps, run.Filter(e.eval))
	return nil
}

// compileAggregateStage compiles AGGREGATE: the keys come first, then the aggregates.
func compileAggregateStage(p *planner, s *parse.Stage) error {
	keys := make([]*parse.Node, len(s.Group))
	for i, k := range s.Group {
		if keys[i] = k.Expr; k.Expr == nil || p.functions.hasAggregate(k.Expr) {
			return p.Errorf(k.Pos, "GROUP BY takes expressions without aggregate functions")
		}
	}
	if err := p.groupBy(s, keys); err != nil {
		return err
	}
	all, err := p.outputs(append(slices.Clone(s.Group), s.Columns...))
	if err != nil {
		return err
	}
	p.addGroups()
	project(p, all)
	return nil
}

// compileExtend compiles EXTEND, which adds columns.
func compileExtend(p *planner, s *parse.Stage) error {
	p.beginWindows(s)
	added, err := p.outputs(s.Columns)
	if err != nil {
		return err
	}
	p.endWindows()
	for i, o := range added {
		p.scope.named(slotName{name: o.name, typ: o.expr.typ, slot: p.scope.slots + i})
	}
	p.scope.slots += len(added)
	p.plan.Steps = append(p.plan.Steps, run.Extend(evals(exprsOf(added))))
	return nil
}

// maxChanged bounds the columns that a pipe changes.
const maxChanged = 1000

// compileRenames compiles SET, DROP and RENAME.
func compileRenames(p *planner, s *parse.Stage) error {
	all, err := p.star(parse.Column{Pos: s.Pos})
	if err != nil {
		return err
	}
	p.beginWindows(s)
	if len(s.Columns) > maxChanged {
		return p.Errorf(s.Pos, "SET, DROP and RENAME take up to %d columns", maxChanged)
	}
	for _, c := range s.Columns {
		i := slices.IndexFunc(all, func(o output) bool { return parse.Same(o.name, c.Name) })
		if i < 0 {
			return p.Errorf(c.Pos, "there is no column %s%s", c.Name, schema.DidYouMean(c.Name, p.names()))
		}
		switch s.Kind {
		case parse.SetStage:
			if all[i].expr, err = p.compile(c.Expr); err != nil {
				return err
			}
		case parse.DropStage:
			all = slices.Delete(all, i, i+1)
		default:
			all[i].name = c.Expr.Text
		}
	}
	if len(all) == 0 {
		return p.Errorf(s.Pos, "DROP leaves no column")
	}
	p.endWindows()
	project(p, all)
	return nil
}

// compileDistinct compiles the removal of repeated rows.
func compileDistinct(p *planner, pos int) error {
	all, err := p.star(parse.Column{Pos: pos})
	if err != nil {
		return err
	}
	for _, o := range all {
		if !o.expr.typ.Groupable() {
			return p.Errorf(pos, "DISTINCT cannot compare values of type %s", o.expr.typ)
		}
	}
	files := !p.plan.InMemory && !p.scope.table // rows of the table have different keys
	p.plan.Steps = append(p.plan.Steps, run.Distinct(evals(exprsOf(all)), files))
	return nil
}

// compileLimit compiles LIMIT and OFFSET.
func compileLimit(p *planner, s *parse.Stage) error {
	limit, offset, err := p.bounds(s)
	if err == nil {
		p.plan.Steps = append(p.plan.Steps, run.Limit(limit, offset))
	}
	return err
}

// bounds compiles the values of LIMIT and OFFSET. Each may be nil.
func (p *planner) bounds(s *parse.Stage) (limit, offset run.Eval, err error) {
	if limit, err = p.rowCount(s.Limit, "LIMIT"); err == nil {
		offset, err = p.rowCount(s.Offset, "OFFSET")
	}
	return limit, offset, err
}

func exprsOf(all []output) (list []*expr) {
	for _, o := range all {
		list = append(list, o.expr)
	}
	return list
}
