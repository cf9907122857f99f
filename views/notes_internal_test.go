package views

import (
	"fmt"
	"reflect"
	"testing"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/sql/rowkey"
	"github.com/smolwc/smolwc/sql/value"
)

// The numbers are those in Bigtable's messages.
func TestNotesAreMessagesOfBigtable(t *testing.T) {
	coded := &adminpb.Type_Int64_Encoding{Encoding: &adminpb.Type_Int64_Encoding_OrderedCodeBytes_{OrderedCodeBytes: &adminpb.Type_Int64_Encoding_OrderedCodeBytes{}}}
	big := &adminpb.Type_Int64_Encoding{Encoding: &adminpb.Type_Int64_Encoding_BigEndianBytes_{BigEndianBytes: &adminpb.Type_Int64_Encoding_BigEndianBytes{}}}
	number := func(e *adminpb.Type_Int64_Encoding) *adminpb.Type {
		return &adminpb.Type{Kind: &adminpb.Type_Int64Type{Int64Type: &adminpb.Type_Int64{Encoding: e}}}
	}
	at := func(e *adminpb.Type_Int64_Encoding) *adminpb.Type {
		of := &adminpb.Type_Timestamp_Encoding{Encoding: &adminpb.Type_Timestamp_Encoding_UnixMicrosInt64{UnixMicrosInt64: e}}
		return &adminpb.Type{Kind: &adminpb.Type_TimestampType{TimestampType: &adminpb.Type_Timestamp{Encoding: of}}}
	}
	types := []struct {
		message *adminpb.Type
		field   rowkey.Field
	}{
		{&adminpb.Type{Kind: &adminpb.Type_StringType{StringType: &adminpb.Type_String{Encoding: &adminpb.Type_String_Encoding{Encoding: &adminpb.Type_String_Encoding_Utf8Bytes_{Utf8Bytes: &adminpb.Type_String_Encoding_Utf8Bytes{}}}}}}, rowkey.Field{Kind: value.TypeString}},
		{&adminpb.Type{Kind: &adminpb.Type_BytesType{BytesType: &adminpb.Type_Bytes{}}}, rowkey.Field{Kind: value.TypeBytes}},
		{number(nil), rowkey.Field{Kind: value.TypeInt64}},
		{number(big), rowkey.Field{Kind: value.TypeInt64}},
		{number(coded), rowkey.Field{Kind: value.TypeInt64, OrderedCode: true}},
		{&adminpb.Type{Kind: &adminpb.Type_TimestampType{TimestampType: &adminpb.Type_Timestamp{}}}, rowkey.Field{Kind: value.TypeTimestamp}},
		{at(big), rowkey.Field{Kind: value.TypeTimestamp}},
		{at(coded), rowkey.Field{Kind: value.TypeTimestamp, OrderedCode: true}},
		{&adminpb.Type{Kind: &adminpb.Type_BoolType{BoolType: &adminpb.Type_Bool{}}}, rowkey.Field{}},
		{nil, rowkey.Field{}},
	}
	layouts := []struct {
		message   *adminpb.Type_Struct_Encoding
		layout    rowkey.Layout
		delimiter string
	}{
		{nil, rowkey.Singleton, ""},
		{&adminpb.Type_Struct_Encoding{Encoding: &adminpb.Type_Struct_Encoding_Singleton_{Singleton: &adminpb.Type_Struct_Encoding_Singleton{}}}, rowkey.Singleton, ""},
		{&adminpb.Type_Struct_Encoding{Encoding: &adminpb.Type_Struct_Encoding_DelimitedBytes_{DelimitedBytes: &adminpb.Type_Struct_Encoding_DelimitedBytes{Delimiter: []byte("#\x00")}}}, rowkey.Delimited, "#\x00"},
		{&adminpb.Type_Struct_Encoding{Encoding: &adminpb.Type_Struct_Encoding_OrderedCodeBytes_{OrderedCodeBytes: &adminpb.Type_Struct_Encoding_OrderedCodeBytes{}}}, rowkey.Ordered, ""},
	}
	for _, l := range layouts {
		m := &adminpb.Type_Struct{Encoding: l.message}
		var fields []rowkey.Field
		for i, typ := range types {
			typ.field.Name = fmt.Sprint("field", i)
			fields = append(fields, typ.field)
			m.Fields = append(m.Fields, &adminpb.Type_Struct_Field{FieldName: typ.field.Name, Type: typ.message})
		}
		b, err := proto.Marshal(&adminpb.CreateTableRequest{Parent: "p", TableId: "t", Table: &adminpb.Table{Name: "n", DeletionProtection: true, RowKeySchema: m}})
		if err != nil {
			t.Fatal(err)
		}
		note, err := readTableNote(b)
		if want := rowkey.New(l.layout, l.delimiter, fields...); err != nil || !reflect.DeepEqual(note.rowKeys, want) {
			t.Errorf("%v reads as %+v, %v; want %+v", m, note.rowKeys, err, want)
		}
	}
	for _, view := range []View{{SQL: "SELECT 1"}, {SQL: "SELECT 'é'", Protected: true}, {}} {
		for _, m := range []proto.Message{&adminpb.LogicalView{Query: view.SQL, DeletionProtection: view.Protected}, &adminpb.MaterializedView{Query: view.SQL, DeletionProtection: view.Protected}} {
			b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
			if err != nil || string(b) != string(view.note()) {
				t.Errorf("the note of %+v is %x, and the message is %x, %v", view, view.note(), b, err)
			}
			var back View
			if err := back.readNote(b); err != nil || back != view {
				t.Errorf("the note of %+v reads as %+v, %v", view, back, err)
			}
		}
	}
}

// Notes come from the disk: none makes a reader panic.
func TestDamagedNotesAreErrors(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		b := rapid.SliceOf(rapid.Byte()).Draw(r, "note")
		if rapid.Bool().Draw(r, "framed") && len(b) < 100 { // as a table with a schema of row keys
			b = append([]byte{0x7a, byte(len(b))}, b...)
			b = append([]byte{0x1a, byte(len(b))}, b...)
		}
		note, err := readTableNote(b)
		if err == nil {
			for id := range note.bundles {
				_, _, _ = note.bundle(id)
			}
		}
		_ = new(View).readNote(b)
	})
}
