//go:build cgo

package query_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// Keys under conditions are those of the rows under the same conditions, and Count
// counts them, whatever else the read says.
func TestKeysUnderConditionsAreThoseOfTheRows(t *testing.T) {
	families := []string{"a", "b", "sum"}
	db := openMemory(t, declare(schema.Family{Name: "a"}, schema.Family{Name: "b", GC: schema.MaxVersions(1)}, schema.Family{Name: "sum", Aggregate: schema.AggregateSum}))
	table := db.Table("t")
	rapid.Check(t, func(t *rapid.T) {
		family, qualifier := rapid.SampledFrom(families), rapid.SampledFrom([]string{"p", "q"})
		ts := rapid.Custom(func(t *rapid.T) cells.Timestamp { return cells.Timestamp(rapid.IntRange(1, 3).Draw(t, "ts")) })
		if err := table.DeleteRange(ctx, query.Prefix("")); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 12).Draw(t, "cells") {
			m := query.NewMutation()
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
		var opts []query.ReadOption
		for range rapid.IntRange(1, 3).Draw(t, "conditions") {
			f, q := family.Draw(t, "of"), qualifier.Draw(t, "column")
			opts = append(opts, rapid.SampledFrom([]query.ReadOption{
				query.Exists(f, q), query.Absent(f, q),
				query.Where(f, q, query.GE, cells.I64(1)), query.Where(f, q, query.NE, cells.I64(1)),
			}).Draw(t, "condition"))
		}
		for range rapid.IntRange(0, 2).Draw(t, "columns") {
			opts = append(opts, rapid.SampledFrom([]query.ReadOption{
				query.Select(query.Family(family.Draw(t, "whole"))), query.Select(query.Column(family.Draw(t, "one"), qualifier.Draw(t, "of it"))),
				query.Select(query.ColumnsBetween(family.Draw(t, "part"), "q", "")),
			}).Draw(t, "selected"))
		}
		more := []query.ReadOption{
			query.Versions(1), query.TimeRange(2, 0), query.TimeRange(0, 2), query.CellsPerRow(1), query.Limit(2), query.Offset(1),
			query.Reverse(), query.Prefix("r"), query.RowFilter(query.ColumnFilter("p")),
			query.RowFilter(query.ValueCompareFilter(query.EQ, cells.I64(1))), query.RowFilter(query.ValueRangeFilter([]byte{0, 0, 0, 0, 0, 0, 0, 1}, nil)), query.RowFilter(query.RowKeyFilter("r[0-2]")),
		}
		opts = append(opts, rapid.SliceOfN(rapid.SampledFrom(more), 0, 2).Draw(t, "more")...)
		keys := func(opts ...query.ReadOption) (found []string) {
			for row, err := range table.ReadRows(ctx, opts...) {
				if err != nil {
					t.Fatal(err)
				}
				found = append(found, row.Key())
			}
			return found
		}
		want := keys(opts...)
		opts = append(opts, query.KeysOnly())
		if got := keys(opts...); !slices.Equal(got, want) {
			t.Fatalf("keys %q, of the rows %q", got, want)
		}
		if n, err := table.Count(ctx, opts...); err != nil || n.Rows != int64(len(want)) {
			t.Fatalf("counted %d rows of %q, %v", n.Rows, want, err)
		}
	})
}

// A count with a condition reads the families of its conditions alone, where those
// imply that the row is there; and the column alone.
func TestACountWithAConditionReadsItsColumnAlone(t *testing.T) {
	db := openMemory(t, declare(schema.Family{Name: "delay"}, schema.Family{Name: "meta"}, schema.Family{Name: "wide"}))
	b := query.NewBatch()
	for i := range 1_000 {
		m := query.NewMutation()
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
	cost := func(opts ...query.ReadOption) (c query.Cost) {
		t.Helper()
		if _, err := table.Count(ctx, append(opts, query.KeysOnly(), query.ReportCost(&c))...); err != nil {
			t.Fatal(err)
		}
		return c
	}
	late := query.Where("delay", "dep", query.GT, cells.I64(900))
	least := cost(query.Select(query.Family("delay"))).BytesScanned
	whole := cost().BytesScanned
	if whole < 3*least {
		t.Fatalf("all families have %d bytes, and one %d", whole, least)
	}
	for name, c := range map[string]struct {
		opts     []query.ReadOption
		families int
		bytes    int64
	}{
		"a comparison":       {[]query.ReadOption{late}, 1, least},
		"that it exists":     {[]query.ReadOption{query.Exists("delay", "dep")}, 1, least},
		"two of one family":  {[]query.ReadOption{late, query.Absent("delay", "arr")}, 1, least},
		"two of two":         {[]query.ReadOption{late, query.Exists("meta", "n")}, 2, 2 * least},
		"with its family":    {[]query.ReadOption{late, query.Select(query.Family("delay"), query.Family("wide"))}, 1, least},
		"its rows":           {[]query.ReadOption{late, query.Prefix("0")}, 1, least},
		"a page of them":     {[]query.ReadOption{late, query.Offset(10), query.Limit(10)}, 1, least},
		"a time range":       {[]query.ReadOption{late, query.TimeRange(1, 0)}, 4, whole},
		"that it is absent":  {[]query.ReadOption{query.Absent("delay", "dep")}, 4, whole},
		"of others' columns": {[]query.ReadOption{late, query.Select(query.Family("wide"))}, 2, whole},
	} {
		got := cost(c.opts...)
		if got.Families != c.families || c.bytes != whole && got.BytesScanned > c.bytes {
			t.Errorf("%s: it reads %d families and %d bytes, want %d and at most %d", name, got.Families, got.BytesScanned, c.families, c.bytes)
		}
	}
}
