package codec

import (
	"testing"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/api/wire"
)

func anySetCells(t *rapid.T) []*bigtablepb.Mutation {
	bytes := rapid.SliceOfN(rapid.Byte(), 0, 200)
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *bigtablepb.Mutation {
		m := &bigtablepb.Mutation{TimestampOrigin: bigtablepb.Mutation_TimestampOrigin(rapid.IntRange(0, 2).Draw(t, "origin"))}
		m.Mutation = &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{
			FamilyName: rapid.String().Draw(t, "family"), ColumnQualifier: bytes.Draw(t, "qualifier"),
			TimestampMicros: rapid.Int64().Draw(t, "timestamp"), Value: bytes.Draw(t, "value"),
		}}
		return m
	}), 0, 8).Draw(t, "cells")
}

func anyRules(t *rapid.T) []*bigtablepb.ReadModifyWriteRule {
	bytes := rapid.SliceOfN(rapid.Byte(), 0, 20)
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *bigtablepb.ReadModifyWriteRule {
		r := &bigtablepb.ReadModifyWriteRule{FamilyName: rapid.String().Draw(t, "family"), ColumnQualifier: bytes.Draw(t, "qualifier")}
		switch rapid.IntRange(0, 2).Draw(t, "rule") {
		case 1:
			r.Rule = &bigtablepb.ReadModifyWriteRule_AppendValue{AppendValue: bytes.Draw(t, "append")}
		case 2:
			r.Rule = &bigtablepb.ReadModifyWriteRule_IncrementAmount{IncrementAmount: rapid.Int64().Draw(t, "increment")}
		}
		return r
	}), 0, 8).Draw(t, "rules")
}

// A request that only sets cells is decoded without the library, with the same result.
func TestWritesAreDecodedAsTheLibraryDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := &bigtablepb.MutateRowRequest{TableName: rapid.String().Draw(t, "table"), AppProfileId: rapid.String().Draw(t, "profile"), RowKey: rapid.SliceOf(rapid.Byte()).Draw(t, "key"), Mutations: anySetCells(t)}
		rows := &bigtablepb.MutateRowsRequest{TableName: row.TableName, AppProfileId: row.AppProfileId}
		for range rapid.IntRange(0, 4).Draw(t, "rows") {
			rows.Entries = append(rows.Entries, &bigtablepb.MutateRowsRequest_Entry{RowKey: rapid.SliceOf(rapid.Byte()).Draw(t, "key"), Mutations: anySetCells(t)})
		}
		check := &bigtablepb.CheckAndMutateRowRequest{TableName: row.TableName, AppProfileId: row.AppProfileId, RowKey: row.RowKey, TrueMutations: row.Mutations, FalseMutations: anySetCells(t)}
		if rapid.Bool().Draw(t, "filtered") {
			check.PredicateFilter = &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_ValueRegexFilter{ValueRegexFilter: row.RowKey}}
		}
		modify := &bigtablepb.ReadModifyWriteRowRequest{TableName: row.TableName, AppProfileId: row.AppProfileId, RowKey: row.RowKey, Rules: anyRules(t)}
		for _, want := range []proto.Message{row, rows, check, modify} {
			b, err := proto.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			got := want.ProtoReflect().New().Interface()
			if !decodeWrite(b, got) {
				t.Fatalf("left to the library: %v", want)
			}
			if !proto.Equal(got, want) {
				t.Fatalf("%v, want %v", got, want)
			}
		}
	})
}

// A request with other mutations is left to the library.
func TestOtherWritesAreLeftToTheLibrary(t *testing.T) {
	set := &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{FamilyName: "f"}}}
	typed := &bigtablepb.ReadModifyWriteRule{FamilyName: "f"} // with a field that only smolwc knows
	wire.SetExact(typed, 1)
	remove := &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_DeleteFromRow_{DeleteFromRow: &bigtablepb.Mutation_DeleteFromRow{}}}
	for _, m := range []proto.Message{
		&bigtablepb.MutateRowRequest{Mutations: []*bigtablepb.Mutation{set, remove}},
		&bigtablepb.MutateRowRequest{Mutations: []*bigtablepb.Mutation{set}, AuthorizedViewName: "v"},
		&bigtablepb.MutateRowRequest{Mutations: []*bigtablepb.Mutation{set}, Idempotency: &bigtablepb.Idempotency{}},
		&bigtablepb.MutateRowsRequest{Entries: []*bigtablepb.MutateRowsRequest_Entry{{Mutations: []*bigtablepb.Mutation{remove}}}},
		&bigtablepb.MutateRowsRequest{AuthorizedViewName: "v"},
		&bigtablepb.CheckAndMutateRowRequest{FalseMutations: []*bigtablepb.Mutation{remove}},
		&bigtablepb.CheckAndMutateRowRequest{AuthorizedViewName: "v"},
		&bigtablepb.ReadModifyWriteRowRequest{AuthorizedViewName: "v"},
		&bigtablepb.ReadModifyWriteRowRequest{Rules: []*bigtablepb.ReadModifyWriteRule{typed}},
	} {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if decodeWrite(b, m.ProtoReflect().New().Interface()) {
			t.Errorf("decoded: %v", m)
		}
	}
}

// The library decodes the same bytes to the same request.
func FuzzDecodeWrite(f *testing.F) {
	cell := &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{FamilyName: "f", ColumnQualifier: []byte("q"), TimestampMicros: -1, Value: []byte("v")}}}
	for _, m := range []proto.Message{
		&bigtablepb.MutateRowRequest{TableName: "t", RowKey: []byte("k"), Mutations: []*bigtablepb.Mutation{cell, cell}},
		&bigtablepb.MutateRowsRequest{TableName: "t", Entries: []*bigtablepb.MutateRowsRequest_Entry{{RowKey: []byte("k"), Mutations: []*bigtablepb.Mutation{cell}}}},
		&bigtablepb.CheckAndMutateRowRequest{TableName: "t", RowKey: []byte("k"), PredicateFilter: &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_PassAllFilter{PassAllFilter: true}}, TrueMutations: []*bigtablepb.Mutation{cell}, FalseMutations: []*bigtablepb.Mutation{cell}},
		&bigtablepb.ReadModifyWriteRowRequest{TableName: "t", RowKey: []byte("k"), Rules: []*bigtablepb.ReadModifyWriteRule{
			{FamilyName: "f", ColumnQualifier: []byte("q"), Rule: &bigtablepb.ReadModifyWriteRule_IncrementAmount{IncrementAmount: -1}},
			{FamilyName: "f", ColumnQualifier: []byte("q"), Rule: &bigtablepb.ReadModifyWriteRule_AppendValue{AppendValue: []byte("v")}},
		}},
	} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, got := range []proto.Message{new(bigtablepb.MutateRowRequest), new(bigtablepb.MutateRowsRequest), new(bigtablepb.CheckAndMutateRowRequest), new(bigtablepb.ReadModifyWriteRowRequest)} {
			if !decodeWrite(b, got) {
				continue
			}
			want := got.ProtoReflect().New().Interface()
			if err := proto.Unmarshal(b, want); err != nil {
				t.Fatalf("decoded, and the library says %v", err)
			}
			if !proto.Equal(got, want) {
				t.Fatalf("%v, want %v", got, want)
			}
		}
	})
}
