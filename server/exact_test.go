package server_test

import (
	"testing"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

// A client that does not ask for types gets none, and types in its requests are
// ignored.
func TestOtherClientsSeeNoTypesOfValues(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "p"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	r := serve(t, db, server.Options{Instance: parent})
	own := r.dialled()
	r.must(own.AddFamily(r.ctx(), "t", schema.Family{Name: "i", Type: cells.TypeI32}))
	r.must(own.Refresh(r.ctx()))
	m := write.NewMutation()
	m.Set("p", "own", cells.I32(12))
	m.Set("i", "own", cells.I32(12))
	r.must(own.Table("t").Apply(r.ctx(), "k", m))

	name := parent + "/tables/t"
	pretended := &bigtablepb.Mutation_SetCell{FamilyName: "p", ColumnQualifier: []byte("other"), TimestampMicros: -1, Value: []byte("12345678")}
	pretended.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 64001, protowire.VarintType), uint64(cells.TypeI64)))
	_, err = r.data().MutateRow(r.ctx(), &bigtablepb.MutateRowRequest{TableName: name, RowKey: []byte("k"),
		Mutations: []*bigtablepb.Mutation{{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: pretended}}}})
	r.must(err)
	types := map[string]cells.Type{}
	for c, err := range db.Table("t").ReadCells(r.ctx(), "k") {
		r.must(err)
		types[c.Family+":"+c.Qualifier] = c.Value.Type()
	}
	if types["p:own"] != cells.TypeI32 || types["i:own"] != cells.TypeI32 || types["p:other"] != cells.TypeBytes {
		t.Errorf("the cells have types %v", types)
	}

	for _, resp := range r.read(&bigtablepb.ReadRowsRequest{TableName: name}) {
		for _, chunk := range resp.GetChunks() {
			if len(chunk.ProtoReflect().GetUnknown()) > 0 {
				t.Errorf("a chunk says more than Bigtable's: %v", chunk)
			}
		}
	}
	tables := adminpb.NewBigtableTableAdminClient(r.conn)
	table, err := tables.GetTable(r.ctx(), &adminpb.GetTableRequest{Name: name})
	r.must(err)
	if i := table.GetColumnFamilies()["i"].GetValueType().GetInt64Type(); i == nil || len(i.ProtoReflect().GetUnknown()) > 0 {
		t.Errorf("the family of i32 is %v", table.GetColumnFamilies()["i"])
	}
}
