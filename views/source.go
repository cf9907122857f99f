package views

import (
	"context"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql"
)

// A From is the source of the rows of a query.
type From struct {
	Parsed *sql.Query    // without logical views
	Table  Table         // which View reads, if there is one; zero without a table
	View   *Materialized // nil if the rows are in a table
}

// Resolve finds the table or the materialized view that a query of an instance reads,
// through logical views.
func (v *Views) Resolve(ctx context.Context, instance string, q *sql.Query) (From, error) {
	d, err := v.current(ctx)
	if err != nil {
		return From{}, err
	}
	return v.resolve(d, instance, q, func(view string) (string, bool) { return d.text(instance, view) })
}

func (v *Views) resolve(d *definitions, instance string, q *sql.Query, text func(view string) (string, bool)) (From, error) {
	q, err := q.Expand(func(name string) (string, bool) {
		if _, ok := v.db.LookupTable(tableOf(v.own, instance, name).Stored); ok {
			return "", false
		}
		return text(name)
	})
	if err != nil {
		return From{}, err
	}
	f := From{Parsed: q}
	if q.Table() == "" {
		return f, nil
	}
	f.Table = tableOf(v.own, instance, q.Table())
	if _, ok := v.db.LookupTable(f.Table.Stored); !ok {
		if f.View = d.materialized[View{Instance: instance, Name: q.Table(), Materialized: true}.Full()]; f.View != nil {
			f.Table = f.View.from
			f.Parsed = q.WithBundles(d.note(f.Table.Stored).bundle)
			return f, nil
		}
	}
	note := d.note(f.Table.Stored)
	f.Parsed = q.WithRowKeys(note.rowKeys).WithBundles(note.bundle)
	return f, nil
}

// A Statement is a query, and its sources.
type Statement struct {
	Parsed   *sql.Query   // that can be planned
	Declared schema.Table // the declaration to plan it with
	Table    Table        // with the rows that it reads; zero without a table
	View     bool         // the rows are in a materialized view

	views *Views
	view  *Materialized
}

// Prepare finds the sources of a query of an instance.
func (v *Views) Prepare(ctx context.Context, instance string, q *sql.Query) (*Statement, error) {
	from, err := v.Resolve(ctx, instance, q)
	if err != nil {
		return nil, err
	}
	return v.open(ctx, from)
}

func (v *Views) open(ctx context.Context, from From) (*Statement, error) {
	switch {
	case from.Table.Stored == "":
		return &Statement{Parsed: from.Parsed, views: v}, nil
	case from.View != nil:
		m, err := v.columns(ctx, from.View)
		if err != nil {
			return nil, err
		}
		return &Statement{Parsed: from.Parsed.OfView(m), Table: from.View.rows(), View: true, views: v, view: from.View}, nil
	}
	declared, ok := v.db.Plumbing().NewestTable(ctx, from.Table.Stored)
	if !ok || schema.IsDerived(from.Table.Stored) {
		return nil, v.gone(ctx, from)
	}
	return &Statement{Parsed: from.Parsed, Declared: declared, Table: from.Table, views: v}, nil
}

// CatchUp waits until the materialized view that the query reads, if it reads one,
// includes all rows written before.
func (s *Statement) CatchUp(ctx context.Context) error {
	if s.view == nil {
		return nil
	}
	return s.views.catchUp(ctx, s.view)
}

// gone says that the table of a query does not exist, and which view reads it.
func (v *Views) gone(ctx context.Context, from From) error {
	if through := from.Parsed.Through(); len(through) > 0 {
		return refuse(query.KindFailedPrecondition, "logical view %s: the table %s that it reads does not exist", through[len(through)-1], from.Table.ID)
	}
	return from.Parsed.TableNotFound(v.names(ctx, from.Table.Instance))
}

// columns looks up the columns of a materialized view.
func (v *Views) columns(ctx context.Context, m *Materialized) (*sql.Materialized, error) {
	declared, ok := v.db.Plumbing().NewestTable(ctx, m.from.Stored)
	if !ok {
		return nil, m.tableIsGone()
	}
	d, err := v.current(ctx)
	if err != nil {
		return nil, err
	}
	q, err := d.materialize(m, declared)
	if err != nil {
		return nil, m.doesNotFit(err)
	}
	return q, nil
}

// Rows is the table with the rows of the materialized view of a full name, and the families
// in it that users see. All rows that were written before the call are in it.
func (v *Views) Rows(ctx context.Context, full string) (t Table, families []string, err error) {
	if _, _, err := cutName(full, materializedKind); err != nil {
		return t, nil, err
	}
	d, err := v.current(ctx)
	if err != nil {
		return t, nil, err
	}
	m := d.materialized[full]
	if m == nil {
		return t, nil, NotFound(full)
	}
	if err := v.catchUp(ctx, m); err != nil {
		return t, nil, err
	}
	q, err := v.columns(ctx, m)
	if err != nil {
		return t, nil, err
	}
	return m.rows(), q.Families(), nil
}

// CatchUp waits until a materialized view, given by its instance and name, includes all
// rows written before.
func (v *Views) CatchUp(ctx context.Context, view View) error {
	d, err := v.current(ctx)
	if err != nil {
		return named("views", err)
	}
	view.Materialized = true
	m := d.materialized[v.full(view)]
	if m == nil {
		return NotFound(v.full(view))
	}
	return v.catchUp(ctx, m)
}
