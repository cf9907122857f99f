package server

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server/internal/admin"
	"github.com/smolwc/smolwc/server/internal/catalog"
	"github.com/smolwc/smolwc/server/internal/views"
	"github.com/smolwc/smolwc/sql"
)

// Views are the logical and the materialized views of a database that this process has
// open: see docs/serve.md. They are safe for concurrent use.
type Views struct {
	db *query.DB
}

// ViewsOf are the views of a database, in [DefaultInstance].
func ViewsOf(db *query.DB) *Views { return &Views{db} }

// open reads the views; every call does, because the shell may open another database.
func (v *Views) open(ctx context.Context) (*views.Views, *admin.Admin, wire.Instance, error) {
	own, _ := wire.ParseInstance(DefaultInstance)
	if v == nil || v.db == nil || ctx == nil {
		return nil, nil, own, &query.Error{Op: "views", Kind: query.KindInvalidArgument, Err: errors.New("there is no database, or no context; ViewsOf takes a database")}
	}
	c, err := catalog.Open(ctx, v.db, own)
	if err != nil {
		return nil, nil, own, err
	}
	logger := slog.New(slog.DiscardHandler)
	all, err := views.Open(ctx, c, logger)
	if err != nil {
		return nil, nil, own, err
	}
	a, err := admin.New(ctx, all, logger)
	return all, a, own, err
}

// CreateView gives a query of SQL a name. A materialized view keeps its rows: CreateView
// reads the table, and a server or the next call keeps the rows as the table changes.
func (v *Views) CreateView(ctx context.Context, name, sql string, materialized bool) error {
	all, a, own, err := v.open(ctx)
	if err != nil {
		return err
	}
	if !materialized {
		_, err := a.CreateLogicalView(ctx, &adminpb.CreateLogicalViewRequest{Parent: own.String(), LogicalViewId: name, LogicalView: &adminpb.LogicalView{Query: sql}})
		return plain("create view "+name, err)
	}
	_, err = a.CreateMaterializedView(ctx, &adminpb.CreateMaterializedViewRequest{Parent: own.String(), MaterializedViewId: name, MaterializedView: &adminpb.MaterializedView{Query: sql}})
	if err != nil {
		return plain("create view "+name, err)
	}
	return plain("create view "+name, all.CatchUp(ctx, all.Materialized()[own.String()+"/materializedViews/"+name]))
}

// DropView drops a view.
func (v *Views) DropView(ctx context.Context, name string, materialized bool) error {
	_, a, own, err := v.open(ctx)
	switch {
	case err != nil:
		return err
	case materialized:
		_, err = a.DeleteMaterializedView(ctx, &adminpb.DeleteMaterializedViewRequest{Name: own.String() + "/materializedViews/" + name})
	default:
		_, err = a.DeleteLogicalView(ctx, &adminpb.DeleteLogicalViewRequest{Name: own.String() + "/logicalViews/" + name})
	}
	return plain("drop view "+name, err)
}

// EachView calls fn for each view, first the logical ones, each kind sorted by name, until
// fn returns false. A nil fn is not called.
func (v *Views) EachView(ctx context.Context, fn func(name, sql string, materialized bool) bool) error {
	all, _, own, err := v.open(ctx)
	if err != nil || fn == nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(all.Logical())) {
		if id, ok := strings.CutPrefix(name, own.String()+"/logicalViews/"); ok && !fn(id, all.Logical()[name].GetQuery(), false) {
			return nil
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all.Materialized())) {
		if id, ok := strings.CutPrefix(name, own.String()+"/materializedViews/"); ok && !fn(id, all.Materialized()[name].Message.GetQuery(), true) {
			return nil
		}
	}
	return nil
}

// Query runs a query of SQL. It reads tables and views, with the schema bundles and the
// structured row keys of their tables. A materialized view first takes over the rows that
// were written before. An error in the query is an [sql.Error].
func (v *Views) Query(ctx context.Context, text string) (*sql.Result, error) {
	const op = "query"
	all, _, own, err := v.open(ctx)
	if err != nil {
		return nil, err
	}
	q, err := sql.Parse(text)
	if err != nil {
		return nil, err
	}
	if _, ok := v.db.LookupTable(q.Table()); !ok && q.Table() != "" && !all.Taken(own, q.Table()) {
		return nil, q.TableNotFound(all.Names(ctx, own))
	}
	opened, view, err := all.Open(ctx, own, q)
	if err != nil {
		return nil, plain(op, err)
	}
	none, err := sql.Params{}.Bind(nil)
	if err != nil {
		return nil, err
	}
	plan, err := opened.Query.At(v.db.Wall()).Plan(opened.Declared, none)
	switch {
	case err != nil:
		return nil, err
	case opened.Table == nil: // a query without a table
		return plan.Result(ctx, v.db.Table("")), nil
	case view != nil:
		if err := all.CatchUp(ctx, view); err != nil {
			return nil, plain(op, err)
		}
	}
	return plan.Result(ctx, opened.Table), nil
}

// kinds are the kinds of errors about views.
var kinds = map[codes.Code]query.Kind{
	codes.InvalidArgument: query.KindInvalidArgument, codes.NotFound: query.KindNotFound, codes.AlreadyExists: query.KindAlreadyExists,
	codes.FailedPrecondition: query.KindFailedPrecondition, codes.Aborted: query.KindConflict, codes.Canceled: query.KindCanceled,
	codes.DeadlineExceeded: query.KindCanceled,
}

// plain is an error without the words of gRPC.
func plain(op string, err error) error {
	if s, ok := status.FromError(err); ok && err != nil {
		return &query.Error{Op: op, Kind: kinds[s.Code()], Err: errors.New(s.Message())}
	}
	return err
}
