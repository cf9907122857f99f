package client_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/bttest"
	"google.golang.org/grpc"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// withoutTypes is a client of a server that does not know types of values, which has
// a table t. Bigtable's emulator lists tables without their families; this one does
// not.
func withoutTypes(t *testing.T, families ...schema.Family) *client.Client {
	t.Helper()
	declared := map[string]*adminpb.ColumnFamily{}
	for _, f := range families {
		declared[f.Name] = &adminpb.ColumnFamily{ValueType: wire.TypeMessage(&f, nil)}
	}
	s, err := bttest.NewServer("127.0.0.1:0", grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		resp, err := handle(ctx, req)
		if list, ok := resp.(*adminpb.ListTablesResponse); ok && err == nil {
			for _, table := range list.Tables {
				table.ColumnFamilies = declared
			}
		}
		return resp, err
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	c, err := client.Dial(s.Addr, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.CreateTable(t.Context(), schema.Table{Name: "t", Families: families}); err != nil {
		t.Fatal(err)
	}
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// A server that does not know types of values gets no value that it would keep as
// another: the error names the family to declare.
func TestAServerWithoutTypesGetsNoneToForget(t *testing.T) {
	c, ctx := withoutTypes(t, schema.Family{Name: "p"}), t.Context()
	for _, v := range []cells.Value{cells.I64(12), cells.String("x"), cells.Byte(1), cells.Bool(true), cells.F32(1), cells.F64(1), cells.I32(1)} {
		m := write.NewMutation()
		m.Set("p", "year", v)
		if err := c.Table("t").Apply(ctx, "k", m); query.KindOf(err) != query.KindInvalidArgument || !strings.Contains(err.Error(), "family p declares no type") {
			t.Errorf("%s: %v", v.Type(), err)
		}
	}
	count := write.NewReadModifyWrite()
	count.Increment("p", "n", 1)
	if _, err := c.Table("t").ApplyReadModifyWrite(ctx, "k", count); err == nil || !strings.Contains(err.Error(), "family p declares no type") {
		t.Error(err)
	}
	m := write.NewMutation()
	m.Set("p", "raw", cells.Bytes([]byte{1, 2}))
	if err := c.Table("t").Apply(ctx, "k", m); err != nil {
		t.Error(err)
	}
	for row, err := range c.Table("t").ReadRows(ctx) {
		if err != nil || row.Len() != 1 {
			t.Errorf("%v, %v", row, err)
		}
	}
	if err := c.AddFamily(ctx, "t", schema.Family{Name: "i", Type: cells.TypeI32}); err == nil || !strings.Contains(err.Error(), "this server has no type i32") {
		t.Error(err)
	}
}

// A server that does not know types of values judges a condition by bytes: whether a
// column exists, and whether it is equal. The client judges the conditions of a read.
func TestConditionsAtAServerWithoutTypes(t *testing.T) {
	c, ctx := withoutTypes(t, schema.Family{Name: "p"}, schema.Family{Name: "n", Type: cells.TypeI64}, schema.Family{Name: "f", Type: cells.TypeF64}), t.Context()
	table := c.Table("t")
	m := write.NewMutation()
	m.SetAt("p", "q", 1000, cells.Bytes([]byte("older")))
	m.SetAt("p", "q", 2000, cells.Bytes([]byte("text")))
	m.SetAt("n", "q", 1000, cells.I64(7))
	m.SetAt("f", "q", 1000, cells.F64(0))
	if err := table.Apply(ctx, "k", m); err != nil {
		t.Fatal(err)
	}
	otherwise := write.NewMutation()
	otherwise.Set("p", "otherwise", cells.Bytes(nil))
	for _, e := range []struct {
		condition read.Condition
		want      bool
	}{
		{read.Where("p", "q", cells.OpEqual, cells.String("text")), true},
		{read.Where("p", "q", cells.OpEqual, cells.String("older")), false},
		{read.Where("p", "q", cells.OpNotEqual, cells.String("text")), false},
		{read.Where("p", "q", cells.OpNotEqual, cells.String("older")), true},
		{read.Where("p", "none", cells.OpNotEqual, cells.String("older")), false},
		{read.Where("p", "q", cells.OpEqual, cells.String("")), false},
		{read.Where("n", "q", cells.OpEqual, cells.F64(7)), true},
		{read.Where("n", "q", cells.OpEqual, cells.F64(7.5)), false},
		{read.Where("n", "q", cells.OpNotEqual, cells.F64(7.5)), true},
		{read.Where("f", "q", cells.OpEqual, cells.F64(math.Copysign(0, -1))), true},
		{read.Where("f", "q", cells.OpNotEqual, cells.I64(0)), false},
		{read.Exists("p", "q"), true},
		{read.Exists("p", "none"), false},
		{read.Absent("p", "q"), false},
		{read.Absent("p", "none"), true},
	} {
		if got, err := table.CheckAndMutate(ctx, "k", e.condition, nil, otherwise); err != nil || got != e.want {
			t.Errorf("check and mutate if %+v: %t, %v, want %t", e.condition, got, err, e.want)
		}
		n, err := table.Count(ctx, e.condition)
		if got := n.Rows == 1; err != nil || got != e.want {
			t.Errorf("count where %+v: %d, %v, want %t", e.condition, n.Rows, err, e.want)
		}
	}
	if _, err := table.CheckAndMutate(ctx, "k", read.Where("n", "q", cells.OpLess, cells.I64(9)), nil, nil); query.KindOf(err) != query.KindInvalidArgument {
		t.Errorf("check and mutate by an order: %v", err)
	}
}
