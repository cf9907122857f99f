package client

import (
	"context"
	"strings"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
)

// CreateView gives a query of SQL a name. A materialized view keeps its rows.
func (c *Client) CreateView(ctx context.Context, name, sql string, materialized bool) error {
	const op = "create view"
	if err := c.ready(ctx); err != nil {
		return clientError(op, name, "", err)
	}
	var err error
	in := c.own.StoredTable(name)
	if materialized {
		_, err = c.instances.CreateMaterializedView(ctx, &adminpb.CreateMaterializedViewRequest{
			Parent: in.In.String(), MaterializedViewId: in.ID, MaterializedView: &adminpb.MaterializedView{Query: sql},
		})
	} else {
		_, err = c.instances.CreateLogicalView(ctx, &adminpb.CreateLogicalViewRequest{
			Parent: in.In.String(), LogicalViewId: in.ID, LogicalView: &adminpb.LogicalView{Query: sql},
		})
	}
	return clientError(op, name, "", err)
}

// DropView drops a view.
func (c *Client) DropView(ctx context.Context, name string, materialized bool) error {
	const op = "drop view"
	if err := c.ready(ctx); err != nil {
		return clientError(op, name, "", err)
	}
	var err error
	in := c.own.StoredTable(name)
	if materialized {
		_, err = c.instances.DeleteMaterializedView(ctx, &adminpb.DeleteMaterializedViewRequest{Name: in.In.String() + "/materializedViews/" + in.ID})
	} else {
		_, err = c.instances.DeleteLogicalView(ctx, &adminpb.DeleteLogicalViewRequest{Name: in.In.String() + "/logicalViews/" + in.ID})
	}
	return clientError(op, name, "", err)
}

// EachView calls fn for each view of the client's instance, first the logical ones, each
// kind sorted by name, until fn returns false. A nil fn is not called.
func (c *Client) EachView(ctx context.Context, fn func(name, sql string, materialized bool) bool) error {
	const op = "list views"
	if err := c.ready(ctx); err != nil || fn == nil {
		return clientError(op, "", "", err)
	}
	logical, err := c.instances.ListLogicalViews(ctx, &adminpb.ListLogicalViewsRequest{Parent: c.own.String()})
	if err != nil {
		return clientError(op, "", "", err)
	}
	for _, v := range logical.GetLogicalViews() {
		if !fn(lastOf(v.GetName()), v.GetQuery(), false) {
			return nil
		}
	}
	materialized, err := c.instances.ListMaterializedViews(ctx, &adminpb.ListMaterializedViewsRequest{Parent: c.own.String()})
	if err != nil {
		return clientError(op, "", "", err)
	}
	for _, v := range materialized.GetMaterializedViews() {
		if !fn(lastOf(v.GetName()), v.GetQuery(), true) {
			return nil
		}
	}
	return nil
}

func lastOf(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }
