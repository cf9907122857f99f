package server_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"

	"github.com/smolwc/smolwc/query"
)

// The branch of a conditional write that is not taken may name unknown families; if the
// branch that is taken names one, nothing is written.
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
		{"taken", known, unknown, codes.NotFound, 0}, // the row does not exist yet
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

// Time ranges of deletes follow the table's granularity, and may end at the last
// timestamp.
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

// Timestamps go up to the last whole millisecond of 64 bits, as in programs that store
// reversed times.
func TestTimestampsUpToTheLast(t *testing.T) {
	r := newRig(t)
	table, began := r.streamed("t"), time.Now()
	const last, before = math.MaxInt64 / 1000 * 1000, math.MaxInt64/1000*1000 - 1000
	for _, ts := range []int64{1000, before, last} {
		m := bigtable.NewMutation()
		m.Set("f", "q", bigtable.Timestamp(ts), []byte("v"))
		m.AddIntToCell("sum", "q", bigtable.Timestamp(ts), 1)
		r.must(table.Apply(r.ctx(), "k", m))
	}
	least := 2
	if query.DefaultEngine() == query.EnginePebble {
		least = 6 // the first on Pebble
	}
	if got := r.db.Format(); got != least {
		t.Errorf("the database has format %d, want %d", got, least)
	}
	behind := int64(last)
	behind += 1000
	for _, ts := range []int64{behind, math.MaxInt64, math.MinInt64} {
		_, err := r.data().MutateRow(r.ctx(), &bigtablepb.MutateRowRequest{TableName: tablePath("t"), RowKey: []byte("k"), Mutations: []*bigtablepb.Mutation{cellAt("f", ts)}})
		wantCode(t, fmt.Sprint("a cell at ", ts), err, codes.InvalidArgument)
	}
	want := func(what string, got string, parts ...string) {
		t.Helper()
		if want := strings.Join(parts, " "); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	at := func(ts int64) string { return fmt.Sprintf("f:q@%d=v", ts) }
	read := func(start, end int64) string {
		f := bigtable.ChainFilters(bigtable.FamilyFilter("f"), bigtable.TimestampRangeFilterMicros(bigtable.Timestamp(start), bigtable.Timestamp(end)))
		return r.rows(table, bigtable.InfiniteRange(""), bigtable.RowFilter(f))
	}
	want("all", read(0, 0), "k", at(last), at(before), at(1000))
	want("before the last", read(0, last), "k", at(before), at(1000))
	want("the last alone", read(last, 0), "k", at(last))
	want("up to the last", read(before, math.MaxInt64), "k", at(before)) // the client rounds it to milliseconds
	want("nothing", read(last, last), "")
	one := "\x00\x00\x00\x00\x00\x00\x00\x01"
	want("sums", r.rows(table, bigtable.InfiniteRange(""), bigtable.RowFilter(bigtable.FamilyFilter("sum"))),
		"k", fmt.Sprintf("sum:q@%d=%s", int64(last), one), fmt.Sprintf("sum:q@%d=%s", int64(before), one), fmt.Sprintf("sum:q@1000=%s", one))

	rmw := bigtable.NewReadModifyWrite()
	rmw.AppendValue("f", "q", []byte("w")) // where the newest cell is
	row, err := table.ApplyReadModifyWrite(r.ctx(), "k", rmw)
	r.must(err)
	want("appended", show(row), "k", at(last)+"w")

	m := bigtable.NewMutation()
	m.DeleteTimestampRange("f", "q", last, 0)
	r.must(table.Apply(r.ctx(), "k", m))
	want("the last deleted", read(0, 0), "k", at(before), at(1000))
	got, err := r.query(r.client(), "SELECT UNIX_MICROS(f['q'][0].timestamp), ARRAY_LENGTH(f['q']) FROM t(with_history => TRUE) WHERE _key = 'k'", nil, nil)
	r.must(err)
	want("SQL", got, fmt.Sprint(int64(before)), "2")
	got, err = r.query(r.client(), "SELECT UNIX_MICROS(f['q'][0].timestamp) FROM t(with_history => TRUE, before => TIMESTAMP '9999-12-31', after => TIMESTAMP_MILLIS(0))", nil, nil)
	r.must(err)
	want("SQL of a time range", got, "1000")

	var deletes []string
	for _, c := range r.all(&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("t"), Partition: rowsPartition("", ""), StartFrom: since(began)}) {
		deletes = append(deletes, c.text())
	}
	want("the last changes", strings.Join(deletes[max(0, len(deletes)-2):], "; "),
		fmt.Sprintf(`USER k f:q@%d="vw"; USER k -f:q[%d,0)`, int64(last), int64(last)))
}

// cellAt sets a cell without a qualifier.
func cellAt(family string, ts int64) *bigtablepb.Mutation {
	return &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{FamilyName: family, TimestampMicros: ts, Value: []byte("v")}}}
}
