package views

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/sql"
)

// A registry holds the definitions of the views of an open database, and what queries need
// of the notes of its tables.
type registry struct {
	db     *query.DB
	own    string // the instance whose tables have plain names
	origin string // the same, as notes name it
	known  atomic.Pointer[definitions]
	logger atomic.Pointer[slog.Logger] // of [Views.Keep]

	loading sync.Mutex // held while the definitions are read and put in place
}

// ready is the error of a call that cannot work.
func (v *registry) ready(ctx context.Context) error {
	if v == nil || v.db == nil || ctx == nil {
		return refuse(query.KindInvalidArgument, "there is no database, or no context")
	}
	return nil
}

// Reload reads the definitions again: another process may have changed them.
func (v *registry) Reload(ctx context.Context) error {
	if err := v.ready(ctx); err != nil {
		return err
	}
	v.loading.Lock()
	defer v.loading.Unlock()
	d := &definitions{map[string]View{}, map[string]*Materialized{}, map[string]*tableNote{}, v.db.Plumbing().SchemaVersion()}
	for _, kind := range []string{logicalKind, materializedKind} {
		notes, err := v.db.Plumbing().Notes(ctx, kind+"/")
		if err != nil {
			return err
		}
		for key, b := range notes {
			if err := v.read(d, kind, strings.TrimPrefix(key, kind+"/"), b); err != nil {
				return fmt.Errorf("the note %s is damaged: %w", key, err)
			}
		}
	}
	notes, err := v.db.Plumbing().TableNotes(ctx)
	if err != nil {
		return err
	}
	old := v.known.Load().notes
	for stored, b := range notes {
		if same := old[stored]; same != nil && string(same.raw) == string(b) {
			d.notes[stored] = same // and its bundles
		} else if d.notes[stored], err = readTableNote(b); err != nil {
			return fmt.Errorf("the note of table %s is damaged: %w", stored, err)
		}
	}
	v.known.Store(d)
	return nil
}

func (v *registry) read(d *definitions, kind, full string, b []byte) (err error) {
	view := View{Materialized: kind == materializedKind}
	if view.Instance, view.Name, err = cutName(full, kind); err != nil {
		return err
	}
	if err := view.readNote(b); err != nil {
		return err
	}
	if view.Instance == v.origin {
		view.Instance = v.own
	}
	if !view.Materialized {
		d.logical[view.Full()] = view
		return nil
	}
	d.materialized[view.Full()], err = v.define(view)
	return err
}

// define is the definition of a materialized view.
func (v *registry) define(view View) (*Materialized, error) {
	q, err := sql.Parse(view.SQL)
	if err != nil {
		return nil, err
	}
	return &Materialized{view, q, tableOf(v.own, view.Instance, view.Name).Stored, tableOf(v.own, view.Instance, q.Table())}, nil
}

// current are the definitions and the notes of tables, as of the schema in force.
func (v *registry) current(ctx context.Context) (*definitions, error) {
	if err := v.ready(ctx); err != nil {
		return nil, err
	}
	if d := v.known.Load(); d.logical != nil && d.version == v.db.Plumbing().SchemaVersion() {
		return d, nil
	}
	err := v.Reload(ctx)
	return v.known.Load(), err
}

// All are the views: first the logical ones, each kind sorted by their full names.
func (v *registry) All() (all []View) {
	d := v.known.Load()
	for _, full := range slices.Sorted(maps.Keys(d.logical)) {
		all = append(all, d.logical[full])
	}
	for _, full := range slices.Sorted(maps.Keys(d.materialized)) {
		all = append(all, d.materialized[full].view)
	}
	return all
}

// Get is the view with the instance, the name and the kind of another one. ok is false if
// there is no such view.
func (v *registry) Get(like View) (view View, ok bool) {
	d := v.known.Load()
	if !like.Materialized {
		view, ok = d.logical[v.full(like)]
		return view, ok
	}
	m := d.materialized[v.full(like)]
	if m == nil {
		return View{}, false
	}
	return m.view, true
}

// full is the full name of a view.
func (v *registry) full(view View) string {
	if view.Instance == "" {
		view.Instance = v.own
	}
	return view.Full()
}

// Taken reports whether the name is a view's in the instance.
func (v *registry) Taken(instance, name string) bool {
	_, logical := v.Get(View{Instance: instance, Name: name})
	_, materialized := v.Get(View{Instance: instance, Name: name, Materialized: true})
	return logical || materialized
}

// Readers returns the full names of the materialized views that read a table, given by its
// name in the database.
func (v *registry) Readers(stored string) (names []string) {
	for full, m := range v.known.Load().materialized {
		if m.from.Stored == stored {
			names = append(names, full)
		}
	}
	slices.Sort(names)
	return names
}

// Source is the table that a materialized view reads.
func (v *registry) Source(full string) (t Table, ok bool) {
	m := v.known.Load().materialized[full]
	if m == nil {
		return t, false
	}
	return m.from, true
}
