package route

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/api/wire"
)

// pieces are bytes as they may come from the network.
func pieces(b []byte, size int) (s mem.BufferSlice) {
	for part := range slices.Chunk(b, size) {
		s = append(s, mem.SliceBuffer(part))
	}
	return s
}

// Each method of Bigtable's API names its instance in its request, except those about a
// project and those without a name at all.
func TestEveryMethodNamesItsInstance(t *testing.T) {
	var without []string
	for name, m := range methods() {
		if m.names == nil && strings.HasPrefix(name, "/google.bigtable.") {
			without = append(without, name)
		}
	}
	if want := []string{"/google.bigtable.v2.Bigtable/GetClientConfiguration"}; !slices.Equal(without, want) {
		t.Errorf("without names are %v, want %v", without, want)
	}
}

// Where the instance of a call is found.
func TestInstanceOfACall(t *testing.T) {
	const table, in = "projects/p/instances/i/tables/t", "projects/p/instances/i"
	entries := make([]*bigtablepb.MutateRowsRequest_Entry, 1000)
	for i := range entries {
		entries[i] = &bigtablepb.MutateRowsRequest_Entry{RowKey: []byte("projects/p/instances/other/tables/t")}
	}
	for name, c := range map[string]struct {
		method string
		m      proto.Message
		params string
		want   string
	}{
		"a table":                    {bigtablepb.Bigtable_ReadRows_FullMethodName, &bigtablepb.ReadRowsRequest{TableName: table}, "", in},
		"a view after many rows":     {bigtablepb.Bigtable_MutateRows_FullMethodName, &bigtablepb.MutateRowsRequest{AuthorizedViewName: table + "/authorizedViews/v", Entries: entries}, "", in},
		"a message in the request":   {adminpb.BigtableTableAdmin_UpdateTable_FullMethodName, &adminpb.UpdateTableRequest{Table: &adminpb.Table{Name: table}}, "", in},
		"a new instance":             {adminpb.BigtableInstanceAdmin_CreateInstance_FullMethodName, &adminpb.CreateInstanceRequest{Parent: "projects/p", InstanceId: "i"}, "", in},
		"a parent":                   {adminpb.BigtableTableAdmin_CreateTable_FullMethodName, &adminpb.CreateTableRequest{Parent: in, Table: &adminpb.Table{Name: "projects/p/instances/other/tables/t"}}, "", in},
		"a batch":                    {smolwcpb.Batches_ApplyBatch_FullMethodName, &smolwcpb.ApplyBatchRequest{Entries: []*smolwcpb.ApplyBatchRequest_Entry{{TableName: table}}}, "", in},
		"a batch of a view":          {smolwcpb.Batches_ApplyBatch_FullMethodName, &smolwcpb.ApplyBatchRequest{Entries: []*smolwcpb.ApplyBatchRequest_Entry{{AuthorizedViewName: table + "/authorizedViews/v"}}}, "", in},
		"a statement":                {smolwcpb.Statements_RunStatement_FullMethodName, &smolwcpb.RunStatementRequest{InstanceName: in, Text: "stats"}, "", in},
		"a header":                   {"/smolwc.admin.v1.ServerActivity/ListCalls", &bigtablepb.ReadRowsRequest{}, "name=projects%2Fp%2Finstances%2Fi&x=y", in},
		"a header with another name": {bigtablepb.Bigtable_ReadRows_FullMethodName, &bigtablepb.ReadRowsRequest{TableName: table}, "name=projects%2Fp%2Finstances%2Fother", in},
		"a bad header":               {bigtablepb.Bigtable_ReadRows_FullMethodName, &bigtablepb.ReadRowsRequest{TableName: "t"}, "%%%", ""},
		"a project alone":            {adminpb.BigtableInstanceAdmin_ListInstances_FullMethodName, &adminpb.ListInstancesRequest{Parent: "projects/p"}, "", ""},
		"a name without end":         {bigtablepb.Bigtable_ReadRows_FullMethodName, &bigtablepb.ReadRowsRequest{TableName: in + strings.Repeat("x", mostName)}, "", ""},
	} {
		text, err := proto.Marshal(c.m)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{1, 7, 1 << 20} {
			got, err := methods()[c.method].instance(metadata.Pairs(wire.ParamsHeader, c.params), pieces(text, size))
			if got != c.want || (err == nil) != (c.want != "") {
				t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
			}
		}
	}
}

// A scan finds the names that protocol buffers find, in whatever pieces the message comes,
// and never panics.
func FuzzScan(f *testing.F) {
	all := methods()
	update, create := all[adminpb.BigtableTableAdmin_UpdateTable_FullMethodName], all[adminpb.BigtableInstanceAdmin_CreateInstance_FullMethodName]
	mutate := all[bigtablepb.Bigtable_MutateRow_FullMethodName]
	for _, m := range []proto.Message{
		&adminpb.UpdateTableRequest{Table: &adminpb.Table{Name: "n", ColumnFamilies: map[string]*adminpb.ColumnFamily{"f": {}}}},
		&adminpb.CreateInstanceRequest{Parent: "projects/p", InstanceId: "i", Instance: &adminpb.Instance{Name: "x"}},
		&bigtablepb.MutateRowRequest{TableName: "t", RowKey: []byte("r"), AppProfileId: "a", AuthorizedViewName: "v"},
	} {
		text, _ := proto.Marshal(m)
		f.Add(text, 3)
		f.Add(append(text, text...), 1)
	}
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		if size < 1 {
			return
		}
		found := func(m *method) ([]string, error) {
			to, r := make([]string, m.slots), pieces(text, size).Reader()
			defer r.Close()
			return to, scan(r, r.Remaining(), m.names, to)
		}
		var u adminpb.UpdateTableRequest
		if to, err := found(update); err == nil && proto.Unmarshal(text, &u) == nil && to[0] != u.GetTable().GetName() {
			t.Errorf("the table is %q, and was found as %q", u.GetTable().GetName(), to[0])
		}
		var c adminpb.CreateInstanceRequest
		if to, err := found(create); err == nil && proto.Unmarshal(text, &c) == nil && !slices.Equal(to, []string{c.GetParent(), c.GetInstanceId()}) {
			t.Errorf("the instance is %v, and was found as %q", &c, to)
		}
		var w bigtablepb.MutateRowRequest
		to, err := found(mutate)
		if wrong := proto.Unmarshal(text, &w); wrong == nil {
			if want := []string{w.GetTableName(), w.GetAuthorizedViewName()}; err == nil && !slices.Equal(to, want) {
				t.Errorf("the names are %q, and were found as %q", want, to)
			}
			if err != nil && !bytes.ContainsFunc(text, func(r rune) bool { return r&7 == int32(protowire.StartGroupType) }) && len(text) < mostName {
				t.Errorf("a valid message is refused: %v", err)
			}
		}
	})
}

// texts is how many of the fields, and of those within them, are texts.
func (f fields) texts() (n int) {
	for _, of := range f {
		n += max(1, of.inner.texts())
	}
	return n
}

// The slots of a method are as many as its fields.
func TestSlots(t *testing.T) {
	for name, m := range methods() {
		if n := m.names.texts(); m.slots != n {
			t.Errorf("%s has %d slots for %d fields", name, m.slots, n)
		}
	}
}
