package views

import (
	"context"
	"slices"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql"
	"github.com/smolwc/smolwc/sql/run"
)

// A From is the sources of the rows of a query.
type From struct {
	Parsed *sql.Query // without logical views
	Reads  []Read     // in the order of the text

	written []string // the names in the text itself, not those in the queries of views
}

// A Read is a table or a materialized view that a query reads.
type Read struct {
	Name  string        // in the query
	Table Table         // which View reads, if there is one
	View  *Materialized // nil if the rows are in a table
}

// Stored are the names in the database of the tables that a query reads, through views.
func (f From) Stored() (names []string) {
	for _, r := range f.Reads {
		names = append(names, r.Table.Stored)
	}
	return names
}

// Resolve finds the tables and the materialized views that a query of an instance reads,
// through logical views.
func (v *Views) Resolve(ctx context.Context, instance string, q *sql.Query) (From, error) {
	d, err := v.current(ctx)
	if err != nil {
		return From{}, err
	}
	return v.resolve(d, instance, q, func(view string) (string, bool) { return d.text(instance, view) })
}

func (v *Views) resolve(d *definitions, instance string, q *sql.Query, text func(view string) (string, bool)) (From, error) {
	written := q.Tables()
	q, err := q.Expand(func(name string) (string, bool) {
		if _, ok := v.db.LookupTable(tableOf(v.own, instance, name).Stored); ok {
			return "", false
		}
		return text(name)
	})
	if err != nil {
		return From{}, err
	}
	f := From{Parsed: q, written: written}
	for _, name := range q.Tables() {
		r := Read{Name: name, Table: tableOf(v.own, instance, name)}
		if _, ok := v.db.LookupTable(r.Table.Stored); !ok {
			if r.View = d.materialized[View{Instance: instance, Name: name, Materialized: true}.Full()]; r.View != nil {
				r.Table = r.View.from
			}
		}
		f.Reads = append(f.Reads, r)
	}
	return f, nil
}

// A Statement is a query, and its sources.
type Statement struct {
	Parsed *sql.Query // that can be planned, with the zero table
	Reads  []Opened

	views *Views
}

// An Opened is a table with rows that a query reads.
type Opened struct {
	Name     string       // in the query
	Table    Table        // with the rows
	View     bool         // the rows are in a materialized view
	Declared schema.Table // of a table

	view *Materialized
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
	st := &Statement{Parsed: from.Parsed, views: v}
	d, err := v.current(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range from.Reads {
		note := d.note(r.Table.Stored)
		of := sql.Source{RowKeys: note.rowKeys, Bundles: note.bundle}
		opened := Opened{Name: r.Name, Table: r.Table, view: r.View}
		if r.View != nil {
			m, err := v.columns(ctx, r.View)
			if err != nil {
				return nil, err
			}
			of.View, of.RowKeys = m.Plan(), nil
			opened.Table, opened.View = r.View.rows(), true
		} else {
			declared, ok := v.db.Plumbing().NewestTable(ctx, r.Table.Stored)
			if !ok || schema.IsDerived(r.Table.Stored) {
				return nil, v.gone(ctx, from, r)
			}
			of.Table, opened.Declared = declared, declared
		}
		st.Parsed = st.Parsed.Of(r.Name, of)
		st.Reads = append(st.Reads, opened)
	}
	return st, nil
}

// CatchUp waits until the materialized views that the query reads include all rows written
// before. With the hint allow_incomplete_view it does not wait for the first reading of a
// view's table.
func (s *Statement) CatchUp(ctx context.Context) error {
	for _, r := range s.Reads {
		if r.view == nil {
			continue
		}
		if err := s.views.catchUp(ctx, r.view, s.Parsed.Incomplete()); err != nil {
			return err
		}
	}
	return nil
}

// gone says that a table of a query does not exist, and which view reads it.
func (v *Views) gone(ctx context.Context, from From, r Read) error {
	if through := from.Parsed.Through(); len(through) > 0 && !slices.Contains(from.written, r.Name) {
		return refuse(query.KindFailedPrecondition, "logical view %s: the table %s that it reads does not exist", through[len(through)-1], r.Table.ID)
	}
	return from.Parsed.TableNotFound(r.Name, v.names(ctx, r.Table.Instance))
}

// columns looks up the columns of a materialized view.
func (v *Views) columns(ctx context.Context, m *Materialized) (*run.View, error) {
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
	if err := v.catchUp(ctx, m, false); err != nil {
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
	return v.catchUp(ctx, m, false)
}
