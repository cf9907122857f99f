package views

import (
	"errors"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/smolwc/smolwc/internal/storedname"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql"
	"github.com/smolwc/smolwc/sql/run"
)

// A View is a query with a name.
type View struct {
	Name string // its id, which is not a table's in the instance
	// SQL is a query of a table, or of other views. A materialized view reads a table, and its
	// query does not change.
	SQL          string
	Materialized bool
	Protected    bool   // Drop refuses
	Instance     string // projects/P/instances/I; "" is the one whose tables have plain names
}

// A Table is a table, or a view, as clients and as the database name it.
type Table struct {
	Instance string // projects/P/instances/I
	ID       string
	Stored   string // the name in the database; "" without a table
}

// The kinds of views, which are segments of their names, and of the names of notes.
const (
	logicalKind      = "logicalViews"
	materializedKind = "materializedViews"
)

func kindOf(materialized bool) string {
	if materialized {
		return materializedKind
	}
	return logicalKind
}

// Full is the full name of a view: projects/P/instances/I/logicalViews/ID, or with
// materializedViews.
func (v View) Full() string { return v.Instance + "/" + kindOf(v.Materialized) + "/" + v.Name }

// cutName takes the full name of a view apart.
func cutName(full, kind string) (instance, id string, err error) {
	instance, id, ok := strings.Cut(full, "/"+kind+"/")
	if parts := strings.Split(instance, "/"); !ok || id == "" || strings.Contains(id, "/") || len(parts) != 4 || parts[0] != "projects" || parts[2] != "instances" {
		what := map[string]string{logicalKind: "a logical view", materializedKind: "a materialized view"}[kind]
		return "", "", refuse(query.KindInvalidArgument, "%q is not the name of %s: projects/P/instances/I/%s/ID", full, what, kind)
	}
	return instance, id, nil
}

// tableOf is where the database keeps the table of an instance: a table of the database's own
// instance keeps its plain name.
func tableOf(own, instance, id string) Table {
	t := Table{instance, id, id}
	if parts := strings.Split(instance, "/"); instance != own && len(parts) == 4 {
		t.Stored = storedname.Prefix(parts[1], parts[3]) + id
	}
	return t
}

// storedTable is the table with a name in the database.
func storedTable(own, stored string) Table {
	project, instance, id, ok := storedname.Cut(stored)
	if !ok {
		return Table{own, id, stored}
	}
	return Table{"projects/" + project + "/instances/" + instance, id, stored}
}

// The fields of a LogicalView and of a MaterializedView.
const (
	queryField     protowire.Number = 2
	protectedField protowire.Number = 6
)

// note is a view as the database keeps it.
func (v View) note() (b []byte) {
	if v.SQL != "" {
		b = protowire.AppendString(protowire.AppendTag(b, queryField, protowire.BytesType), v.SQL)
	}
	if v.Protected {
		b = protowire.AppendVarint(protowire.AppendTag(b, protectedField, protowire.VarintType), 1)
	}
	return b
}

// readNote reads the query of a view, and whether it is protected.
func (v *View) readNote(b []byte) error {
	return eachField(b, func(field protowire.Number, n uint64, content []byte) error {
		switch field {
		case queryField:
			v.SQL = string(content)
		case protectedField:
			v.Protected = n != 0
		}
		return nil
	})
}

// definitions are replaced as a whole.
type definitions struct {
	logical      map[string]View          // by their full names
	materialized map[string]*Materialized // by their full names
	notes        map[string]*tableNote    // by the tables' names in the database
	version      uint64                   // of the schema when they were read
}

// A Materialized is the definition of a materialized view. It is not changed.
type Materialized struct {
	view   View
	query  *sql.Query
	stored string // the name of such a table in the database
	from   Table  // the table of the query
}

// note returns a table's note, never nil.
func (d *definitions) note(stored string) *tableNote {
	if n := d.notes[stored]; n != nil {
		return n
	}
	return &tableNote{}
}

// text is the query of a logical view.
func (d *definitions) text(instance, name string) (string, bool) {
	view, ok := d.logical[View{Instance: instance, Name: name}.Full()]
	return view.SQL, ok
}

// materialize looks up the names of a materialized view's query on its table.
func (d *definitions) materialize(m *Materialized, declared schema.Table) (*run.View, error) {
	return m.query.Of(m.query.Table(), sql.Source{Table: declared, Bundles: d.note(m.from.Stored).bundle}).Materialized()
}

// rows is the table with the rows of a materialized view.
func (m *Materialized) rows() Table {
	return Table{m.view.Instance, m.view.Name, rowsOf(m.stored)}
}

func stateOf(stored string) string { return schema.DerivedName("state", stored) }
func rowsOf(stored string) string  { return schema.DerivedName("rows", stored) }

// failed is the error of a view that cannot be brought up to date.
func (m *Materialized) failed(err error) error {
	var own *Refusal
	switch {
	case errors.As(err, &own):
		return err
	case errors.Is(err, query.ErrReadOnly):
		return refuse(query.KindFailedPrecondition, "materialized view %s has not taken over the last writes of table %s, and cannot where the database is only read: query it once where the database is open for writing, or with --addr through the server that has it open", m.view.Name, m.from.ID)
	}
	return refuse(kindOfError(err), "materialized view %s: %w", m.view.Name, err)
}

func (m *Materialized) tableIsGone() error {
	return refuse(query.KindFailedPrecondition, "materialized view %s: the table %s that it reads does not exist", m.view.Name, m.from.ID)
}

func (m *Materialized) doesNotFit(err error) error {
	return refuse(query.KindFailedPrecondition, "materialized view %s: its query no longer fits the table %s: %v", m.view.Name, m.from.ID, err)
}
