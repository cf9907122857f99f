package server_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"testing"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

func addToCell(family, qualifier string, ts, n int64) *bigtablepb.Mutation {
	return &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_AddToCell_{AddToCell: &bigtablepb.Mutation_AddToCell{
		FamilyName:      family,
		ColumnQualifier: &bigtablepb.Value{Kind: &bigtablepb.Value_RawValue{RawValue: []byte(qualifier)}},
		Timestamp:       &bigtablepb.Value{Kind: &bigtablepb.Value_RawTimestampMicros{RawTimestampMicros: ts}},
		Input:           &bigtablepb.Value{Kind: &bigtablepb.Value_IntValue{IntValue: n}},
	}}}
}

func int64Bytes(n int64) string { return string(binary.BigEndian.AppendUint64(nil, uint64(n))) }

// Values that the shell wrote are sent in Bigtable's encodings, and values that clients
// write into families with a type are checked.
func TestTypedFamilies(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	declared := schema.Table{Name: "t", Families: []schema.Family{{Name: "any"}, {Name: "sum", Aggregate: schema.AggregateSum}}}
	values := []struct {
		family  string
		value   cells.Value
		payload string
		bad     []string
	}{
		{"bytes", cells.Bytes([]byte("\x00\xff")), "\x00\xff", nil},
		{"string", cells.String("naïve"), "naïve", []string{"\xff"}},
		{"bool", cells.Bool(true), "\x01", []string{"", "\x02", "true"}},
		{"byte", cells.Byte(200), int64Bytes(200), []string{"\xc8", int64Bytes(256), int64Bytes(-1)}},
		{"i32", cells.I32(-5), int64Bytes(-5), []string{"\x00\x00\x00\x05", int64Bytes(math.MaxInt32 + 1)}},
		{"i64", cells.I64(-5), int64Bytes(-5), []string{"", "1234567", "123456789"}},
		{"f32", cells.F32(1.5), "\x3f\xc0\x00\x00", []string{"\x3f\xc0\x00"}},
		{"f64", cells.F64(1.5), "\x3f\xf8\x00\x00\x00\x00\x00\x00", []string{"\x3f\xc0\x00\x00"}},
	}
	for _, v := range values {
		declared.Families = append(declared.Families, schema.Family{Name: v.family, Type: v.value.Type()})
	}
	r := serve(t, db, server.Options{Instance: parent})
	r.must(db.CreateTable(r.ctx(), declared))
	data, tab := bigtablepb.NewBigtableClient(r.conn), r.client().Open("t")
	for _, v := range values {
		m := write.NewMutation()
		m.SetAt(v.family, "x", 1, v.value)
		m.SetAt("any", "x", 1, v.value)
		r.must(db.Table("t").Apply(r.ctx(), "shell", m))
		row, err := tab.ReadRow(r.ctx(), "shell")
		r.must(err)
		for _, f := range []string{v.family, "any"} {
			if got := string(row[f][0].Value); got != v.payload {
				t.Errorf("%s in %s reads as %q, want %q", v.value.Type(), f, got, v.payload)
			}
		}
		_, err = data.MutateRow(r.ctx(), &bigtablepb.MutateRowRequest{TableName: tableT, RowKey: []byte("api"),
			Mutations: []*bigtablepb.Mutation{setCell(v.family, "x", 1000, v.payload), setCell("any", "x", 1000, v.payload)}})
		r.must(err)
		stored, err := db.Table("t").ReadRow(r.ctx(), "api")
		r.must(err)
		if c, _ := stored.Cell(v.family, "x"); !c.Value.Equal(v.value) {
			t.Errorf("%q in %s is stored as %s %v", v.payload, v.family, c.Value.Type(), c.Value)
		}
		if c, _ := stored.Cell("any", "x"); c.Value.Type() != cells.TypeBytes {
			t.Errorf("a value in a family without a type is stored as %s", c.Value.Type())
		}
		for _, bad := range v.bad {
			_, err := data.MutateRow(r.ctx(), &bigtablepb.MutateRowRequest{TableName: tableT, RowKey: []byte("bad"),
				Mutations: []*bigtablepb.Mutation{setCell(v.family, "x", 1000, bad)}})
			refused(t, v.family, err, codes.InvalidArgument, v.family)
		}
	}
	_, err = data.MutateRow(r.ctx(), &bigtablepb.MutateRowRequest{TableName: tableT, RowKey: []byte("s"),
		Mutations: []*bigtablepb.Mutation{addToCell("sum", "x", 0, 5), addToCell("sum", "x", 0, -7)}})
	r.must(err)
	row, err := tab.ReadRow(r.ctx(), "s")
	r.must(err)
	if got := string(row["sum"][0].Value); got != int64Bytes(-2) {
		t.Errorf("the sum reads as %q", got)
	}
	_, err = data.MutateRow(r.ctx(), &bigtablepb.MutateRowRequest{TableName: tableT, RowKey: []byte("s"),
		Mutations: []*bigtablepb.Mutation{setCell("sum", "x", 0, int64Bytes(1))}})
	refused(t, "a set in an aggregate", err, codes.InvalidArgument, "add_to_cell")
}

// The types of families are returned as they were declared, and have their meaning.
func TestValueTypes(t *testing.T) {
	r := newRig(t)
	admin := adminpb.NewBigtableTableAdminClient(r.conn)
	int64Type := &adminpb.Type{Kind: &adminpb.Type_Int64Type{Int64Type: &adminpb.Type_Int64{Encoding: &adminpb.Type_Int64_Encoding{
		Encoding: &adminpb.Type_Int64_Encoding_BigEndianBytes_{BigEndianBytes: &adminpb.Type_Int64_Encoding_BigEndianBytes{}}}}}}
	aggregate := func(a *adminpb.Type_Aggregate) *adminpb.Type {
		a.InputType = int64Type
		return &adminpb.Type{Kind: &adminpb.Type_AggregateType{AggregateType: a}}
	}
	given := map[string]struct {
		t    *adminpb.Type
		want string // of the family in the schema
	}{
		"none":      {nil, "none"},
		"bytes":     {&adminpb.Type{Kind: &adminpb.Type_BytesType{BytesType: &adminpb.Type_Bytes{}}}, "bytes type=bytes"},
		"string":    {&adminpb.Type{Kind: &adminpb.Type_StringType{StringType: &adminpb.Type_String{}}}, "string type=string"},
		"int64":     {int64Type, "int64 type=i64"},
		"float32":   {&adminpb.Type{Kind: &adminpb.Type_Float32Type{Float32Type: &adminpb.Type_Float32{}}}, "float32 type=f32"},
		"float64":   {&adminpb.Type{Kind: &adminpb.Type_Float64Type{Float64Type: &adminpb.Type_Float64{}}}, "float64 type=f64"},
		"bool":      {&adminpb.Type{Kind: &adminpb.Type_BoolType{BoolType: &adminpb.Type_Bool{}}}, "bool type=bool"},
		"timestamp": {&adminpb.Type{Kind: &adminpb.Type_TimestampType{TimestampType: &adminpb.Type_Timestamp{}}}, "timestamp type=i64"},
		"date":      {&adminpb.Type{Kind: &adminpb.Type_DateType{DateType: &adminpb.Type_Date{}}}, "date type=bytes"},
		"struct":    {&adminpb.Type{Kind: &adminpb.Type_StructType{StructType: &adminpb.Type_Struct{}}}, "struct type=bytes"},
		"array":     {&adminpb.Type{Kind: &adminpb.Type_ArrayType{ArrayType: &adminpb.Type_Array{}}}, "array type=bytes"},
		"map":       {&adminpb.Type{Kind: &adminpb.Type_MapType{MapType: &adminpb.Type_Map{}}}, "map type=bytes"},
		"proto":     {&adminpb.Type{Kind: &adminpb.Type_ProtoType{ProtoType: &adminpb.Type_Proto{}}}, "proto type=bytes"},
		"enum":      {&adminpb.Type{Kind: &adminpb.Type_EnumType{EnumType: &adminpb.Type_Enum{}}}, "enum type=bytes"},
		"sum":       {aggregate(&adminpb.Type_Aggregate{Aggregator: &adminpb.Type_Aggregate_Sum_{Sum: &adminpb.Type_Aggregate_Sum{}}}), "sum aggregate=sum"},
		"min":       {aggregate(&adminpb.Type_Aggregate{Aggregator: &adminpb.Type_Aggregate_Min_{Min: &adminpb.Type_Aggregate_Min{}}}), "min aggregate=min"},
		"max":       {aggregate(&adminpb.Type_Aggregate{Aggregator: &adminpb.Type_Aggregate_Max_{Max: &adminpb.Type_Aggregate_Max{}}}), "max aggregate=max"},
		"hll": {aggregate(&adminpb.Type_Aggregate{Aggregator: &adminpb.Type_Aggregate_HllppUniqueCount{
			HllppUniqueCount: &adminpb.Type_Aggregate_HyperLogLogPlusPlusUniqueCount{}}}), "hll aggregate=hll"},
	}
	families := map[string]*adminpb.ColumnFamily{}
	for name, g := range given {
		families[name] = &adminpb.ColumnFamily{ValueType: g.t}
	}
	_, err := admin.CreateTable(r.ctx(), &adminpb.CreateTableRequest{Parent: parent, TableId: "t", Table: &adminpb.Table{ColumnFamilies: families}})
	r.must(err)
	got, err := admin.GetTable(r.ctx(), &adminpb.GetTableRequest{Name: tableT})
	r.must(err)
	stored, _ := r.db.LookupTable("proj/inst/t")
	if stored.Retention != schema.Lazy {
		t.Errorf("retention is %v", stored.Retention)
	}
	for name, g := range given {
		f, _ := stored.Family(name)
		if f.String() != g.want {
			t.Errorf("family %s is %q in the schema, want %q", name, f, g.want)
		}
		vt := got.GetColumnFamilies()[name].GetValueType()
		if vt.GetAggregateType() != nil {
			if vt.GetAggregateType().GetStateType() == nil {
				t.Errorf("%s: no state type", name)
			}
			continue
		}
		if !proto.Equal(vt, g.t) {
			t.Errorf("%s: type %v came back as %v", name, g.t, vt)
		}
	}
}

// A filter of values compares the bytes that clients get, for any declared type: an i32
// has eight bytes for clients, in rows and in filters.
func TestValueFiltersSeeWhatClientsGet(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "delay", Type: cells.TypeI32}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r := serve(t, db, server.Options{Instance: parent})
	defer r.stop()
	for i, minutes := range []int32{-3, 7, 119, 120, 400} {
		m := write.NewMutation()
		m.Set("delay", "dep", cells.I32(minutes))
		r.must(db.Table("t").Apply(r.ctx(), fmt.Sprintf("r%d", i), m))
	}
	tab := r.client().Open("t")
	late := bigtable.ValueRangeFilter([]byte(int64Bytes(120)), []byte(int64Bytes(1<<40)))
	var got []string
	r.must(tab.ReadRows(r.ctx(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		got = append(got, row.Key()+"="+strconv.Itoa(int(binary.BigEndian.Uint64(row["delay"][0].Value))))
		return true
	}, bigtable.RowFilter(late)))
	if fmt.Sprint(got) != "[r3=120 r4=400]" {
		t.Errorf("two hours late or more: %v", got)
	}
	var matched bool
	m := bigtable.NewMutation()
	m.DeleteRow()
	r.must(tab.Apply(r.ctx(), "r2", bigtable.NewCondMutation(late, m, nil), bigtable.GetCondMutationResult(&matched)))
	if matched {
		t.Error("119 is 120 or more")
	}
	for n, want := range map[int64]bool{120: true, 121: false, 120 << 32: false} { // which begins as 120 does in four bytes
		set := write.NewMutation()
		set.Set("delay", "seen", cells.I32(1))
		if got, err := r.dialled().Table("t").CheckAndMutate(r.ctx(), "r3", read.Where("delay", "dep", cells.OpEqual, cells.I64(n)), set, nil); err != nil || got != want {
			t.Errorf("120 is %d: %v, %v", n, got, err)
		}
	}
}
