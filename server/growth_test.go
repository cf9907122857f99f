package server_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"cloud.google.com/go/iam/apiv1/iampb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/smolwc/smolwc/server"
)

// A growing request is one call with n elements in one dimension.
type growing struct {
	method  protoreflect.FullName
	n       int // of the shorter one
	request func(n int) proto.Message
}

const dataService, tableService = "google.bigtable.v2.Bigtable.", "google.bigtable.admin.v2.BigtableTableAdmin."

// growingRequests are all dimensions of requests, except for SQL, which has its own
// test.
var growingRequests = map[string]growing{
	"row keys": reading(4000, func(n int, r *bigtablepb.ReadRowsRequest) {
		r.Rows = &bigtablepb.RowSet{RowKeys: listOf(n, func(i int) []byte { return fmt.Appendf(nil, "k%07d", (i*7919)%n) })}
	}),
	"one row key": reading(4000, func(n int, r *bigtablepb.ReadRowsRequest) {
		r.Rows = &bigtablepb.RowSet{RowKeys: listOf(n, func(int) []byte { return []byte("row") })}
	}),
	"row ranges": reading(2000, func(n int, r *bigtablepb.ReadRowsRequest) {
		r.Rows = &bigtablepb.RowSet{RowRanges: listOf(n, func(i int) *bigtablepb.RowRange { return between(2*i, 2*i+1) })}
	}),
	"row ranges in each other": reading(2000, func(n int, r *bigtablepb.ReadRowsRequest) {
		r.Rows = &bigtablepb.RowSet{RowRanges: listOf(n, func(i int) *bigtablepb.RowRange { return between(i, 2*n-i) })}
	}),
	"keys of one length": reading(64, func(n int, r *bigtablepb.ReadRowsRequest) {
		r.Rows = &bigtablepb.RowSet{RowKeys: [][]byte{[]byte(strings.Repeat("k", n))}}
	}),
	"filters in a chain":     filtering(200, func(n int) *rowFilter { return chain(listOf(n, anyValue)...) }),
	"filters side by side":   filtering(200, func(n int) *rowFilter { return interleave(listOf(n, noValue)...) }),
	"filters in filters":     filtering(6, deepChain),
	"conditions":             filtering(4, conditions),
	"regex alternatives":     filtering(500, func(n int) *rowFilter { return keyRegex(strings.Repeat("ab|", n) + "c") }),
	"regex repetitions":      filtering(500, func(n int) *rowFilter { return keyRegex(strings.Repeat("a*", n) + "c") }),
	"regex classes":          filtering(500, func(n int) *rowFilter { return keyRegex(strings.Repeat("[a-z]", n)) }),
	"regex that goes deep":   filtering(50, func(n int) *rowFilter { return keyRegex(strings.Repeat("(", n) + "a" + strings.Repeat(")*", n)) }),
	"bytes of a value range": filtering(1000, func(n int) *rowFilter { return valueFrom(strings.Repeat("v", n)) }),
	"mutations of columns": mutating(2000, func(i int) *bigtablepb.Mutation {
		return setCell("f", fmt.Sprint(i), 1000, "v")
	}),
	"mutations of a column": mutating(2000, func(i int) *bigtablepb.Mutation { return setCell("f", "q", int64(i)*1000, "v") }),
	"deletions of a column": mutating(2000, func(int) *bigtablepb.Mutation {
		return &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_DeleteFromColumn_{DeleteFromColumn: &bigtablepb.Mutation_DeleteFromColumn{FamilyName: "f", ColumnQualifier: []byte("q")}}}
	}),
	"deletions of a row": mutating(2000, func(int) *bigtablepb.Mutation {
		return &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_DeleteFromRow_{DeleteFromRow: &bigtablepb.Mutation_DeleteFromRow{}}}
	}),
	"deletions of families": mutating(500, func(int) *bigtablepb.Mutation {
		return &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_DeleteFromFamily_{DeleteFromFamily: &bigtablepb.Mutation_DeleteFromFamily{FamilyName: "f"}}}
	}),
	"deletions between sets": mutating(500, func(i int) *bigtablepb.Mutation {
		if i%2 == 0 {
			return setCell("f", fmt.Sprint(i), 1000, "v")
		}
		return &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_DeleteFromFamily_{DeleteFromFamily: &bigtablepb.Mutation_DeleteFromFamily{FamilyName: "f"}}}
	}),
	"entries": {dataService + "MutateRows", 1000, func(n int) proto.Message {
		return &bigtablepb.MutateRowsRequest{TableName: tablePath("t"), Entries: listOf(n, func(i int) *bigtablepb.MutateRowsRequest_Entry {
			return &bigtablepb.MutateRowsRequest_Entry{RowKey: fmt.Appendf(nil, "r%d", i), Mutations: []*bigtablepb.Mutation{setCell("f", "q", 1000, "v")}}
		})}
	}},
	"entries of a row": {dataService + "MutateRows", 1000, func(n int) proto.Message {
		return &bigtablepb.MutateRowsRequest{TableName: tablePath("t"), Entries: listOf(n, func(i int) *bigtablepb.MutateRowsRequest_Entry {
			return &bigtablepb.MutateRowsRequest_Entry{RowKey: []byte("w"), Mutations: []*bigtablepb.Mutation{setCell("f", "q", 1000, "v")}}
		})}
	}},
	"mutations behind a condition": {dataService + "CheckAndMutateRow", 2000, func(n int) proto.Message {
		return &bigtablepb.CheckAndMutateRowRequest{TableName: tablePath("t"), RowKey: []byte("w"), PredicateFilter: anyValue(0),
			TrueMutations: listOf(n, func(i int) *bigtablepb.Mutation { return setCell("f", fmt.Sprint(i), 1000, "v") })}
	}},
	"increments of columns": modifying(1000, func(i int) string { return fmt.Sprint(i) }),
	"increments of one":     modifying(1000, func(int) string { return "n" }),
	"appends to one": {dataService + "ReadModifyWriteRow", 1000, func(n int) proto.Message {
		row := rand.Text() // otherwise the value would grow with each try
		return &bigtablepb.ReadModifyWriteRowRequest{TableName: tablePath("t"), RowKey: []byte(row), Rules: listOf(n, func(int) *bigtablepb.ReadModifyWriteRule {
			return &bigtablepb.ReadModifyWriteRule{FamilyName: "f", ColumnQualifier: []byte("a"), Rule: &bigtablepb.ReadModifyWriteRule_AppendValue{AppendValue: make([]byte, 500)}}
		})}
	}},
	"families of no table": {tableService + "ModifyColumnFamilies", 1000, func(n int) proto.Message {
		return &adminpb.ModifyColumnFamiliesRequest{Name: tablePath("none"), Modifications: listOf(n, func(i int) *adminpb.ModifyColumnFamiliesRequest_Modification {
			return &adminpb.ModifyColumnFamiliesRequest_Modification{Id: fmt.Sprint("f", i), Mod: &adminpb.ModifyColumnFamiliesRequest_Modification_Create{Create: &adminpb.ColumnFamily{}}}
		})}
	}},
	"changes of one family": {tableService + "ModifyColumnFamilies", 1000, func(n int) proto.Message {
		return &adminpb.ModifyColumnFamiliesRequest{Name: tablePath("t"), Modifications: listOf(n, func(i int) *adminpb.ModifyColumnFamiliesRequest_Modification {
			return &adminpb.ModifyColumnFamiliesRequest_Modification{Id: "g", Mod: &adminpb.ModifyColumnFamiliesRequest_Modification_Update{
				Update: &adminpb.ColumnFamily{GcRule: &adminpb.GcRule{Rule: &adminpb.GcRule_MaxNumVersions{MaxNumVersions: int32(i + 1)}}}}}
		})}
	}},
	"splits of a table that there is": {tableService + "CreateTable", 2000, func(n int) proto.Message {
		return &adminpb.CreateTableRequest{Parent: parent, TableId: "t", Table: &adminpb.Table{}, InitialSplits: listOf(n, func(i int) *adminpb.CreateTableRequest_Split {
			return &adminpb.CreateTableRequest_Split{Key: fmt.Appendf(nil, "%d", i)}
		})}
	}},
	"permissions": {tableService + "TestIamPermissions", 2000, func(n int) proto.Message {
		return &iampb.TestIamPermissionsRequest{Resource: tablePath("t"), Permissions: listOf(n, func(i int) string { return fmt.Sprint("bigtable.tables.p", i) })}
	}},
	"bytes of a table's name": {tableService + "GetTable", 4000, func(n int) proto.Message {
		return &adminpb.GetTableRequest{Name: tablePath(strings.Repeat("t", n))}
	}},
	"bytes of a page token": {tableService + "ListTables", 4000, func(n int) proto.Message {
		return &adminpb.ListTablesRequest{Parent: parent, PageToken: strings.Repeat("t", n)}
	}},
}

// A request with eight times as many elements, in any dimension, takes about eight
// times as long: 64 times as long would not be linear time.
func TestRequestsTakeLinearTime(t *testing.T) {
	r := newRig(t)
	r.table("t", "f", "g")
	r.set(r.table("small", "f"), "row", "f:q=v")
	for name, g := range growingRequests {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(g.method)
		if err != nil {
			t.Fatal(name, err)
		}
		method := d.(protoreflect.MethodDescriptor)
		best := func(rounds, n int) time.Duration {
			least := time.Hour
			for range rounds {
				req := g.request(n)
				began := time.Now()
				_ = r.call(method, req) // the time of a refusal too
				least = min(least, time.Since(began))
			}
			return max(least, 2*time.Millisecond) // too little to be compared
		}
		for try := 0; ; try++ {
			short, long := best(3, g.n), best(1+try, 8*g.n)
			if testing.Verbose() && try == 0 {
				t.Logf("%s: %d take %v, 8 times as many %v", name, g.n, short, long)
			}
			if long < 30*short {
				break
			}
			if try == 3 {
				t.Errorf("%s: %d take %v, 8 times as many %v", name, g.n, short, long)
				break
			}
		}
	}
}

func listOf[T any](n int, of func(int) T) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = of(i)
	}
	return all
}

func reading(n int, with func(n int, r *bigtablepb.ReadRowsRequest)) growing {
	return growing{dataService + "ReadRows", n, func(n int) proto.Message {
		r := &bigtablepb.ReadRowsRequest{TableName: tablePath("small")}
		with(n, r)
		return r
	}}
}

func filtering(n int, filter func(n int) *rowFilter) growing {
	return reading(n, func(n int, r *bigtablepb.ReadRowsRequest) { r.Filter = filter(n) })
}

func mutating(n int, mutation func(i int) *bigtablepb.Mutation) growing {
	return growing{dataService + "MutateRow", n, func(n int) proto.Message {
		return &bigtablepb.MutateRowRequest{TableName: tablePath("t"), RowKey: []byte("w"), Mutations: listOf(n, mutation)}
	}}
}

func modifying(n int, qualifier func(i int) string) growing {
	return growing{dataService + "ReadModifyWriteRow", n, func(n int) proto.Message {
		return &bigtablepb.ReadModifyWriteRowRequest{TableName: tablePath("t"), RowKey: []byte("i"), Rules: listOf(n, func(i int) *bigtablepb.ReadModifyWriteRule {
			return &bigtablepb.ReadModifyWriteRule{FamilyName: "f", ColumnQualifier: []byte(qualifier(i)), Rule: &bigtablepb.ReadModifyWriteRule_IncrementAmount{IncrementAmount: 1}}
		})}
	}}
}

func between(from, to int) *bigtablepb.RowRange {
	return &bigtablepb.RowRange{StartKey: &bigtablepb.RowRange_StartKeyClosed{StartKeyClosed: fmt.Appendf(nil, "k%07d", from)},
		EndKey: &bigtablepb.RowRange_EndKeyOpen{EndKeyOpen: fmt.Appendf(nil, "k%07d", to)}}
}

func anyValue(int) *rowFilter {
	return &rowFilter{Filter: &bigtablepb.RowFilter_PassAllFilter{PassAllFilter: true}}
}

func noValue(int) *rowFilter {
	return &rowFilter{Filter: &bigtablepb.RowFilter_BlockAllFilter{BlockAllFilter: true}}
}

func keyRegex(expr string) *rowFilter {
	return &rowFilter{Filter: &bigtablepb.RowFilter_RowKeyRegexFilter{RowKeyRegexFilter: []byte(expr)}}
}

func valueFrom(v string) *rowFilter {
	return &rowFilter{Filter: &bigtablepb.RowFilter_ValueRangeFilter{ValueRangeFilter: &bigtablepb.ValueRange{StartValue: &bigtablepb.ValueRange_StartValueClosed{StartValueClosed: []byte(v)}}}}
}

// deepChain is n filters in each other.
func deepChain(n int) *rowFilter {
	if n == 0 {
		return anyValue(0)
	}
	return chain(anyValue(0), deepChain(n-1))
}

// conditions are n conditions in each other's predicates and branches.
func conditions(n int) *rowFilter {
	if n == 0 {
		return anyValue(0)
	}
	inner := conditions(n - 1)
	return &rowFilter{Filter: &bigtablepb.RowFilter_Condition_{Condition: &bigtablepb.RowFilter_Condition{PredicateFilter: anyValue(0), TrueFilter: inner, FalseFilter: anyValue(0)}}}
}

// A call ends when its client leaves, at any point of its work: it then holds no bytes
// and no lock of a row.
func TestCallsWhoseClientLeavesEnd(t *testing.T) {
	r, s, _ := limited(t, server.Limits{})
	r.table("t", "f", "g")
	small := r.table("small", "f")
	r.set(small, "row", "f:q="+strings.Repeat("v", 1<<20)) // enough to count
	for name, g := range growingRequests {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(g.method)
		if err != nil {
			t.Fatal(name, err)
		}
		req, method := g.request(8*g.n), d.(protoreflect.MethodDescriptor)
		for _, after := range []time.Duration{0, 100 * time.Microsecond, time.Millisecond, 5 * time.Millisecond} {
			ctx, cancel := context.WithTimeout(r.ctx(), after)
			_ = r.callIn(ctx, method, req)
			cancel()
		}
	}
	r.until("all calls having ended", func() bool { return inHand(t, s) == 0 && r.snapshots() == 0 })
	for _, row := range []string{"w", "i"} {
		r.set(r.client().Open("t"), row, "g:q=v")
	}
}
