package query_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A read with KeysOnly and conditions returns the keys of the rows that satisfy them,
// and Count counts these rows, with any other options of the read.
func TestKeysUnderConditionsAreThoseOfTheRows(t *testing.T) {
	families := []string{"a", "b", "sum"}
	db := openMemory(t, declare(schema.Family{Name: "a"}, schema.Family{Name: "b", GC: schema.MaxVersions(1)}, schema.Family{Name: "sum", Aggregate: schema.AggregateSum}))
	table := db.Table("t")
	rapid.Check(t, func(t *rapid.T) {
		family, qualifier := rapid.SampledFrom(families), rapid.SampledFrom([]string{"p", "q"})
		ts := rapid.Custom(func(t *rapid.T) cells.Timestamp { return cells.Timestamp(rapid.IntRange(1, 3).Draw(t, "ts")) })
		if err := table.DeleteRange(ctx, read.Prefix("")); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 12).Draw(t, "cells") {
			m := write.NewMutation()
			f, q, n := family.Draw(t, "family"), qualifier.Draw(t, "qualifier"), int64(rapid.IntRange(0, 2).Draw(t, "n"))
			if f == "sum" {
				m.AddAt(f, q, ts.Draw(t, "at"), cells.I64(n))
			} else {
				m.SetAt(f, q, ts.Draw(t, "at"), cells.I64(n))
			}
			if err := table.Apply(ctx, fmt.Sprint("r", rapid.IntRange(0, 4).Draw(t, "row")), m); err != nil {
				t.Fatal(err)
			}
		}
		var opts []read.Option
		for range rapid.IntRange(1, 3).Draw(t, "conditions") {
			f, q := family.Draw(t, "of"), qualifier.Draw(t, "column")
			opts = append(opts, rapid.SampledFrom([]read.Option{
				read.Exists(f, q), read.Absent(f, q),
				read.Where(f, q, cells.OpGreaterOrEqual, cells.I64(1)), read.Where(f, q, cells.OpNotEqual, cells.I64(1)),
			}).Draw(t, "condition"))
		}
		for range rapid.IntRange(0, 2).Draw(t, "columns") {
			opts = append(opts, rapid.SampledFrom([]read.Option{
				read.Family(family.Draw(t, "whole")), read.Column(family.Draw(t, "one"), qualifier.Draw(t, "of it")),
				read.ColumnRange(family.Draw(t, "part"), "q", ""),
			}).Draw(t, "selected"))
		}
		more := []read.Option{
			read.Versions(1), read.TimeRange(2, 0), read.TimeRange(0, 2), read.CellsPerRow(1), read.Limit(2), read.Offset(1),
			read.Reverse(), read.Prefix("r"), read.Filter(filter.Column("p")),
			read.Filter(filter.ValueCompare{Op: cells.OpEqual, Value: cells.I64(1)}), read.Filter(filter.ValueRange{From: filter.Including(string([]byte{0, 0, 0, 0, 0, 0, 0, 1}))}), read.Filter(filter.RowKey("r[0-2]")),
		}
		opts = append(opts, rapid.SliceOfN(rapid.SampledFrom(more), 0, 2).Draw(t, "more")...)
		keys := func(opts ...read.Option) (found []string) {
			for row, err := range table.ReadRows(ctx, opts...) {
				if err != nil {
					t.Fatal(err)
				}
				found = append(found, row.Key())
			}
			return found
		}
		want := keys(opts...)
		opts = append(opts, read.KeysOnly())
		if got := keys(opts...); !slices.Equal(got, want) {
			t.Fatalf("keys %q, of the rows %q", got, want)
		}
		if n, err := table.Count(ctx, opts...); err != nil || n.Rows != int64(len(want)) {
			t.Fatalf("counted %d rows of %q, %v", n.Rows, want, err)
		}
	})
}

// A count with conditions reads only the columns of its conditions, if the conditions
// imply that the row exists.
func TestACountWithAConditionReadsItsColumnAlone(t *testing.T) {
	db := openMemory(t, declare(schema.Family{Name: "delay"}, schema.Family{Name: "meta"}, schema.Family{Name: "wide"}))
	b := write.NewBatch()
	for i := range 1_000 {
		m := write.NewMutation()
		m.Set("delay", "dep", cells.I64(int64(i)))
		m.Set("meta", "n", cells.I64(int64(i)))
		for q := range 10 {
			m.Set("wide", fmt.Sprint(q), cells.String("text of some length, which is not wanted"))
		}
		b.Add("t", fmt.Sprintf("%06d", i), m)
	}
	if err := db.Apply(ctx, b); err != nil {
		t.Fatal(err)
	}
	table := db.Table("t")
	if err := table.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	cost := func(opts ...read.Option) (c read.Cost) {
		t.Helper()
		if _, err := table.Count(ctx, append(opts, read.KeysOnly(), read.ReportCost(&c))...); err != nil {
			t.Fatal(err)
		}
		return c
	}
	late := read.Where("delay", "dep", cells.OpGreater, cells.I64(900))
	var column read.Cost // with its values, which conditions look at; Pebble does not read them for keys
	for _, err := range table.ReadRows(ctx, read.Family("delay"), read.ReportCost(&column)) {
		if err != nil {
			t.Fatal(err)
		}
	}
	least := max(column.BytesScanned, cost(read.Family("delay")).BytesScanned)
	whole := cost().BytesScanned
	if whole < 3*least {
		t.Fatalf("all families have %d bytes, and one %d", whole, least)
	}
	for name, c := range map[string]struct {
		opts     []read.Option
		families int
		bytes    int64
	}{
		"a comparison":       {[]read.Option{late}, 1, least},
		"that it exists":     {[]read.Option{read.Exists("delay", "dep")}, 1, least},
		"two of one family":  {[]read.Option{late, read.Absent("delay", "arr")}, 1, least},
		"two of two":         {[]read.Option{late, read.Exists("meta", "n")}, 2, 2 * least},
		"with its family":    {[]read.Option{late, read.Family("delay"), read.Family("wide")}, 1, least},
		"its rows":           {[]read.Option{late, read.Prefix("0")}, 1, least},
		"a page of them":     {[]read.Option{late, read.Offset(10), read.Limit(10)}, 1, least},
		"a time range":       {[]read.Option{late, read.TimeRange(1, 0)}, 4, whole},
		"that it is absent":  {[]read.Option{read.Absent("delay", "dep")}, 4, whole},
		"of others' columns": {[]read.Option{late, read.Family("wide")}, 2, whole},
	} {
		got := cost(c.opts...)
		if got.Families != c.families || c.bytes != whole && got.BytesScanned > c.bytes {
			t.Errorf("%s: it reads %d families and %d bytes, want %d and at most %d", name, got.Families, got.BytesScanned, c.families, c.bytes)
		}
	}
}
