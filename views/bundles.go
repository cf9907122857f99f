package views

import (
	"context"
	"slices"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server/internal/catalog"
	"github.com/smolwc/smolwc/sql"
	"github.com/smolwc/smolwc/sql/message"
)

// materialize looks up the names of a materialized view's query on its table.
func (v *Views) materialize(m *Materialized, declared schema.Table) (*sql.Materialized, error) {
	return m.query.WithBundles(v.Note(m.source.Stored).Bundle).Materialized(declared)
}

// UsersOf are the views that read a schema bundle of a table, by their full names.
func (v *Views) UsersOf(ctx context.Context, t wire.Table, bundle string) (names []string) {
	declared, ok := v.DB.NewestTable(ctx, t.Stored)
	if !ok {
		return nil
	}
	used := false
	bundles := func(id string) (*message.Bundle, bool, error) {
		used = used || id == bundle
		return v.Note(t.Stored).Bundle(id)
	}
	for name, m := range v.Materialized() {
		if used = false; m.source.Stored == t.Stored {
			_, _ = m.query.WithBundles(bundles).Materialized(declared) // a query that does not fit uses bundles too
		}
		if used {
			names = append(names, name)
		}
	}
	for name, m := range v.Logical() {
		used = false
		in, _, _ := wire.CutInstance(name)
		q, err := sql.Parse(m.GetQuery())
		if err != nil {
			continue
		}
		from, err := v.Resolve(in, q)
		if err == nil && from.Name.Stored == t.Stored && from.View == nil {
			_, _ = from.Query.WithBundles(bundles).Plan(declared, sql.Params{})
		}
		if used {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Remake makes the materialized views of a table anew if they read a schema bundle, which
// change replaces: the same bytes can be other messages then.
func (v *Views) Remake(ctx context.Context, t wire.Table, bundle string, change func() error) error {
	if len(v.Readers(t)) == 0 || len(v.UsersOf(ctx, t, bundle)) == 0 {
		return change()
	}
	k := v.keeper(t.Stored)
	if err := k.take(ctx, v); err != nil {
		return catalog.Status(ctx, err)
	}
	defer k.turn.Unlock()
	// Views without marks are made anew. A kill after the change must find none, and
	// another process may have made the views with the old bundle meanwhile.
	if err := v.unmark(ctx, t.Stored); err != nil {
		return catalog.Status(ctx, err)
	}
	if err := change(); err != nil {
		return err
	}
	return catalog.Status(ctx, v.unmark(ctx, t.Stored))
}
