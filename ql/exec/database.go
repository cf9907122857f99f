package exec

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/smolwc/smolwc/api/activity"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql"
	"github.com/smolwc/smolwc/views"
)

// A Database runs most statements: a [query.DB], or a database reached over
// the network. The methods do the same as in query.DB, or as its plans with one change
// of that name.
type Database interface {
	Schema() *schema.Schema
	LookupTable(name string) (schema.Table, bool)
	Now() cells.Timestamp
	Table(name string) Table
	CreateTable(ctx context.Context, t schema.Table) error
	DeleteTable(ctx context.Context, table string) error
	UndeleteTable(ctx context.Context, table string) error
	PurgeTable(ctx context.Context, table string) error
	DeletedTables(ctx context.Context) ([]query.DeletedTable, error)
	TruncateTable(ctx context.Context, table string) error
	AddFamily(ctx context.Context, table string, f schema.Family) error
	SetFamily(ctx context.Context, table string, f schema.Family) error
	DropFamily(ctx context.Context, table, family string) error
	SetChangeStream(ctx context.Context, table string, keep time.Duration) error
	Apply(ctx context.Context, b *write.Batch) error
}

// A Table is a table of a [Database]. Methods named as in [query.Table] do the same;
// Changes gives no heartbeats.
type Table interface {
	ReadRows(ctx context.Context, opts ...read.Option) iter.Seq2[*query.Row, error]
	ReadCells(ctx context.Context, key string, opts ...read.Option) iter.Seq2[cells.Cell, error]
	ReadPage(ctx context.Context, opts ...read.Option) (*query.Page, error)
	Count(ctx context.Context, opts ...read.Option) (query.Count, error)
	Apply(ctx context.Context, key string, m *write.Mutation) error
	ApplyBulk(ctx context.Context, keys []string, ms []*write.Mutation) ([]error, error)
	ApplyReadModifyWrite(ctx context.Context, key string, m *write.ReadModifyWrite) (*query.Row, error)
	CheckAndMutate(ctx context.Context, key string, predicate read.Option, ifTrue, ifFalse *write.Mutation) (bool, error)
	DeleteRange(ctx context.Context, rows read.RowSet) error
	// ApplyWhere applies a mutation to each row that the options select, while the row
	// satisfies their conditions. With an error the rows up to the key last are changed.
	ApplyWhere(ctx context.Context, m *write.Mutation, opts ...read.Option) (changed int64, last string, err error)
	Changes(ctx context.Context, want query.ChangesRequest) iter.Seq2[*query.ChangeAt, error]
}

// A Remote is a database over the network. Refresh fetches the list of tables if the
// last one is old.
type Remote interface {
	Database
	// Query runs a query in SQL.
	Query(ctx context.Context, text string) (*sql.Result, error)
	Refresh(ctx context.Context) error
	// RunStatement makes the server run a statement that needs the database itself. The
	// text of an error begins with its place in the statement's text. A server that runs
	// no statements is an error that wraps errors.ErrUnsupported; a copy is then made with
	// other calls.
	RunStatement(ctx context.Context, want ServedStatement) (Result, error)
}

// A ServedStatement is a statement that a server runs for its client, since it needs the
// database itself.
type ServedStatement struct {
	Text            string // the canonical text
	Versions, Limit int    // as in the [Runner]
	// Confirm asks the user before data is dropped; nil: such a statement is an error.
	Confirm func(question string) (bool, error)
}

// A withViews is a database whose views can be changed. EachView calls fn for each view,
// sorted by name, until fn returns false.
type withViews interface {
	CreateView(ctx context.Context, name, sql string, materialized bool) error
	DropView(ctx context.Context, name string, materialized bool) error
	EachView(ctx context.Context, fn func(name, sql string, materialized bool) bool) error
}

// Activity is a server's report about its own work. The calls and rows are those that
// the client may see.
type Activity interface {
	Calls(ctx context.Context) (activity.Calls, error)
	CancelCall(ctx context.Context, id uint64) error
	Heat(ctx context.Context, want activity.HeatRequest) (*activity.Heat, error)
}

// views are the views of the runner's database.
func (r *Runner) views() (withViews, error) {
	if r.Remote == nil {
		return localViews{views.Of(r.DB)}, nil
	}
	if remote, ok := r.Remote.(withViews); ok {
		return remote, nil
	}
	return nil, errors.New("this program has no views")
}

// localViews are the views of the database of this process.
type localViews struct{ *views.Views }

// CreateView reads the table into a materialized view before it returns.
func (l localViews) CreateView(ctx context.Context, name, sql string, materialized bool) error {
	v := views.View{Name: name, SQL: sql, Materialized: materialized}
	err := l.Create(ctx, v)
	if err == nil && materialized {
		err = l.CatchUp(ctx, v)
	}
	return err
}

func (l localViews) DropView(ctx context.Context, name string, materialized bool) error {
	return l.Drop(ctx, views.View{Name: name, Materialized: materialized})
}

func (l localViews) EachView(ctx context.Context, fn func(name, sql string, materialized bool) bool) error {
	return l.Each(ctx, func(v views.View) bool { return fn(v.Name, v.SQL, v.Materialized) })
}

// local is the database of this process.
type local struct{ *query.DB }

func (l local) Table(name string) Table { return localTable{l.DB.Table(name), l.DB} }

func (l local) plan(ctx context.Context, kind schema.ChangeKind, table string) error {
	return l.ApplyPlan(ctx, schema.Plan{Changes: []schema.Change{{Kind: kind, Table: table}}})
}

func (l local) DeleteTable(ctx context.Context, table string) error {
	return l.plan(ctx, schema.DeleteTable, table)
}

func (l local) UndeleteTable(ctx context.Context, table string) error {
	return l.plan(ctx, schema.UndeleteTable, table)
}

func (l local) PurgeTable(ctx context.Context, table string) error {
	return l.plan(ctx, schema.PurgeTable, table)
}

func (l local) DeletedTables(ctx context.Context) ([]query.DeletedTable, error) {
	s, err := l.Stats(ctx)
	if err != nil {
		return nil, err
	}
	return s.Deleted, nil
}

// Database returns the database that the runner's statements run on.
func (r *Runner) Database() Database {
	switch {
	case r == nil:
		return local{}
	case r.Remote != nil:
		return r.Remote
	}
	return local{r.DB}
}
