package mcp

import (
	"context"
	"iter"

	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/sql"
)

// there is a database over the network, whose server judges queries.
type there struct{ c *client.Client }

func (t *there) list(ctx context.Context) (all []entry, err error) {
	if err := t.c.Refresh(ctx); err != nil {
		return nil, err
	}
	of := t.c.Schema()
	for i := range of.Tables {
		all = append(all, entry{name: of.Tables[i].Name, kind: tableKind, table: &of.Tables[i]})
	}
	err = t.c.EachView(ctx, func(name, text string, materialized bool) bool {
		kind := logicalKind
		if materialized {
			kind = materializedKind
		}
		all = append(all, entry{name: name, kind: kind, sql: text})
		return true
	})
	if query.KindOf(err) == query.KindFailedPrecondition { // the token has no right to them, or this is no server with views
		err = nil
	}
	return all, err
}

func (t *there) query(ctx context.Context, _ *sql.Query, text string, b sql.Budget, explain bool) (*answer, error) {
	if explain {
		text = "EXPLAIN " + text
	}
	res, estimate, err := t.c.QueryWithin(ctx, text, b)
	if err != nil {
		return nil, err
	}
	a := &answer{Result: res, estimate: estimate, spent: func() (sql.Amount, bool) { return sql.Amount{}, false }}
	if !explain {
		return a, nil
	}
	for row, err := range res.Rows {
		if err != nil {
			return nil, err
		}
		line, _ := row[0].(string)
		a.steps = append(a.steps, line)
	}
	a.Result = nil
	return a, nil
}

func (t *there) rows(ctx context.Context, table string, opts ...read.Option) iter.Seq2[*query.Row, error] {
	return t.c.Table(table).ReadRows(ctx, opts...)
}

func (t *there) apply(ctx context.Context, b *write.Batch) error { return t.c.Apply(ctx, b) }
