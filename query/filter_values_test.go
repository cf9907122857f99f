package query_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// Cells whose values are out of range stay in the store, but not their rows: a caller
// that wants to know how far a read has come learns of each. Aggregates are compared by
// the value that is read, not by the stored value.
func TestRowsOutsideOfARangeOfValues(t *testing.T) {
	table := openMemory(t, declare(schema.Family{Name: "f"}, schema.Family{Name: "g"}, schema.Family{Name: "hll", Aggregate: schema.AggregateHLL})).Table("t")
	for i := range 3000 {
		key := fmt.Sprintf("row%04d", i)
		m := mutate(setAt("f", "a", 1, cells.Bytes([]byte("no"))), setAt("f", "b", 1, cells.String("no")))
		switch i {
		case 1000:
			m.SetAt("g", "a", 1, cells.String("yes"))
		case 2000:
			m.SetAt("f", "a", 1, cells.Bytes([]byte("yes")))
		case 2500:
			m.AddAt("hll", "a", 1, cells.String("x"))
		}
		if err := table.Apply(ctx, key, m); err != nil {
			t.Fatal(err)
		}
	}
	within := read.Filter(filter.ValueRange{From: filter.Including("y"), To: filter.Excluding("z")})
	var rejected []string
	got := shown(t, table, within, read.Rejected(func(key string) error { rejected = append(rejected, key); return nil }))
	const want = "row1000 g:a@1 | row2000 f:a@1"
	if got != want || got != shown(t, query.Unpushed(table), within) {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(rejected) != 2998 || rejected[0] != "row0000" || !slices.IsSorted(rejected) {
		t.Errorf("%d rows were rejected", len(rejected))
	}
	for _, opts := range [][]read.Option{
		{read.Limit(1), read.Prefix("row2")}, {read.KeysOnly(), read.Prefix("row2000")}, {read.Reverse(), read.Limit(1)},
	} {
		if pushed, whole := shown(t, table, append(opts, within)...), shown(t, query.Unpushed(table), append(opts, within)...); pushed != whole || pushed == "" {
			t.Errorf("pushed %s, whole %s", pushed, whole)
		}
	}
	one := read.Filter(filter.ValueRange{From: filter.Including(""), To: filter.Including("\x00\x00\x00\x00\x00\x00\x00\x01")})
	if got := shown(t, table, one); got != "row2500 hll:a@1" {
		t.Errorf("got %q of what aggregates", got)
	}
	if n, err := table.Count(ctx, within); err != nil || n.Rows != 2 || n.Cells != 2 {
		t.Errorf("counted %+v, %v", n, err)
	}
}

// Bigtable has only integers of 8 bytes: its filters compare integers of 4 bytes and 1
// byte in that form.
func TestFiltersOfBigtableSeeEightBytes(t *testing.T) {
	table := openMemory(t, declare(schema.Family{Name: "f"}, schema.Family{Name: "i", Type: cells.TypeI32}, schema.Family{Name: "s"})).Table("t")
	for n := range 400 {
		m := mutate(setAt("f", "byte", 1, cells.Byte(byte(n))), setAt("f", "i64", 1, cells.I64(int64(n-200))), setAt("i", "i32", 1, cells.I32(int32(n-200))), setAt("s", "s", 1, cells.String("\x00\x00\x00\x05")))
		if err := table.Apply(ctx, fmt.Sprintf("r%03d", n), m); err != nil {
			t.Fatal(err)
		}
	}
	eight := func(n int64) string { return string(binary.BigEndian.AppendUint64(nil, uint64(n))) }
	for name, c := range map[string]struct {
		filter filter.Filter
		want   string
	}{
		"a range": {filter.ValueRange{From: filter.Including(eight(5)), To: filter.Excluding(eight(7))},
			"r005 f:byte@1 | r006 f:byte@1 | r205 f:i64@1 i:i32@1 | r206 f:i64@1 i:i32@1 | r261 f:byte@1 | r262 f:byte@1"},
		"below zero": {filter.ValueRange{From: filter.Including(eight(-1))}, "r199 f:i64@1 i:i32@1"},
		"one value":  {filter.Value(`\x00{7}\x05`), "r005 f:byte@1 | r205 f:i64@1 i:i32@1 | r261 f:byte@1"},
		"a mask":     {filter.ValueBitmask([]byte(eight(-2))), "r198 f:i64@1 i:i32@1 | r199 f:i64@1 i:i32@1"},
	} {
		got := shown(t, table, read.BigtableFilter(c.filter))
		if got != c.want || got != shown(t, query.Unpushed(table), read.BigtableFilter(c.filter)) {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	four := read.Filter(filter.Value(`\x00\x00\x00\x05`))
	if got := shown(t, table, four, read.Limit(1), read.Prefix("r205")); got != "r205 i:i32@1 s:s@1" {
		t.Errorf("as they are stored: %s", got)
	}
}
