package server_test

import (
	"math"
	"testing"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
)

// Of a conditional write the branch that is not taken may name families that there
// are not; of the one that is taken nothing is written then.
func TestBranchesWithUnknownFamilies(t *testing.T) {
	r := newRig(t)
	r.table("t", "f")
	data := bigtablepb.NewBigtableClient(r.conn)
	known := []*bigtablepb.Mutation{cellAt("f", 1000)}
	unknown := []*bigtablepb.Mutation{cellAt("f", 2000), cellAt("none", 1000)}
	wrong := []*bigtablepb.Mutation{cellAt("f", 1)}
	for _, c := range []struct {
		what    string
		yes, no []*bigtablepb.Mutation
		want    codes.Code
		cells   int
	}{
		{"taken", known, unknown, codes.NotFound, 0}, // the row is not there yet
		{"alone", nil, unknown, codes.NotFound, 0},
		{"not taken", unknown, known, codes.OK, 1},
		{"taken, the row is there", unknown, known, codes.NotFound, 1},
		{"not taken and wrong", known, wrong, codes.InvalidArgument, 1},
		{"not taken, the row is there", known, unknown, codes.OK, 1},
	} {
		_, err := data.CheckAndMutateRow(r.ctx(), &bigtablepb.CheckAndMutateRowRequest{TableName: parent + "/tables/t", RowKey: []byte("k"), TrueMutations: c.yes, FalseMutations: c.no})
		wantCode(t, c.what, err, c.want)
		if got := r.cellsOf("t"); len(got) != c.cells {
			t.Errorf("%s: the table has %v", c.what, got)
		}
	}
}

// Ranges of deletes go by the table's granularity, and may end at the end of time.
func TestGranularityOfDeletes(t *testing.T) {
	r := newRig(t)
	r.table("t", "f")
	data := bigtablepb.NewBigtableClient(r.conn)
	for _, c := range []struct {
		since, until int64
		want         codes.Code
		cells        int
	}{
		{1001, 3000, codes.InvalidArgument, 1},
		{1000, 3001, codes.InvalidArgument, 1},
		{3000, 0, codes.OK, 1},
		{1000, 3000, codes.OK, 0},
		{1000, math.MaxInt64 / 1000 * 1000, codes.OK, 0},
	} {
		_, err := data.MutateRow(r.ctx(), &bigtablepb.MutateRowRequest{TableName: parent + "/tables/t", RowKey: []byte("k"), Mutations: []*bigtablepb.Mutation{cellAt("f", 2000)}})
		r.must(err)
		_, err = data.MutateRow(r.ctx(), &bigtablepb.MutateRowRequest{TableName: parent + "/tables/t", RowKey: []byte("k"), Mutations: []*bigtablepb.Mutation{
			{Mutation: &bigtablepb.Mutation_DeleteFromColumn_{DeleteFromColumn: &bigtablepb.Mutation_DeleteFromColumn{
				FamilyName: "f", TimeRange: &bigtablepb.TimestampRange{StartTimestampMicros: c.since, EndTimestampMicros: c.until}}}}}})
		wantCode(t, "delete", err, c.want)
		if got := r.cellsOf("t"); len(got) != c.cells {
			t.Errorf("[%d, %d) leaves %v", c.since, c.until, got)
		}
	}
}

// cellAt sets a cell without a qualifier.
func cellAt(family string, ts int64) *bigtablepb.Mutation {
	return &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{FamilyName: family, TimestampMicros: ts, Value: []byte("v")}}}
}
