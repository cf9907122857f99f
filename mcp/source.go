package mcp

import (
	"context"
	"errors"
	"iter"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql"
	"github.com/smolwc/smolwc/views"
)

// An entry is a table or view.
type entry struct {
	name, kind string
	table      *schema.Table // nil: a view
	sql        string        // of a view
}

const (
	tableKind        = "table"
	logicalKind      = "logical view"
	materializedKind = "materialized view"
)

// A source is a database at hand, or one over the network.
type source interface {
	list(ctx context.Context) ([]entry, error)
	// query plans and judges a query. With explain it is neither judged nor run.
	query(ctx context.Context, q *sql.Query, text string, b sql.Budget, explain bool) (*answer, error)
	rows(ctx context.Context, table string, opts ...read.Option) iter.Seq2[*query.Row, error]
	apply(ctx context.Context, b *write.Batch) error
}

// An answer is a query within its budget.
type answer struct {
	*sql.Result // nil: it is only explained
	estimate    sql.Amount
	steps       []string
	spent       func() (sql.Amount, bool) // so far, if that is known
}

// here is a database at hand.
type here struct {
	db    *query.DB
	views *views.Views
}

func newHere(db *query.DB) *here { return &here{db, views.Of(db)} }

func (h *here) list(ctx context.Context) (all []entry, err error) {
	if err := h.db.Refresh(ctx); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, err
	}
	of := h.db.Schema()
	for i := range of.Tables {
		if t := &of.Tables[i]; !schema.IsDerived(t.Name) {
			all = append(all, entry{name: t.Name, kind: tableKind, table: t})
		}
	}
	err = h.views.Each(ctx, func(v views.View) bool {
		kind := logicalKind
		if v.Materialized {
			kind = materializedKind
		}
		all = append(all, entry{name: v.Name, kind: kind, sql: v.SQL})
		return true
	})
	return all, err
}

func (h *here) query(ctx context.Context, q *sql.Query, _ string, budget sql.Budget, explain bool) (*answer, error) {
	b, err := h.views.Bounded(ctx, q, budget)
	if b == nil || err != nil && !explain {
		return nil, err
	}
	a := &answer{Result: b.Result, estimate: b.Estimate}
	if explain {
		if err != nil && query.KindOf(err) != query.KindResourceExhausted {
			return nil, err
		}
		a.Result = nil
		a.steps, err = b.Plan.Explanation(ctx)
		return a, err
	}
	a.spent = func() (sql.Amount, bool) { return b.Meter.Spent(), true }
	return a, nil
}

func (h *here) rows(ctx context.Context, table string, opts ...read.Option) iter.Seq2[*query.Row, error] {
	return h.db.Table(table).ReadRows(ctx, opts...)
}

func (h *here) apply(ctx context.Context, b *write.Batch) error { return h.db.Apply(ctx, b) }
