package querytest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
)

// WaysToRead writes random rows and compares the results of pages, counts, lists of rows,
// streams of cells, parallel reads and samples with ReadRows under the same options.
func WaysToRead(t *testing.T, places func() Place) {
	rapid.Check(t, func(t *rapid.T) {
		p := places()
		defer p.Remove()
		h := newHistory(t, p, query.Options{})
		defer h.close(t)
		for range rapid.IntRange(1, 12).Draw(t, "writes") {
			h.apply(t)
		}
		for range 10 {
			opts, _ := h.drawRead(t)
			if rapid.IntRange(0, 3).Draw(t, "sampled") == 0 {
				opts = append(opts, read.SampleByKey(rapid.Float64Range(0, 1).Draw(t, "p")))
			}
			h.comparePages(t, opts)
			h.compareCount(t, opts)
			h.compareParallel(t, opts)
			h.compareSample(t, opts)
			h.compareSingleRows(t)
		}
	})
}

func (h *history) rows(t *rapid.T, opts []read.Option) (rows []*query.Row) {
	for row, err := range h.table().ReadRows(context.Background(), opts...) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

func (h *history) comparePages(t *rapid.T, opts []read.Option) {
	size := rapid.IntRange(1, 4).Draw(t, "page size")
	if rapid.Bool().Draw(t, "one key") {
		opts = append(slices.Clip(opts), read.Key(h.draw.row.Draw(t, "row")))
	}
	if got, want := lines(h.pages(t, size, opts)), lines(h.rows(t, opts)); !slices.Equal(got, want) {
		t.Fatalf("pages of %d:\n%q\nwant\n%q", size, got, want)
	}
}

// pages are the rows of all pages, a row once for each page that it is on.
func (h *history) pages(t *rapid.T, size int, opts []read.Option) (rows []*query.Row) {
	for token := ""; ; {
		page, err := h.table().ReadPage(context.Background(), append(slices.Clip(opts), read.PageSize(size), read.After(token))...)
		must(t, err)
		rows = append(rows, page.Rows...)
		if token = page.Next; token == "" {
			return rows
		}
	}
}

// lines are rows and their cells as text, a row on several pages once.
func lines(rows []*query.Row) (out []string) {
	last := ""
	for _, row := range rows {
		if row.Key() != last {
			out = append(out, fmt.Sprintf("%q", row.Key()))
			last = row.Key()
		}
		for c := range row.Cells() {
			out = append(out, line(c))
		}
	}
	return out
}

func line(c cells.Cell) string {
	return fmt.Sprintf("  %s:%q@%d=%v", c.Family, c.Qualifier, c.Timestamp, c.Value)
}

func (h *history) compareCount(t *rapid.T, opts []read.Option) {
	var want query.Count
	for _, row := range h.rows(t, opts) {
		want.Rows++
		want.Cells += int64(row.Len())
	}
	var cost read.Cost
	got, err := h.table().Count(context.Background(), append(slices.Clip(opts), read.ReportCost(&cost))...)
	if err != nil || got != want || cost.Rows != want.Rows {
		t.Fatalf("count %+v, %v, cost %+v, want %+v", got, err, cost, want)
	}
}

func (h *history) compareParallel(t *rapid.T, opts []read.Option) {
	opts = append(slices.Clip(opts), read.Limit(0), read.Offset(0))
	var mu sync.Mutex
	var got []*query.Row
	err := h.table().ReadRowsParallel(context.Background(), rapid.IntRange(0, 3).Draw(t, "readers"), func(_ context.Context, row *query.Row) error {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, row)
		return nil
	}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	want := h.rows(t, opts)
	for _, rows := range [][]*query.Row{got, want} {
		slices.SortFunc(rows, func(a, b *query.Row) int { return compareIDs(cellID{row: a.Key()}, cellID{row: b.Key()}) })
	}
	if got, want := lines(got), lines(want); !slices.Equal(got, want) {
		t.Fatalf("in parallel:\n%q\nwant\n%q", got, want)
	}
}

func (h *history) compareSample(t *rapid.T, opts []read.Option) {
	opts = append(slices.Clip(opts), read.Limit(0), read.Offset(0), read.SampleByKey(1))
	want := slices.DeleteFunc(h.rows(t, opts), func(row *query.Row) bool { return cf.RowHash(row.Key()) >= 1<<63 })
	if got, want := lines(h.rows(t, append(opts, read.SampleByKey(0.5)))), lines(want); !slices.Equal(got, want) {
		t.Fatalf("sample:\n%q\nwant\n%q", got, want)
	}
}

func (h *history) compareSingleRows(t *rapid.T) {
	ctx := context.Background()
	var r naiveRead
	opts := r.drawColumns(t, h.draw)
	opts = append(opts, read.Versions(rapid.IntRange(0, 2).Draw(t, "versions")), read.CellsPerRow(rapid.IntRange(0, 5).Draw(t, "cells per row")))
	if rapid.Bool().Draw(t, "condition") {
		c, _ := drawCondition(t, h.draw, 2)
		opts = append(opts, c)
	}
	keys := rapid.SliceOfN(h.draw.row, 0, 6).Draw(t, "keys")
	rows, err := h.table().ReadRowList(ctx, keys, opts...)
	if err != nil || len(rows) != len(keys) {
		t.Fatal(len(rows), err)
	}
	for i, key := range keys {
		var want []string
		row, err := h.table().ReadRow(ctx, key, opts...)
		if err != nil {
			t.Fatal(err)
		}
		if row != nil {
			want = lines([]*query.Row{row})[1:]
		}
		var listed, streamed []string
		if rows[i] != nil {
			listed = lines(rows[i : i+1])[1:]
		}
		for c, err := range h.table().ReadCells(ctx, key, opts...) {
			if err != nil {
				t.Fatal(err)
			}
			streamed = append(streamed, line(c))
		}
		if !slices.Equal(listed, want) || !slices.Equal(streamed, want) {
			t.Fatalf("row %q: listed\n%q\nstreamed\n%q\nwant\n%q", key, listed, streamed, want)
		}
	}
}
