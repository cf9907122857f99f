package client

import (
	"context"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/smolwc/smolwc/internal/wire"
	"github.com/smolwc/smolwc/schema"
)

// CreateTable creates a table whose timestamps are in microseconds, as in the database.
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
	name := c.own.StoredTable(t.Name)
	_, err := c.admin.CreateTable(ctx, &adminpb.CreateTableRequest{
		Parent: name.In.String(), TableId: name.ID,
		Table: &adminpb.Table{ColumnFamilies: families, Granularity: adminpb.Table_MICROS, ChangeStreamConfig: wire.ChangeStreamMessage(t.ChangeStream)},
	})
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

// DropTable drops a table and its data.
func (c *Client) DropTable(ctx context.Context, table string) error {
	return c.change(ctx, "drop table", table, func() error {
		_, err := c.admin.DeleteTable(ctx, &adminpb.DeleteTableRequest{Name: c.name(table)})
		return err
	})
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
