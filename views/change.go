package views

import (
	"context"
	"regexp"
	"strings"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql"
)

// The bounds of views.
const (
	maxName  = 128      // characters, as in Bigtable
	maxQuery = 64 << 10 // bytes
	maxViews = 1000     // of each kind, in the database
)

var nameForm = regexp.MustCompile(`^[_a-zA-Z0-9][-_.a-zA-Z0-9]*$`)

// Create defines a view. The rows of a materialized view are there when it is first
// read, or once [Views.Keep] has read the table: see [Views.CatchUp].
func (v *Views) Create(ctx context.Context, view View) error {
	return v.change(ctx, "create view "+view.Name, func() error {
		if view.Instance == "" {
			view.Instance = v.own
		}
		if err := v.checkNew(view); err != nil {
			return err
		}
		if view.Materialized {
			return v.createMaterialized(ctx, view)
		}
		if err := v.check(ctx, view); err != nil {
			return err
		}
		return v.setNote(ctx, view, view.note())
	})
}

// change makes a change of definitions, on the newest ones, while there is no other change.
func (v *Views) change(ctx context.Context, op string, do func() error) error {
	if err := v.ready(ctx); err != nil {
		return named(op, err)
	}
	if err := v.changing.Lock(ctx); err != nil {
		return named(op, refuse(kindOfError(err), "%w", err))
	}
	defer v.changing.Unlock()
	if err := v.Reload(ctx); err != nil {
		return named(op, err)
	}
	return named(op, do())
}

// checkNew checks what is common to new views.
func (v *Views) checkNew(view View) error {
	if err := checkName(view.Name); err != nil {
		return err
	}
	if v.Taken(view.Instance, view.Name) {
		name := view.Name
		if view.Instance != v.own {
			name = view.Instance + "/…/" + name
		}
		return refuse(query.KindAlreadyExists, "a view %q already exists", name)
	}
	if _, ok := v.db.LookupTable(tableOf(v.own, view.Instance, view.Name).Stored); ok {
		return refuse(query.KindAlreadyExists, "%q is a table; queries could not tell a view of this name from it", view.Name)
	}
	if d := v.known.Load(); len(d.logical) >= maxViews || len(d.materialized) >= maxViews {
		return refuse(query.KindFailedPrecondition, "the database has %d views; it may have up to %d", maxViews, maxViews)
	}
	return checkQuery(view.SQL)
}

func checkName(name string) error {
	if len(name) > maxName {
		return refuse(query.KindInvalidArgument, "view id %q… has %d characters; it may have up to %d", name[:20], len(name), maxName)
	}
	if !nameForm.MatchString(name) {
		return refuse(query.KindInvalidArgument, "view id %q is not %s", name, nameForm)
	}
	return nil
}

func checkQuery(text string) error {
	if strings.TrimSpace(text) == "" {
		return refuse(query.KindInvalidArgument, "the view has no query")
	}
	if len(text) > maxQuery {
		return refuse(query.KindInvalidArgument, "the query of the view has %d bytes; it may have up to %d", len(text), maxQuery)
	}
	return nil
}

// setNote keeps the definition of a view; nil removes it.
func (v *Views) setNote(ctx context.Context, view View, note []byte) error {
	if view.Instance == "" || view.Instance == v.own {
		view.Instance = v.origin
	}
	if err := v.db.Plumbing().SetNote(ctx, kindOf(view.Materialized)+"/"+v.full(view), note); err != nil {
		return err
	}
	return v.Reload(ctx)
}

// check refuses the query of a logical view that could not be run now.
func (v *Views) check(ctx context.Context, view View) error {
	q, err := sql.ParseView(view.SQL)
	if err != nil {
		return err
	}
	d := v.known.Load()
	from, err := v.resolve(d, view.Instance, q, func(name string) (string, bool) {
		if name == view.Name {
			return view.SQL, true
		}
		return d.text(view.Instance, name)
	})
	if err != nil {
		return err
	}
	if len(from.Reads) == 0 {
		return refuse(query.KindInvalidArgument, "the query of the view has no table")
	}
	st, err := v.open(ctx, from)
	if err != nil {
		return err
	}
	_, err = st.Parsed.Plan(sql.Params{})
	return err
}

func (v *Views) createMaterialized(ctx context.Context, view View) error {
	def, err := v.define(view)
	if err != nil {
		return err
	}
	declared, ok := v.db.Plumbing().NewestTable(ctx, def.from.Stored)
	if !ok || schema.IsDerived(def.from.Stored) {
		if v.Taken(def.from.Instance, def.from.ID) {
			return refuse(query.KindInvalidArgument, "a materialized view reads a table, and %s is a view", def.from.ID)
		}
		return def.query.TableNotFound(def.from.ID, v.names(ctx, def.from.Instance))
	}
	d, err := v.current(ctx)
	if err != nil {
		return err
	}
	if _, err := d.materialize(def, declared); err != nil {
		return err
	}
	if err := v.dropTables(ctx, def); err != nil { // left by a delete that was interrupted
		return err
	}
	return v.setNote(ctx, view, view.note())
}

// Alter changes the query of a logical view, or the protection of a view: the view with
// the instance, the name and the kind becomes the given one.
func (v *Views) Alter(ctx context.Context, view View) error {
	return v.change(ctx, "change view "+view.Name, func() error {
		if view.Instance == "" {
			view.Instance = v.own
		}
		old, ok := v.Get(view)
		switch {
		case !ok:
			return v.noView(view)
		case old.SQL == view.SQL: // a view whose table is gone can still lose its protection
		case view.Materialized:
			return refuse(query.KindInvalidArgument, "the query of a materialized view cannot be changed; delete the view and create it again")
		default:
			if err := checkQuery(view.SQL); err != nil {
				return err
			}
			if err := v.check(ctx, view); err != nil {
				return err
			}
		}
		return v.setNote(ctx, view, view.note())
	})
}

func (v *Views) noView(view View) error {
	if view.Materialized {
		return NotFound(v.full(view))
	}
	return refuse(query.KindNotFound, "logical view %q not found", v.full(view))
}

// Drop drops the view with the instance, the name and the kind of the given one, and the rows
// of a materialized view. Queries of it that are under way end, or fail.
func (v *Views) Drop(ctx context.Context, view View) error {
	return v.change(ctx, "drop view "+view.Name, func() error {
		old, ok := v.Get(view)
		switch {
		case !ok:
			return v.noView(view)
		case old.Protected:
			return refuse(query.KindFailedPrecondition, "view %q is protected from deletion", old.Full())
		case !view.Materialized:
			return v.setNote(ctx, view, nil)
		}
		return v.dropMaterialized(ctx, old)
	})
}

// dropMaterialized removes a materialized view and its rows. The last view of a table ends
// its marks.
func (v *Views) dropMaterialized(ctx context.Context, view View) error {
	m := v.known.Load().materialized[view.Full()]
	k := v.keeper(m.from.Stored)
	if err := k.turn.Lock(ctx); err != nil {
		return refuse(kindOfError(err), "%w", err)
	}
	defer k.turn.Unlock()
	if err := v.setNote(ctx, view, nil); err != nil {
		return err
	}
	delete(k.live, view.Full())
	if err := v.dropTables(ctx, m); err != nil {
		return err
	}
	k.forget()
	if len(v.Readers(m.from.Stored)) > 0 {
		return nil
	}
	k.behind.Store(0)
	return v.unmark(ctx, m.from.Stored)
}

// Clear drops all views, protected or not.
func (v *Views) Clear(ctx context.Context) error {
	return v.change(ctx, "drop all views", func() error {
		for _, view := range v.All() {
			var err error
			if view.Materialized {
				err = v.dropMaterialized(ctx, view)
			} else {
				err = v.setNote(ctx, view, nil)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
