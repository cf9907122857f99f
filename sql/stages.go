package sql

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql/parse"
)

// compileStages compiles the source of the rows and the stages after it.
func (p *Plan) compileStages(q *parse.Query) error {
	if q.From.Unpack != nil {
		if err := p.unpacked(q.From.Unpack); err != nil {
			return err
		}
	}
	for i := range q.From.Unnests {
		if err := p.unnest(&q.From.Unnests[i]); err != nil {
			return err
		}
	}
	stages := q.Stages
	if len(stages) == 1 && stages[0].Kind == parse.SelectStage && len(p.steps) == 0 {
		if done, err := p.streamed(stages[0]); done || err != nil {
			return err
		}
	}
	for _, s := range stages {
		if err := p.stage(s); err != nil && s.View != "" {
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
		p.project(all)
	}
	return nil
}

// streamed compiles a SELECT that sends the wanted rows as they are read.
func (p *Plan) streamed(s *parse.Stage) (done bool, err error) {
	grouped := s.Grouped || s.Having != nil || s.Distinct
	for _, c := range s.Columns {
		grouped = grouped || hasAggregate(c.Expr)
	}
	if grouped || !p.byKey(s) {
		return false, nil
	}
	p.stream = true
	if p.columns, err = p.outputs(s.Columns); err != nil {
		return true, err
	}
	if s.Where != nil {
		if p.where, err = p.condition(s.Where); err != nil {
			return true, err
		}
	}
	if p.limit, err = p.rowCount(s.Limit, "LIMIT"); err != nil {
		return true, err
	}
	p.offset, err = p.rowCount(s.Offset, "OFFSET")
	return true, err
}

// byKey reports whether the order of a SELECT is that of row keys.
func (p *Plan) byKey(s *parse.Stage) bool {
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
	p.reverse = name == parse.RowKey && s.Order[0].Desc
	return name == parse.RowKey
}

func (p *Plan) stage(s *parse.Stage) error {
	switch s.Kind {
	case parse.SelectStage:
		return p.selection(s)
	case parse.WhereStage:
		return p.filtered(s.Where)
	case parse.AggregateStage:
		return p.aggregated(s)
	case parse.OrderStage:
		return p.sortBy(s, nil, nil)
	case parse.LimitStage:
		return p.limited(s)
	case parse.DistinctStage:
		return p.distinct(s.Pos)
	case parse.AsStage:
		p.scope.alias = s.Columns[0].Name
		return nil
	case parse.UnnestStage:
		return p.unnest(s.Unnest)
	case parse.ExtendStage:
		return p.extended(s)
	}
	return p.renamed(s)
}

// selection compiles a SELECT with its clauses.
func (p *Plan) selection(s *parse.Stage) error {
	if s.Where != nil {
		if err := p.filtered(s.Where); err != nil {
			return err
		}
	}
	grouped := s.Grouped || hasAggregate(s.Having)
	for _, c := range s.Columns {
		grouped = grouped || hasAggregate(c.Expr)
	}
	for _, o := range s.Order {
		grouped = grouped || hasAggregate(o.Expr)
	}
	if grouped {
		keys, err := p.groupKeys(s)
		if err != nil {
			return err
		}
		if err := p.group(keys); err != nil {
			return err
		}
	}
	all, err := p.outputs(s.Columns)
	if err != nil {
		return err
	}
	var having *expr
	if s.Having != nil {
		if !grouped {
			return p.Errorf(s.Having.Pos, "HAVING must have GROUP BY or an aggregate function")
		}
		if having, err = p.condition(aliased(s.Having, s.Columns)); err != nil {
			return err
		}
	}
	orders, err := p.orders(s, s.Distinct)
	if err != nil {
		return err
	}
	if g := p.scope.groups; g != nil {
		p.steps = append(p.steps, g.step())
	}
	if having != nil {
		p.steps = append(p.steps, filterStep(having))
	}
	if s.Distinct {
		p.project(all)
		if err := p.distinct(s.Pos); err != nil {
			return err
		}
		all = nil
	}
	if len(s.Order) > 0 {
		if err := p.sortBy(s, orders, all); err != nil {
			return err
		}
	} else if all != nil {
		p.project(all)
	}
	if s.Limit != nil {
		return p.limited(s)
	}
	return nil
}

// groupKeys are the keys of GROUP BY: expressions, the names of columns of the
// result, or their numbers.
func (p *Plan) groupKeys(s *parse.Stage) (keys []*parse.Node, err error) {
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
		if hasAggregate(n) {
			return nil, p.Errorf(k.Pos, "GROUP BY cannot have an aggregate function")
		}
		keys = append(keys, n)
	}
	return keys, nil
}

// aliased puts the expressions of columns in the place of their names.
func aliased(n *parse.Node, columns []parse.Column) *parse.Node {
	a := aliases{byName: map[string]*parse.Node{}, seen: map[*parse.Node]*parse.Node{}}
	for _, c := range columns {
		if name := strings.ToLower(c.Name); c.Expr != nil && name != "" && a.byName[name] == nil {
			a.byName[name] = c.Expr
		}
	}
	return a.replace(n)
}

type aliases struct {
	byName map[string]*parse.Node
	seen   map[*parse.Node]*parse.Node
}

func (a *aliases) replace(n *parse.Node) *parse.Node {
	if n.Op == parse.OpName {
		return cmp.Or(a.byName[strings.ToLower(n.Text)], n)
	}
	if done := a.seen[n]; done != nil || len(n.Args) == 0 {
		return cmp.Or(done, n)
	}
	with, of := *n, a
	if n.Op == parse.OpLambda {
		of = a.without(n.Names)
	}
	with.Args = make([]*parse.Node, len(n.Args))
	for i, arg := range n.Args {
		with.Args[i] = of.replace(arg)
	}
	a.seen[n] = &with
	return &with
}

// without are the aliases that the arguments of a lambda do not hide.
func (a *aliases) without(names []string) *aliases {
	other := &aliases{byName: maps.Clone(a.byName), seen: map[*parse.Node]*parse.Node{}}
	for _, name := range names {
		delete(other.byName, strings.ToLower(name))
	}
	return other
}

// project makes the columns the tuples' values.
func (p *Plan) project(all []output) {
	p.columns = nil
	p.scope = scope{slots: len(all)}
	for i, o := range all {
		p.columns = append(p.columns, output{o.name, slotExpr(o.expr.typ, i)})
		p.scope.named(slotName{o.name, o.expr.typ, i})
	}
	p.steps = append(p.steps, step{name: "select " + strconv.Itoa(len(all)) + " columns", alone: true, run: func(_ *execution, next sink) sink {
		return sink{push: func(t *tuple) error {
			values, err := outputValues(all, t)
			if err != nil {
				return err
			}
			return next.push(&tuple{slots: values, made: t.made, ctx: t.ctx})
		}, end: next.end}
	}})
}

func outputValues(all []output, t *tuple) ([]any, error) {
	values := make([]any, len(all))
	for i, o := range all {
		var err error
		if values[i], err = o.expr.eval(t); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// filtered compiles WHERE. The first filter of a table's rows also chooses the rows
// to read.
func (p *Plan) filtered(n *parse.Node) error {
	if hasAggregate(n) {
		return p.Errorf(n.Pos, "WHERE cannot have an aggregate function; HAVING can")
	}
	e, err := p.condition(n)
	if err != nil {
		return err
	}
	if len(p.steps) == 0 && p.where == nil && p.scope.table {
		p.where = e
		return nil
	}
	p.steps = append(p.steps, filterStep(e))
	return nil
}

func filterStep(e *expr) step {
	return step{name: "filter", alone: true, run: func(_ *execution, next sink) sink {
		return sink{push: func(t *tuple) error {
			v, err := e.eval(t)
			if v != true || err != nil {
				return err
			}
			return next.push(t)
		}, end: next.end}
	}}
}

// aggregated compiles AGGREGATE: the keys come first, then the aggregates.
func (p *Plan) aggregated(s *parse.Stage) error {
	keys := make([]*parse.Node, len(s.Group))
	for i, k := range s.Group {
		if keys[i] = k.Expr; k.Expr == nil || hasAggregate(k.Expr) {
			return p.Errorf(k.Pos, "GROUP BY takes expressions without aggregate functions")
		}
	}
	if err := p.group(keys); err != nil {
		return err
	}
	all, err := p.outputs(append(slices.Clone(s.Group), s.Columns...))
	if err != nil {
		return err
	}
	p.steps = append(p.steps, p.scope.groups.step())
	p.project(all)
	return nil
}

// extended compiles EXTEND, which adds columns.
func (p *Plan) extended(s *parse.Stage) error {
	added, err := p.outputs(s.Columns)
	if err != nil {
		return err
	}
	for i, o := range added {
		p.scope.named(slotName{o.name, o.expr.typ, p.scope.slots + i})
	}
	p.scope.slots += len(added)
	p.steps = append(p.steps, step{name: "extend " + strconv.Itoa(len(added)) + " columns", alone: true, run: func(_ *execution, next sink) sink {
		return sink{push: func(t *tuple) error {
			values, err := outputValues(added, t)
			if err != nil {
				return err
			}
			return next.push(&tuple{row: t.row, slots: append(slices.Clip(t.slots), values...), made: t.made, ctx: t.ctx})
		}, end: next.end}
	}})
	return nil
}

// maxChanged bounds the columns that a pipe changes.
const maxChanged = 1000

// renamed compiles SET, DROP and RENAME.
func (p *Plan) renamed(s *parse.Stage) error {
	all, err := p.star(parse.Column{Pos: s.Pos})
	if err != nil {
		return err
	}
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
	p.project(all)
	return nil
}

// distinct compiles the removal of repeated rows.
func (p *Plan) distinct(pos int) error {
	all, err := p.star(parse.Column{Pos: pos})
	if err != nil {
		return err
	}
	for _, o := range all {
		if !o.expr.typ.Groupable() {
			return p.Errorf(pos, "DISTINCT cannot compare values of type %s", o.expr.typ)
		}
	}
	files := !p.noFiles && !p.scope.table // rows of the table have different keys
	name := "distinct"
	if files {
		name += ", on disk beyond 96 MiB"
	}
	p.steps = append(p.steps, step{name: name, run: func(x *execution, next sink) sink {
		seen := keySet{x: x, room: math.MaxInt}
		if files {
			seen.room = groupMemory
		}
		return sink{push: func(t *tuple) error {
			values, err := outputValues(all, t)
			if err != nil {
				return err
			}
			if added, err := seen.add(t.slots, values); !added || err != nil {
				return err
			}
			return next.push(t)
		}, end: func() error {
			err := seen.rest(func(slots []any) error { return next.push(&tuple{slots: slots, ctx: x.ctx}) })
			if err := ended(err); err != nil {
				return err
			}
			return next.end()
		}}
	}})
	return nil
}

// limited compiles LIMIT and OFFSET.
func (p *Plan) limited(s *parse.Stage) error {
	limit, err := p.rowCount(s.Limit, "LIMIT")
	if err != nil {
		return err
	}
	offset, err := p.rowCount(s.Offset, "OFFSET")
	if err != nil {
		return err
	}
	p.steps = append(p.steps, step{name: "limit", run: func(x *execution, next sink) sink {
		first, end, err := bounds(limit, offset)
		rows := uint64(0)
		return sink{push: func(t *tuple) error {
			if err != nil {
				return err
			}
			if rows >= end {
				return errEnough
			}
			if rows++; rows <= first {
				return nil
			}
			return next.push(t)
		}, end: func() error {
			if err != nil {
				return err
			}
			return next.end()
		}}
	}})
	return nil
}
