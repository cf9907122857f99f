// Package views has the logical and the materialized views of a database: their
// definitions, which are notes of the database, and the keepers that make the rows of
// materialized views follow those of their tables. Decision record 46 has the design.
package views

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server/internal/access"
	"github.com/smolwc/smolwc/server/internal/catalog"
	"github.com/smolwc/smolwc/sql"
)

// Views are the views of a database. They are safe for concurrent use.
type Views struct {
	*catalog.Catalog
	logger *slog.Logger
	known  atomic.Pointer[definitions]

	loading sync.Mutex // held while the definitions are read and put in place
	keepers *keepers
}

// definitions are replaced as a whole.
type definitions struct {
	logical      map[string]*adminpb.LogicalView // by their full names
	materialized map[string]*Materialized        // by their full names
	version      uint64                          // of the schema when they were read
}

// A Materialized is the definition of a materialized view. It is not changed.
type Materialized struct {
	Message *adminpb.MaterializedView
	query   *sql.Query
	id      string
	stored  string     // what a table of this id would be called in the database
	source  wire.Table // the table of the query
}

// The kinds of the segments before the ids of views, and of the notes.
const (
	logicalKind      = "logicalViews"
	materializedKind = "materializedViews"
)

// Open reads the views of a database.
func Open(ctx context.Context, c *catalog.Catalog, logger *slog.Logger) (*Views, error) {
	v := &Views{Catalog: c, logger: logger, keepers: keepersOf(c)}
	return v, v.Reload(ctx)
}

// Reload reads the definitions again: another process may have changed them.
func (v *Views) Reload(ctx context.Context) error {
	v.loading.Lock()
	defer v.loading.Unlock()
	d := &definitions{map[string]*adminpb.LogicalView{}, map[string]*Materialized{}, v.DB.SchemaVersion()}
	for _, kind := range []string{logicalKind, materializedKind} {
		notes, err := v.DB.Notes(ctx, kind+"/")
		if err != nil {
			return err
		}
		for key, b := range notes {
			if err := v.read(d, kind, strings.TrimPrefix(key, kind+"/"), b); err != nil {
				return fmt.Errorf("the note %s is damaged: %w", key, err)
			}
		}
	}
	v.known.Store(d)
	return nil
}

func (v *Views) read(d *definitions, kind, name string, b []byte) error {
	if kind == logicalKind {
		d.logical[name] = new(adminpb.LogicalView)
		return proto.Unmarshal(b, d.logical[name])
	}
	m := new(adminpb.MaterializedView)
	if err := proto.Unmarshal(b, m); err != nil {
		return err
	}
	def, err := v.define(name, m)
	d.materialized[name] = def
	return err
}

// define is the definition of a materialized view by its message.
func (v *Views) define(name string, m *adminpb.MaterializedView) (*Materialized, error) {
	in, id, err := wire.ParseChild(name, materializedKind, "a materialized view")
	if err != nil {
		return nil, err
	}
	q, err := sql.Parse(m.GetQuery())
	if err != nil {
		return nil, queryStatus(err)
	}
	return &Materialized{m, q, id, v.Own.Table(in, id).Stored, v.Own.Table(in, q.Table())}, nil
}

func queryStatus(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	return wire.Invalid("%s", err)
}

// Logical are the logical views, by their full names. The map is not changed.
func (v *Views) Logical() map[string]*adminpb.LogicalView { return v.known.Load().logical }

// Materialized are the materialized views, by their full names. The map is not changed.
func (v *Views) Materialized() map[string]*Materialized { return v.known.Load().materialized }

// SetLogical keeps a logical view; nil removes it. The caller prevents other changes of
// definitions meanwhile.
func (v *Views) SetLogical(ctx context.Context, name string, m *adminpb.LogicalView) error {
	if m == nil {
		return v.setNote(ctx, logicalKind, name, nil)
	}
	return v.setNote(ctx, logicalKind, name, m)
}

func (v *Views) setNote(ctx context.Context, kind, name string, m proto.Message) (err error) {
	var b []byte
	if m != nil {
		if b, err = proto.Marshal(m); err != nil {
			return err
		}
	}
	if err := v.DB.SetNote(ctx, kind+"/"+name, b); err != nil {
		return catalog.Status(ctx, err)
	}
	return v.Reload(ctx)
}

// Check refuses the query of a logical view that could not be run now.
func (v *Views) Check(ctx context.Context, name, text string) error {
	in, id, err := wire.ParseChild(name, logicalKind, "a logical view")
	if err != nil {
		return err
	}
	q, err := sql.Parse(text)
	if err != nil {
		return queryStatus(err)
	}
	from, err := v.resolve(in, q, func(view string) (string, bool) {
		if view == id {
			return text, true
		}
		return v.text(in, view)
	})
	if err != nil {
		return err
	}
	if from.Name.Stored == "" {
		return wire.Invalid("the query of the view has no table")
	}
	if from.View != nil {
		m, err := v.columns(ctx, from.View)
		if err != nil {
			return err
		}
		_, err = from.Query.OfView(m).Plan(schema.Table{}, sql.Params{})
		return queryStatus(err)
	}
	declared, err := v.Declared(ctx, from)
	if err != nil {
		return err
	}
	_, err = from.Query.Plan(declared, sql.Params{})
	return queryStatus(err)
}

func (v *Views) text(in wire.Instance, view string) (string, bool) {
	m, ok := v.Logical()[in.String()+"/"+logicalKind+"/"+view]
	return m.GetQuery(), ok
}

// A From is the source of the rows of a query.
type From struct {
	Query *sql.Query    // without logical views
	Name  wire.Table    // the table; that of View if there is one; zero without a table
	View  *Materialized // nil if the rows are those of a table
}

// Resolve finds the table or the materialized view that a query of an instance reads,
// through logical views.
func (v *Views) Resolve(in wire.Instance, q *sql.Query) (From, error) {
	return v.resolve(in, q, func(view string) (string, bool) { return v.text(in, view) })
}

func (v *Views) resolve(in wire.Instance, q *sql.Query, text func(view string) (string, bool)) (From, error) {
	q, err := q.Expand(func(name string) (string, bool) {
		if _, ok := v.DB.LookupTable(v.Own.Table(in, name).Stored); ok {
			return "", false
		}
		return text(name)
	})
	if err != nil {
		return From{}, queryStatus(err)
	}
	f := From{Query: q}
	if q.Table() == "" {
		return f, nil
	}
	f.Name = v.Own.Table(in, q.Table())
	if _, ok := v.DB.LookupTable(f.Name.Stored); !ok {
		if f.View = v.Materialized()[in.String()+"/"+materializedKind+"/"+q.Table()]; f.View != nil {
			f.Name = f.View.source
			f.Query = q.WithBundles(v.Note(f.Name.Stored).Bundle)
			return f, nil
		}
	}
	note := v.Note(f.Name.Stored)
	f.Query = q.WithRowKeys(wire.RowKeySchema(note.Table.GetRowKeySchema())).WithBundles(note.Bundle)
	return f, nil
}

// Opened is what a query reads, and the query that can be planned.
type Opened struct {
	Query    *sql.Query
	Table    *catalog.Table // nil for a query without a table
	Declared schema.Table
}

// Open finds what a query of an instance reads.
func (v *Views) Open(ctx context.Context, in wire.Instance, q *sql.Query) (o Opened, view *Materialized, err error) {
	from, err := v.Resolve(in, q)
	if err != nil || from.Name.Stored == "" {
		return Opened{Query: from.Query}, nil, err
	}
	if from.View != nil {
		m, err := v.columns(ctx, from.View)
		if err != nil {
			return o, nil, err
		}
		return Opened{Query: from.Query.OfView(m), Table: v.rows(from.View)}, from.View, nil
	}
	o.Query = from.Query
	if o.Declared, err = v.Declared(ctx, from); err != nil {
		return o, nil, err
	}
	o.Table, err = v.LookUp(from.Name.String())
	if err == nil {
		o.Table.Declared = o.Declared
	}
	return o, nil, err
}

// columns looks up the columns of a materialized view.
func (v *Views) columns(ctx context.Context, m *Materialized) (*sql.Materialized, error) {
	declared, ok := v.DB.NewestTable(ctx, m.source.Stored)
	if !ok {
		return nil, m.tableIsGone()
	}
	q, err := v.materialize(m, declared)
	if err != nil {
		return nil, m.doesNotFit(err)
	}
	return q, nil
}

func (m *Materialized) tableIsGone() error {
	return status.Errorf(codes.FailedPrecondition, "materialized view %s: the table %s that it reads does not exist", m.id, m.source.ID)
}

func (m *Materialized) doesNotFit(err error) error {
	return status.Errorf(codes.FailedPrecondition, "materialized view %s: its query no longer fits the table %s: %s", m.id, m.source.ID, err)
}

// rows is the table with the rows of a materialized view.
func (v *Views) rows(m *Materialized) *catalog.Table {
	return v.LookUpDerived(wire.Table{In: m.source.In, ID: m.id, Stored: rowsOf(m.stored)})
}

// Rows is the table with the rows of the materialized view of a full name, without the
// family that only queries see. All rows that were written before the call are in it.
func (v *Views) Rows(ctx context.Context, name string) (*catalog.Table, error) {
	if _, _, err := wire.ParseChild(name, materializedKind, "a materialized view"); err != nil {
		return nil, err
	}
	m := v.Materialized()[name]
	if m == nil {
		return nil, NotFound(name)
	}
	if err := v.CatchUp(ctx, m); err != nil {
		return nil, err
	}
	q, err := v.columns(ctx, m)
	if err != nil {
		return nil, err
	}
	all := &adminpb.AuthorizedView_FamilySubsets{QualifierPrefixes: [][]byte{{}}}
	subset := &adminpb.AuthorizedView_SubsetView{RowPrefixes: [][]byte{{}}, FamilySubsets: map[string]*adminpb.AuthorizedView_FamilySubsets{}}
	for _, family := range q.Families() {
		subset.FamilySubsets[family] = all
	}
	t := v.rows(m)
	t.View = catalog.NewView(&adminpb.AuthorizedView{Name: m.id, AuthorizedView: &adminpb.AuthorizedView_SubsetView_{SubsetView: subset}})
	return t, nil
}

// Source is the table of the materialized view of a full name.
func (v *Views) Source(name string) (t wire.Table, ok bool) {
	m := v.Materialized()[name]
	if m == nil {
		return t, false
	}
	return m.source, true
}

// Declared is the declaration of the table of a query.
func (v *Views) Declared(ctx context.Context, f From) (declared schema.Table, err error) {
	declared, ok := v.DB.NewestTable(ctx, f.Name.Stored)
	if !ok || schema.IsDerived(f.Name.Stored) {
		return declared, v.gone(ctx, f)
	}
	return declared, nil
}

// gone says that the table of a query does not exist, and which view reads it.
func (v *Views) gone(ctx context.Context, f From) error {
	if through := f.Query.Through(); len(through) > 0 {
		return status.Errorf(codes.FailedPrecondition, "logical view %s: the table %s that it reads does not exist", through[len(through)-1], f.Name.ID)
	}
	return queryStatus(f.Query.TableNotFound(v.Names(ctx, f.Name.In)))
}

// Names are the ids of the tables and views of an instance that a call may read.
func (v *Views) Names(ctx context.Context, in wire.Instance) (names []string) {
	add := func(t wire.Table) {
		if t.In == in && access.MayRead(ctx, t.Stored) {
			names = append(names, t.ID)
		}
	}
	for _, t := range v.DB.Schema().Tables {
		if !schema.IsDerived(t.Name) {
			add(v.Own.StoredTable(t.Name))
		}
	}
	for name := range v.Logical() {
		if id, ok := strings.CutPrefix(name, in.String()+"/"+logicalKind+"/"); ok {
			add(v.Own.Table(in, id))
		}
	}
	for name := range v.Materialized() {
		if id, ok := strings.CutPrefix(name, in.String()+"/"+materializedKind+"/"); ok {
			add(v.Own.Table(in, id))
		}
	}
	slices.Sort(names)
	return names
}

// Readers are the materialized views that read a table, by their full names.
func (v *Views) Readers(t wire.Table) (names []string) {
	for name, m := range v.Materialized() {
		if m.source.Stored == t.Stored {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Taken reports whether a view of the instance has the id.
func (v *Views) Taken(in wire.Instance, id string) bool {
	return v.Logical()[in.String()+"/"+logicalKind+"/"+id] != nil || v.Materialized()[in.String()+"/"+materializedKind+"/"+id] != nil
}

// Instances are the instances that have views.
func (v *Views) Instances() []wire.Instance {
	var all []wire.Instance
	for name := range v.Logical() {
		in, _, _ := wire.CutInstance(name)
		all = append(all, in)
	}
	for name := range v.Materialized() {
		in, _, _ := wire.CutInstance(name)
		all = append(all, in)
	}
	return all
}
