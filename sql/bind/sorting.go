package bind

import (
	"strconv"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
)

// compileOrders compiles the expressions of ORDER BY, in which names are first those of the
// columns of the result. They are nil when projected columns are ordered.
func compileOrders(p *planner, s *parse.Stage, projected bool) (all []*expr, err error) {
	if projected {
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
		e, err := p.orderable(n)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

func (p *planner) orderable(n *parse.Node) (*expr, error) {
	e, err := p.compile(n)
	if err == nil && !e.typ.Comparable() {
		err = p.Errorf(n.Pos, "rows cannot be ordered by %s", e.typ)
	}
	return e, err
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

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
