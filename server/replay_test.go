package server_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
)

func mergeToCell(family, qualifier string, ts int64, input *bigtablepb.Value) *bigtablepb.Mutation {
	return &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_MergeToCell_{MergeToCell: &bigtablepb.Mutation_MergeToCell{
		FamilyName:      family,
		ColumnQualifier: raw([]byte(qualifier)),
		Timestamp:       &bigtablepb.Value{Kind: &bigtablepb.Value_RawTimestampMicros{RawTimestampMicros: ts}},
		Input:           input,
	}}}
}

func raw(b []byte) *bigtablepb.Value {
	return &bigtablepb.Value{Kind: &bigtablepb.Value_RawValue{RawValue: b}}
}

// aggregates creates a table that has one family for each aggregate.
func (r *rig) aggregates(name string, keep time.Duration) *bigtable.Table {
	r.t.Helper()
	families := map[string]bigtable.Family{"f": {GCPolicy: bigtable.NoGcPolicy()}}
	for family, a := range map[string]bigtable.Aggregator{
		"sum": bigtable.SumAggregator{}, "min": bigtable.MinAggregator{}, "max": bigtable.MaxAggregator{}, "hll": bigtable.HllppUniqueCountAggregator{},
	} {
		families[family] = bigtable.Family{ValueType: bigtable.AggregateType{Input: bigtable.Int64Type{}, Aggregator: a}}
	}
	conf := &bigtable.TableConf{TableID: name, ColumnFamilies: families}
	if keep != 0 {
		conf.ChangeStreamRetention = keep
	}
	r.must(r.admin().CreateTableFromConf(r.ctx(), conf))
	return r.client().Open(name)
}

// The mutations of a change stream can be sent to another table unchanged, which then
// has the same content, also in aggregates.
func TestChangesCanBeReplayed(t *testing.T) {
	r := newRig(t)
	from, began := r.aggregates("from", 24*time.Hour), time.Now()
	to := r.aggregates("to", 0)
	for i := range int64(40) {
		m := bigtable.NewMutation()
		for _, family := range []string{"sum", "min", "max", "hll"} {
			m.AddIntToCell(family, "n", bigtable.Timestamp(i%2*1000), i*i-100)
		}
		m.Set("f", "q", 1000, []byte(fmt.Sprint(i)))
		r.must(from.Apply(r.ctx(), fmt.Sprint("row", i%3), m))
	}
	for _, n := range []int64{math.MaxInt64, math.MaxInt64, math.MinInt64} { // wide, and narrow again
		m := bigtable.NewMutation()
		m.AddIntToCell("sum", "wide", 0, n)
		r.must(from.Apply(r.ctx(), "wide", m))
	}
	m := bigtable.NewMutation()
	m.DeleteTimestampRange("hll", "n", 0, 1000)
	r.must(from.Apply(r.ctx(), "row1", m))

	for _, c := range r.all(&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("from"), Partition: rowsPartition("", ""), StartFrom: since(began)}) {
		_, err := r.data().MutateRow(r.ctx(), &bigtablepb.MutateRowRequest{TableName: tablePath("to"), RowKey: c.GetRowKey(), Mutations: c.mutations})
		r.must(err)
	}
	rows := func(table *bigtable.Table) (all []string) {
		r.must(table.ReadRows(r.ctx(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
			for _, family := range []string{"f", "hll", "max", "min", "sum"} {
				for _, item := range row[family] {
					all = append(all, fmt.Sprintf("%s %s@%d=%q", item.Row, item.Column, item.Timestamp, item.Value))
				}
			}
			return true
		}))
		return all
	}
	want, got := rows(from), rows(to)
	if len(want) != 27 || !slices.Equal(got, want) {
		t.Errorf("replayed\n%q\nof\n%q", got, want)
	}
}

// A sketch of any values is accepted; other bytes change nothing.
func TestMergeToCell(t *testing.T) {
	r := newRig(t)
	table := r.aggregates("t", 0)
	sketch := func(hashes ...uint64) []byte {
		b := []byte{1, 0}
		for _, h := range hashes {
			b = binary.BigEndian.AppendUint64(b, h)
		}
		return b
	}
	registers := append([]byte{1, 1}, make([]byte, 1<<14)...)
	mutate := func(row string, ms ...*bigtablepb.Mutation) error {
		_, err := r.data().MutateRow(r.ctx(), &bigtablepb.MutateRowRequest{TableName: tablePath("t"), RowKey: []byte(row), Mutations: ms})
		return err
	}
	count := func(row, family string) int64 {
		t.Helper()
		got, err := table.ReadRow(r.ctx(), row)
		r.must(err)
		if len(got[family]) != 1 {
			t.Fatalf("%s has %v", row, got)
		}
		return int64(binary.BigEndian.Uint64(got[family][0].Value))
	}
	merge := func(b []byte) *bigtablepb.Mutation { return mergeToCell("hll", "n", 1000, raw(b)) }
	r.must(mutate("r", merge(sketch(1, 2, 3)), merge(sketch(3, 4)), merge(sketch(1))))
	if n := count("r", "hll"); n != 4 {
		t.Errorf("the union counts %d, want 4", n)
	}
	r.must(mutate("r", merge(registers))) // no new hashes, and registers from now on
	if n := count("r", "hll"); n < 1 || n > 4 {
		t.Errorf("in registers it counts %d", n)
	}
	for _, family := range []string{"sum", "min", "max"} {
		r.must(mutate("r", mergeToCell(family, "n", 1000, raw([]byte(int64Bytes(7)))),
			mergeToCell(family, "n", 1000, &bigtablepb.Value{Kind: &bigtablepb.Value_IntValue{IntValue: 5}})))
		if n, want := count("r", family), map[string]int64{"sum": 12, "min": 5, "max": 7}[family]; n != want {
			t.Errorf("%s is %d, want %d", family, n, want)
		}
	}

	broken := slices.Clone(registers)
	broken[100] = 52
	for what, bad := range map[string]*bigtablepb.Mutation{
		"nothing":            merge(nil),
		"a count":            merge([]byte(int64Bytes(4))),
		"no hashes":          merge(sketch()),
		"another version":    merge(append([]byte{2, 0}, sketch(1)[2:]...)),
		"another form":       merge(append([]byte{1, 2}, sketch(1)[2:]...)),
		"half a hash":        merge(sketch(1)[:6]),
		"hashes in disorder": merge(sketch(2, 1)),
		"a hash twice":       merge(sketch(2, 2)),
		"too many hashes":    merge(sketch(make([]uint64, 2049)...)),
		"few registers":      merge(registers[:1000]),
		"a register of 52":   merge(broken),
		"a number":           mergeToCell("hll", "n", 1000, &bigtablepb.Value{Kind: &bigtablepb.Value_IntValue{IntValue: 5}}),
		"half a sum":         mergeToCell("sum", "n", 1000, raw([]byte("1234"))),
	} {
		refused(t, what, mutate("bad", merge(sketch(9)), bad), codes.InvalidArgument, "")
	}
	if row, err := table.ReadRow(r.ctx(), "bad"); err != nil || row != nil {
		t.Errorf("what was refused left %v, %v", row, err)
	}
}
