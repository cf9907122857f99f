package query_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
)

var wideCells = flag.Int("wide", 300_000, "cells of the row that TestWideRowStreams reads")

// putWide writes a row of many columns, the number in the qualifier.
func putWide(t testing.TB, table *query.Table, row, family string, columns, valueLen int) {
	t.Helper()
	value := cells.String(strings.Repeat("v", valueLen))
	const batch = 20_000
	for from := 0; from < columns; from += batch {
		m := write.NewMutation()
		for i := from; i < min(columns, from+batch); i++ {
			m.SetAt(family, fmt.Sprintf("%08d", i), 1, value)
		}
		if err := table.Apply(context.Background(), row, m); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPagesOfAWideRowCostTheSame(t *testing.T) {
	const columns, size = 200_000, 1000
	table, ctx := openTable(t), context.Background()
	putWide(t, table, "r", "b", columns, 1)
	if err := table.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for token, n := "", 0; n == 0 || token != ""; n++ {
		var cost read.Cost
		page, err := table.ReadPage(ctx, read.Key("r"), read.PageSize(size), read.After(token), read.ReportCost(&cost))
		if err != nil {
			t.Fatal(err)
		}
		if cost.CellsScanned > size+20 || cost.Seeks > 10 {
			t.Fatalf("page %d cost %+v", n, cost)
		}
		for c := range page.Rows[0].Cells() {
			if c.Qualifier != fmt.Sprintf("%08d", seen) {
				t.Fatalf("page %d has column %s, want %08d", n, c.Qualifier, seen)
			}
			seen++
		}
		token = page.Next
	}
	if seen != columns {
		t.Errorf("%d columns, want %d", seen, columns)
	}
}

func TestWideRowStreams(t *testing.T) {
	const valueLen, most = 100, 8 << 20
	table, ctx := openTable(t), context.Background()
	putWide(t, table, "r", "b", *wideCells, valueLen)
	var before, now runtime.MemStats
	var highest uint64
	n := 0
	for range table.ReadCells(ctx, "r") { // memory that is allocated once and stays
	}
	runtime.GC()
	runtime.ReadMemStats(&before)
	for c, err := range table.ReadCells(ctx, "r") {
		if err != nil {
			t.Fatal(err)
		}
		if n++; c.Family != "b" {
			t.Fatal(c)
		}
		if n%(*wideCells/10) == 0 {
			runtime.GC() // memory in use, without garbage
			runtime.ReadMemStats(&now)
			highest = max(highest, now.HeapAlloc)
		}
	}
	if n != *wideCells {
		t.Errorf("%d cells, want %d", n, *wideCells)
	}
	if grown := int64(highest) - int64(before.HeapAlloc); grown > most {
		t.Errorf("the heap grew by %d bytes over %d cells of %d bytes", grown, n, valueLen)
	}
}

func TestRowThatIsTooLarge(t *testing.T) {
	table, ctx := openTable(t), context.Background()
	putWide(t, table, "r", "b", 10_000, 100)
	putCells(t, table, "s", "a:x@1")
	bound := query.RowBytes(table, 1<<20)
	_, err := bound.ReadRow(ctx, "r")
	if query.KindOf(err) != query.KindResourceExhausted || !strings.Contains(err.Error(), "ReadCells") {
		t.Errorf("error %v", err)
	}
	var last error
	for row, err := range bound.ReadRows(ctx) {
		if last = err; err == nil && row.Key() != "s" {
			t.Errorf("row %q", row.Key())
		}
	}
	if query.KindOf(last) != query.KindResourceExhausted {
		t.Errorf("error %v", last)
	}
	if row, err := bound.ReadRow(ctx, "r", read.CellsPerRow(5000)); err != nil || row.Len() != 5000 {
		t.Errorf("half of it: %v", err)
	}
	if n, err := bound.Count(ctx); err != nil || n != (query.Count{Rows: 2, Cells: 10_001}) {
		t.Errorf("count %v, %v", n, err)
	}
}

func TestReadCellsArguments(t *testing.T) {
	table, ctx := openTable(t), context.Background()
	putCells(t, table, "r", "a:x@1", "a:y@1", "b:x@1")
	for _, test := range []struct {
		opt  read.Option
		want string
	}{
		{read.Key("r"), "row sets"}, {read.StartAfter("a"), "row sets"}, {read.Limit(1), "limit"}, {read.Offset(1), "limit"},
		{read.KeysOnly(), "KeysOnly"}, {read.Filter(filter.Value("v")), "value"}, {read.Family("z"), "unknown family"},
		{read.PageSize(1), "ReadPage"}, {read.SampleByKey(2), "sample"}, {read.Versions(-1), "versions"},
	} {
		var last error
		for _, err := range table.ReadCells(ctx, "r", test.opt) {
			last = err
		}
		if last == nil || !strings.Contains(last.Error(), test.want) {
			t.Errorf("error %v, want %s", last, test.want)
		}
	}
	for range table.ReadCells(ctx, "absent") {
		t.Error("a cell of a row that is not there")
	}
	var cost read.Cost
	for range table.ReadCells(ctx, "r", read.ReportCost(&cost)) {
		break
	}
	if cost.Families != 1 || cost.Rows != 1 || cost.Elapsed <= 0 {
		t.Errorf("a read that was left at once cost %+v", cost)
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	for _, err := range table.ReadCells(done, "r") {
		if !errors.Is(err, context.Canceled) || query.KindOf(err) != query.KindCanceled {
			t.Errorf("a context that is done: %v", err)
		}
	}
}
