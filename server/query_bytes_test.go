package server_test

import (
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/genproto/googleapis/type/date"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

var updateBytes = flag.Bool("update-query-bytes", false, "write testdata/query_bytes.txt again: only where the bytes may change")

// Clients keep prepared queries and tokens while a server is replaced, and databases keep
// the state of views. testdata/query_bytes.txt has these bytes, and those of results, as
// the first version wrote them.
func TestBytesOfQueriesAreThoseOfTheFirstVersion(t *testing.T) {
	db := bytesDB(t)
	r := serve(t, db, server.Options{Instance: parent})
	var out strings.Builder
	for _, q := range queriesOfEveryType() {
		r.writeQueryBytes(&out, q)
	}
	for _, view := range []string{
		"SELECT _key, COUNT(*) AS n, SUM(n['i']) AS total, MIN(s['x']) AS first, MAX(d['x']) AS most, AVG(n['i']) AS mean FROM t GROUP BY _key",
		"SELECT s['x'] AS name, b['x'] AS yes, _key, n['i'] AS i, f['x'] AS raw FROM t ORDER BY s['x'], b['x'], _key",
		"SELECT b['x'] AS yes, HLL_COUNT.INIT(_key) AS sketch, ANY_VALUE(s['x']) AS one FROM t GROUP BY b['x']",
	} {
		id := fmt.Sprintf("v%d", strings.Count(out.String(), "\nview "))
		r.must(r.materialize(id, view))
		mv := r.client().OpenMaterializedView(id)
		if _, err := mv.ReadRow(r.ctx(), "none"); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "view %s\n", view)
		writeStateOfView(t, &out, db, id)
	}
	golden := filepath.Join("testdata", "query_bytes.txt")
	if *updateBytes {
		r.must(os.WriteFile(golden, []byte(out.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	r.must(err)
	got := strings.Split(out.String(), "\n")
	for i, line := range strings.Split(string(want), "\n") {
		if i >= len(got) || got[i] != line {
			t.Fatalf("line %d of %s is\n%s\nand the bytes are now\n%s", i+1, golden, line, got[min(i, len(got)-1)])
		}
	}
}

// bytesDB has a table with a family of each type, and rows whose cells have fixed times.
func bytesDB(t *testing.T) *query.DB {
	t.Helper()
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{
		{Name: "f"}, {Name: "n", Type: cells.TypeI64}, {Name: "s", Type: cells.TypeString},
		{Name: "b", Type: cells.TypeBool}, {Name: "d", Type: cells.TypeF64}, {Name: "r", Type: cells.TypeF32},
	}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	for i, key := range []string{"a", "b\x00", "ö", "\xff\xfe"} {
		m := write.NewMutation()
		m.SetAt("f", "x", 1000, cells.Bytes([]byte("old")))
		m.SetAt("f", "x", 2000, cells.Bytes([]byte{0, byte(i), 0xff}))
		m.SetAt("f", "z", 3000, cells.Bytes(nil))
		m.SetAt("n", "i", 1000, cells.I64(int64(i)-2))
		m.SetAt("b", "x", 1000, cells.Bool(i%2 == 0))
		m.SetAt("d", "x", 1000, cells.F64(float64(i)/3))
		if i > 0 {
			m.SetAt("s", "x", 1000, cells.String(strings.Repeat("é", i)))
			m.SetAt("r", "x", 1000, cells.F32(float32(i)/3))
		}
		if err := db.Table("t").Apply(context.Background(), key, m); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

type typedQuery struct {
	text   string
	types  map[string]*bigtablepb.Type
	values map[string]*bigtablepb.Value
}

// queriesOfEveryType have columns and parameters of each type of SQL.
func queriesOfEveryType() []typedQuery {
	var all []typedQuery
	for _, text := range []string{
		"SELECT _key, f['x'] AS raw, n['i'], s['x'], b['x'], d['x'], r['x'] FROM t",
		"SELECT * FROM t WHERE n['i'] < 1",
		"SELECT * FROM t(with_history => TRUE) ORDER BY _key DESC LIMIT 2",
		"SELECT NULL, [1, NULL], [], ['a'], STRUCT(1 AS a, 'b' AS b, [TRUE] AS c, STRUCT(b'\\xff') AS d)",
		"SELECT DATE '0001-01-01' AS d, TIMESTAMP '1969-12-31 23:59:59.999999' AS t, TIMESTAMP '9999-12-31', CAST(1.5 AS FLOAT32) AS r, CAST('nan' AS FLOAT64), -0.0",
		"SELECT b['x'] AS yes, COUNT(*) AS n, ARRAY_AGG(s['x']) AS names FROM t GROUP BY b['x'] ORDER BY n DESC, yes",
		"SELECT MAP_KEYS(f), MAP_ENTRIES(f) FROM t WHERE _key = 'a'",
		"EXPLAIN SELECT _key FROM t WHERE _key > 'a'",
	} {
		all = append(all, typedQuery{text: text})
	}
	scalar := []*bigtablepb.Type{
		{Kind: &bigtablepb.Type_BytesType{BytesType: &bigtablepb.Type_Bytes{}}}, {Kind: &bigtablepb.Type_StringType{StringType: &bigtablepb.Type_String{}}},
		{Kind: &bigtablepb.Type_Int64Type{Int64Type: &bigtablepb.Type_Int64{}}}, {Kind: &bigtablepb.Type_Float32Type{Float32Type: &bigtablepb.Type_Float32{}}},
		{Kind: &bigtablepb.Type_Float64Type{Float64Type: &bigtablepb.Type_Float64{}}}, {Kind: &bigtablepb.Type_BoolType{BoolType: &bigtablepb.Type_Bool{}}},
		{Kind: &bigtablepb.Type_TimestampType{TimestampType: &bigtablepb.Type_Timestamp{}}}, {Kind: &bigtablepb.Type_DateType{DateType: &bigtablepb.Type_Date{}}},
	}
	values := []*bigtablepb.Value{
		{Kind: &bigtablepb.Value_BytesValue{BytesValue: []byte{0, 0xff}}}, {Kind: &bigtablepb.Value_StringValue{StringValue: "ö"}},
		{Kind: &bigtablepb.Value_IntValue{IntValue: -7}}, {Kind: &bigtablepb.Value_FloatValue{FloatValue: 0.1}},
		{Kind: &bigtablepb.Value_FloatValue{FloatValue: 1e300}}, {Kind: &bigtablepb.Value_BoolValue{BoolValue: true}},
		{Kind: &bigtablepb.Value_TimestampValue{TimestampValue: timestamppb.New(time.UnixMicro(-5))}},
		{Kind: &bigtablepb.Value_DateValue{DateValue: &date.Date{Year: 2024, Month: 2, Day: 29}}},
	}
	for i, typ := range scalar {
		array := &bigtablepb.Type{Kind: &bigtablepb.Type_ArrayType{ArrayType: &bigtablepb.Type_Array{ElementType: typ}}}
		list := &bigtablepb.Value{Kind: &bigtablepb.Value_ArrayValue{ArrayValue: &bigtablepb.ArrayValue{Values: []*bigtablepb.Value{values[i], {}}}}}
		all = append(all, typedQuery{
			text:   "SELECT @v AS v, @none AS none, @list AS list, _key FROM t WHERE @v IN UNNEST(@list)",
			types:  map[string]*bigtablepb.Type{"v": typ, "none": typ, "list": array},
			values: map[string]*bigtablepb.Value{"v": values[i], "none": {}, "list": list},
		})
	}
	return all
}

// writeQueryBytes prepares a query and executes it to its end.
func (r *rig) writeQueryBytes(out *strings.Builder, q typedQuery) {
	r.t.Helper()
	data := bigtablepb.NewBigtableClient(r.conn)
	format := &bigtablepb.PrepareQueryRequest_ProtoFormat{ProtoFormat: &bigtablepb.ProtoFormat{}}
	prepared, err := data.PrepareQuery(r.ctx(), &bigtablepb.PrepareQueryRequest{InstanceName: parent, Query: q.text, ParamTypes: q.types, DataFormat: format})
	r.must(err)
	fmt.Fprintf(out, "query %s\nprepared %x\n", q.text, prepared.GetPreparedQuery())
	req := &bigtablepb.ExecuteQueryRequest{InstanceName: parent, PreparedQuery: prepared.GetPreparedQuery()}
	req.Params = map[string]*bigtablepb.Value{}
	for name, v := range q.values {
		req.Params[name] = &bigtablepb.Value{Type: q.types[name], Kind: v.GetKind()}
	}
	stream, err := data.ExecuteQuery(r.ctx(), req)
	r.must(err)
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return
		}
		r.must(err)
		fmt.Fprintf(out, "rows %x token %x\n", m.GetResults().GetProtoRowsBatch().GetBatchData(), m.GetResults().GetResumeToken())
	}
}

// writeStateOfView writes the cells of the tables that a materialized view has in the
// database.
func writeStateOfView(t *testing.T, out *strings.Builder, db *query.DB, id string) {
	t.Helper()
	for _, kind := range []string{"state", "rows"} {
		table := schema.DerivedName(kind, id)
		for row, err := range db.Table(table).ReadRows(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			for c := range row.Cells() {
				b, _ := c.Value.AsBytes()
				fmt.Fprintf(out, "%s %x %s:%x %x\n", kind, row.Key(), c.Family, c.Qualifier, b)
			}
		}
	}
	notes, err := db.Plumbing().Notes(context.Background(), "materializedViews/")
	if err != nil {
		t.Fatal(err)
	}
	name := parent + "/materializedViews/" + id
	fmt.Fprintf(out, "note %s %s\n", name, hex.EncodeToString(notes["materializedViews/"+name]))
}
