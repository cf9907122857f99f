package views

import (
	"context"
	"slices"

	"github.com/smolwc/smolwc/sql"
	"github.com/smolwc/smolwc/sql/message"
)

// UsersOf returns the full names of the views that read a schema bundle of a table, given
// by its name in the database.
func (v *Views) UsersOf(ctx context.Context, stored, bundle string) (names []string) {
	declared, ok := v.db.Plumbing().NewestTable(ctx, stored)
	d, err := v.current(ctx)
	if !ok || err != nil {
		return nil
	}
	used := false
	bundles := func(id string) (*message.Bundle, bool, error) {
		used = used || id == bundle
		return d.note(stored).bundle(id)
	}
	for full, m := range d.materialized {
		if used = false; m.from.Stored == stored {
			_, _ = m.query.Of(m.query.Table(), sql.Source{Table: declared, Bundles: bundles}).Materialized() // a query that does not fit uses bundles too
		}
		if used {
			names = append(names, full)
		}
	}
	for full, view := range d.logical {
		used = false
		q, err := sql.ParseView(view.SQL)
		if err != nil {
			continue
		}
		from, err := v.Resolve(ctx, view.Instance, q)
		if err != nil {
			continue
		}
		st, err := v.open(ctx, from)
		if err != nil {
			continue
		}
		for _, r := range st.Reads {
			if r.Table.Stored == stored {
				_, _ = st.Parsed.Of(r.Name, sql.Source{Table: declared, RowKeys: d.note(stored).rowKeys, Bundles: bundles}).Plan(sql.Params{})
			}
		}
		if used {
			names = append(names, full)
		}
	}
	slices.Sort(names)
	return names
}

// Remake makes the materialized views of a table, given by its name in the database, anew if
// they read a schema bundle, which change replaces: the same bytes can be other messages then.
func (v *Views) Remake(ctx context.Context, stored, bundle string, change func() error) error {
	if len(v.Readers(stored)) == 0 || len(v.UsersOf(ctx, stored, bundle)) == 0 {
		return change()
	}
	k := v.keeper(stored)
	if err := k.turn.Lock(ctx); err != nil {
		return err
	}
	defer k.turn.Unlock()
	// Views without marks are made anew. A kill after the change must find none, and
	// another process may have made the views with the old bundle meanwhile.
	if err := v.unmark(ctx, stored); err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	return v.unmark(ctx, stored)
}
