package client

import (
	"context"
	"maps"
	"slices"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// CreateTable creates a table whose timestamps are in microseconds, as in the database.
// On a server that is not smolwc's retention is lazy, whatever the table says, and there
// is no key format.
func (c *Client) CreateTable(ctx context.Context, t schema.Table) error {
	const op = "create table"
	if err := c.known(ctx); err != nil {
		return clientError(op, t.Name, "", err)
	}
	defer c.forget()
	families := map[string]*adminpb.ColumnFamily{}
	for i := range t.Families {
		m, err := c.familyMessage(&t.Families[i])
		if err != nil {
			return clientError(op, t.Name, "", err)
		}
		families[t.Families[i].Name] = m
	}
	m := &adminpb.Table{ColumnFamilies: families, Granularity: adminpb.Table_MICROS, ChangeStreamConfig: wire.ChangeStreamMessage(t.ChangeStream)}
	switch {
	case c.keepsSettings():
		wire.SetSettings(m, &t)
	case t.KeyFormat != schema.PlainKeys:
		return clientError(op, t.Name, "", wire.Invalid("this server has no key formats"))
	}
	name := c.own.StoredTable(t.Name)
	_, err := c.admin.CreateTable(ctx, &adminpb.CreateTableRequest{Parent: name.In.String(), TableId: name.ID, Table: m})
	if status.Code(err) == codes.AlreadyExists { // the server names the table in full
		err = status.Errorf(codes.AlreadyExists, "table %q exists already", t.Name)
	}
	return clientError(op, t.Name, "", err)
}

func (c *Client) familyMessage(f *schema.Family) (*adminpb.ColumnFamily, error) {
	if err := f.Validate(); err != nil { // a rule may contain itself
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	t := wire.TypeMessage(f, nil)
	if exact := wire.ExactType(f, t); exact != t {
		if !c.isExact() {
			return nil, wire.Invalid("family %s: this server has no type %s; i64 holds such numbers", f.Name, f.Type)
		}
		t = exact
	}
	return &adminpb.ColumnFamily{GcRule: wire.RuleMessage(f.GC), ValueType: t}, nil
}

// change makes a change of a table. The next Refresh asks the server.
func (c *Client) change(ctx context.Context, op, table string, call func() error) error {
	err := c.ready(ctx)
	if err == nil {
		defer c.forget()
		err = call()
	}
	return clientError(op, table, "", err)
}

// DropTable drops a table and its data, for good and at once, if the server is smolwc's.
func (c *Client) DropTable(ctx context.Context, table string) error {
	return c.deleteTable(ctx, "drop table", table, wire.Drop)
}

// DeleteTable deletes a table, which the server keeps for a while.
func (c *Client) DeleteTable(ctx context.Context, table string) error {
	return c.deleteTable(ctx, "delete table", table, wire.Keep)
}

// PurgeTable removes the deleted tables of a name for good, if the server is smolwc's.
// Without such tables it does nothing.
func (c *Client) PurgeTable(ctx context.Context, table string) error {
	const op = "purge table"
	if err := c.known(ctx); err != nil {
		return clientError(op, table, "", err)
	}
	if !c.isExact() { // it would delete a table of the name
		return clientError(op, table, "", status.Error(codes.FailedPrecondition, "this server cannot remove deleted tables before their time"))
	}
	return c.deleteTable(ctx, op, table, wire.Purge)
}

func (c *Client) deleteTable(ctx context.Context, op, table string, fate wire.Fate) error {
	return c.change(ctx, op, table, func() error {
		req := &adminpb.DeleteTableRequest{Name: c.name(table)}
		if fate != wire.Keep {
			wire.SetFate(req, fate)
		}
		_, err := c.admin.DeleteTable(ctx, req)
		return err
	})
}

// UndeleteTable brings back the table of a name that was deleted last.
func (c *Client) UndeleteTable(ctx context.Context, table string) error {
	return c.change(ctx, "undelete table", table, func() error {
		_, err := c.admin.UndeleteTable(ctx, &adminpb.UndeleteTableRequest{Name: c.name(table)})
		return err
	})
}

// DeletedTables are the deleted tables of the client's instance that the server keeps,
// the oldest deletion first. Other servers than smolwc's have an empty list.
func (c *Client) DeletedTables(ctx context.Context) ([]query.DeletedTable, error) {
	const op = "list deleted tables"
	if err := c.ready(ctx); err != nil {
		return nil, clientError(op, "", "", err)
	}
	req := &adminpb.ListTablesRequest{Parent: c.own.String()}
	wire.AskDeleted(req)
	resp, err := c.admin.ListTables(ctx, req)
	if err != nil {
		return nil, clientError(op, "", "", err)
	}
	var all []query.DeletedTable
	for _, m := range resp.GetTables() {
		if d, ok := wire.DeletionOf(m); ok {
			all = append(all, query.DeletedTable{Table: lastOf(m.GetName()), Families: slices.Sorted(maps.Keys(m.GetColumnFamilies())), Bytes: d.Bytes, Deleted: d.Deleted, Until: d.Until})
		}
	}
	return all, nil
}

// SetChangeStream sets how long the changes of a table are kept.
func (c *Client) SetChangeStream(ctx context.Context, table string, keep time.Duration) error {
	return c.change(ctx, "set change stream", table, func() error {
		_, err := c.admin.UpdateTable(ctx, &adminpb.UpdateTableRequest{
			Table:      &adminpb.Table{Name: c.name(table), ChangeStreamConfig: wire.ChangeStreamMessage(keep)},
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"change_stream_config"}},
		})
		return err
	})
}

// TruncateTable deletes all rows.
func (c *Client) TruncateTable(ctx context.Context, table string) error {
	return c.change(ctx, "truncate table", table, func() error {
		_, err := c.admin.DropRowRange(ctx, &adminpb.DropRowRangeRequest{Name: c.name(table), Target: &adminpb.DropRowRangeRequest_DeleteAllDataFromTable{DeleteAllDataFromTable: true}})
		return err
	})
}

func (c *Client) modifyFamilies(ctx context.Context, op, table string, mods ...*adminpb.ModifyColumnFamiliesRequest_Modification) error {
	return c.change(ctx, op, table, func() error {
		_, err := c.admin.ModifyColumnFamilies(ctx, &adminpb.ModifyColumnFamiliesRequest{Name: c.name(table), Modifications: mods})
		return err
	})
}

// AddFamily adds a family to a table.
func (c *Client) AddFamily(ctx context.Context, table string, f schema.Family) error {
	const op = "add family"
	if err := c.known(ctx); err != nil {
		return clientError(op, table, "", err)
	}
	m, err := c.familyMessage(&f)
	if err != nil {
		return clientError(op, table, "", err)
	}
	return c.modifyFamilies(ctx, op, table, &adminpb.ModifyColumnFamiliesRequest_Modification{
		Id: f.Name, Mod: &adminpb.ModifyColumnFamiliesRequest_Modification_Create{Create: m},
	})
}

// SetFamily sets the type and the retention of a family, where they change.
func (c *Client) SetFamily(ctx context.Context, table string, f schema.Family) error {
	const op = "set family"
	if err := c.known(ctx); err != nil {
		return clientError(op, table, "", err)
	}
	t, ok := c.LookupTable(table)
	old, there := t.Family(f.Name)
	if !ok || !there {
		return clientError(op, table, "", status.Errorf(codes.NotFound, "column family %q not found", f.Name))
	}
	var paths []string
	if old.Type != f.Type || old.Aggregate != f.Aggregate {
		paths = append(paths, "value_type")
	}
	if old.GC.String() != f.GC.String() {
		paths = append(paths, "gc_rule")
	}
	if len(paths) == 0 {
		return nil
	}
	m, err := c.familyMessage(&f)
	if err != nil {
		return clientError(op, table, "", err)
	}
	return c.modifyFamilies(ctx, op, table, &adminpb.ModifyColumnFamiliesRequest_Modification{
		Id: f.Name, Mod: &adminpb.ModifyColumnFamiliesRequest_Modification_Update{Update: m},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: paths},
	})
}

// DropFamily drops a family and its data.
func (c *Client) DropFamily(ctx context.Context, table, family string) error {
	return c.modifyFamilies(ctx, "drop family", table, &adminpb.ModifyColumnFamiliesRequest_Modification{
		Id: family, Mod: &adminpb.ModifyColumnFamiliesRequest_Modification_Drop{Drop: true},
	})
}
