package cftest

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"

	"github.com/smolwc/smolwc/cf"
)

func testBlocks(f *fixture) {
	f.create("t")
	f.run("values from nothing to several MiB", testHugeValues)
	f.run("rows that span blocks", testSpanningRows)
	f.run("keys of rows that span blocks", testManyKeys)
	f.run("what is kept stays", testKeptBlocks)
	f.run("a hint of any size", func(f *fixture) {
		snap := f.snapshot()
		want, _ := f.scan(snap, everything("t"))
		for _, hint := range []int{1, 17, 5000, 1 << 40} {
			s := everything("t")
			s.Hint = hint
			if got, _ := f.scan(snap, s); !got.Equal(want) {
				f.Errorf("hint %d yields other cells", hint)
			}
		}
	})
}

func testHugeValues(f *fixture) {
	var want Rows
	for i, size := range []int{0, 5 << 20, 1, 3 << 20, 100_000, 0, 300_000, 8 << 20, 4096, 4096} {
		value := strings.Repeat(string(rune('a'+i)), min(size, f.store.Limits().Value))
		want = append(want, Row{fmt.Sprintf("huge%d", i/3), []Cell{{fmt.Sprint(i), 1, value}}})
	}
	f.blind(func(b *cf.Batch) { put(b, "t", want) })
	for _, reverse := range []bool{false, true} {
		got, _ := f.scan(f.snapshot(), cf.Scan{Family: "t", Rows: []cf.Range{{Start: "huge", End: "hugf"}}, Reverse: reverse})
		var cells int
		for _, r := range got {
			for _, c := range r.Cells {
				i := int(c.Qualifier[0] - '0')
				if w := want[i]; r.Key != w.Key || c.Value != w.Cells[0].Value {
					f.Errorf("cell %d of row %s has a value of %d bytes, want row %s, %d bytes", i, r.Key, len(c.Value), w.Key, len(w.Cells[0].Value))
				}
				cells++
			}
		}
		if cells != len(want) {
			f.Errorf("%d cells, want %d", cells, len(want))
		}
	}
}

// manyCells makes rows with too many cells for one block.
func manyCells(rows, cells int) (all Rows) {
	for r := range rows {
		row := Row{Key: fmt.Sprintf("span%d", r)}
		for c := range cells {
			row.Cells = append(row.Cells, Cell{fmt.Sprintf("q%05d", c/2), int64(1 - c%2), fmt.Sprint(c)})
		}
		all = append(all, row)
	}
	return all
}

var spans = []cf.Range{{Start: "span", End: "spao"}}

func testSpanningRows(f *fixture) {
	const rows, cells = 3, 12_000
	model := manyCells(rows, cells)
	f.blind(func(b *cf.Batch) { put(b, "t", model) })
	snap := f.snapshot()
	for _, s := range []cf.Scan{
		{Rows: spans},
		{Rows: spans, Hint: 20},
		{Rows: spans, Reverse: true},
		{Rows: []cf.Range{cf.Single("span0"), cf.Single("span1"), cf.Single("span2")}},
		{Rows: []cf.Range{cf.Single("span0"), cf.Single("span1"), cf.Single("span2")}, Reverse: true},
	} {
		s.Family = "t"
		want := model
		if s.Reverse {
			want = Rows{model[2], model[1], model[0]}
		}
		got, cost := f.scan(snap, s)
		if !got.Equal(want) {
			f.Errorf("scan %+v yields other cells", s)
		}
		if cost.Rows != rows {
			f.Errorf("scan %+v: cost %+v, want %d rows", s, cost, rows)
		}
		if n := f.continued(snap, s); n < rows {
			f.Errorf("scan %+v: %d blocks begin with a continued row, want some for each", s, n)
		}
		s.Limit = 1
		if got, _ := f.scan(snap, s); len(got) != 1 || len(got[0].Cells) != cells {
			f.Errorf("scan %+v: %d rows", s, len(got))
		}
		s.Limit, s.Filter.CellsPerRow = 0, cells-1
		if got, _ := f.scan(snap, s); len(got) != rows || len(got[2].Cells) != cells-1 {
			f.Errorf("scan %+v: %d rows", s, len(got))
		}
	}
}

// continued counts the blocks that continue a row.
func (f *fixture) continued(snap cf.Snapshot, s cf.Scan) (n int) {
	c, err := snap.Scan(f.ctx, s)
	f.must(err)
	defer c.Close()
	for {
		b, err := c.Next(f.ctx)
		f.must(err)
		if b == nil {
			return n
		}
		if b.Continued {
			n++
		}
	}
}

func testManyKeys(f *fixture) {
	const rows = 20_000
	f.blind(func(b *cf.Batch) {
		for r := range rows {
			b.Row(id(fmt.Sprintf("key%06d%s", r, strings.Repeat("k", r%200))))
			b.Put("t", "a", 1, nil)
			b.Put("t", "b", 1, nil)
		}
	})
	for _, reverse := range []bool{false, true} {
		got, cost := f.scan(f.snapshot(), cf.Scan{
			Family: "t", Rows: []cf.Range{{Start: "key", End: "kez"}}, Reverse: reverse, Filter: cf.Filter{KeysOnly: true},
		})
		if len(got) != rows || cost.Rows != rows || cost.Cells != 0 {
			f.Errorf("reverse %t: %d rows, cost %+v", reverse, len(got), cost)
		}
	}
}

func testKeptBlocks(f *fixture) {
	c, err := f.snapshot().Scan(f.ctx, cf.Scan{Family: "t", Rows: spans})
	f.must(err)
	var kept []*cf.Block
	for {
		b, err := c.Next(f.ctx)
		f.must(err)
		if b == nil {
			break
		}
		kept = append(kept, b)
	}
	c.Close()
	c.Close() // does nothing
	_, err = c.Next(f.ctx)
	if cost := c.Cost(); cost.Rows != 3 {
		f.Errorf("after closing: cost %+v", cost)
	}
	if err != nil {
		f.expectError("Next after Close", err, cf.ErrClosed)
	}
	f.must(f.store.Compact(f.ctx, "t", cf.Range{}))
	runtime.GC()
	var rows Rows
	for _, b := range kept {
		rows, err = appendBlock(rows, b, cf.Scan{})
		f.must(err)
	}
	if !rows.Equal(manyCells(3, 12_000)) {
		f.Error("the blocks' cells have changed")
	}
}

// testCosts bounds the cells that a read may look at, in memory and in files: a read
// seeks past cells that filters leave out.
func testCosts(f *fixture) {
	const versions, columns, rows = 5000, 4, 4
	f.create("t")
	f.blind(func(b *cf.Batch) {
		for r := range rows {
			b.Row(id(fmt.Sprintf("r%d", r)))
			for q := range columns {
				for ts := range versions {
					b.Put("t", fmt.Sprintf("q%d", q), int64(ts), []byte("v"))
				}
			}
		}
	})
	all, row := []cf.Range{{}}, []cf.Range{cf.Single("r2")}
	check := func(f *fixture) {
		for _, test := range []struct {
			name          string
			scan          cf.Scan
			cells, looked int64
		}{
			{"one version", cf.Scan{Rows: all, Filter: cf.Filter{Versions: 1}}, 16, 400},
			{"one version of a row", cf.Scan{Rows: row, Filter: cf.Filter{Versions: 1}}, 4, 100},
			{"one version, reverse", cf.Scan{Rows: all, Reverse: true, Filter: cf.Filter{Versions: 1}}, 16, 400},
			{"one column", cf.Scan{Rows: all, Filter: cf.Filter{Versions: 1, Qualifiers: []cf.Range{cf.Single("q2")}}}, 4, 200},
			{"the newest of each", cf.Scan{Rows: all, Filter: cf.Filter{Since: versions - 1}}, 16, 400},
			{"keys only", cf.Scan{Rows: all, Filter: cf.Filter{KeysOnly: true}}, 0, 100},
			{"a cell per row", cf.Scan{Rows: all, Filter: cf.Filter{CellsPerRow: 1}}, 4, 100},
			{"the first row", cf.Scan{Rows: all, Limit: 1, Filter: cf.Filter{KeysOnly: true}}, 0, 50},
			{"the newest before a time", cf.Scan{Rows: all, Filter: cf.Filter{Until: 10, Versions: 3}}, 48, 600},
			{"the newest before a time, of two that are kept", cf.Scan{Rows: all, Filter: cf.Filter{Until: 10, Versions: 3, Retention: []cf.Retention{{Versions: 2, UpTo: 4}}}}, 48, 600},
			{"the newest of one column", cf.Scan{Rows: row, Filter: cf.Filter{Versions: 3, Qualifiers: []cf.Range{cf.Single("q2")}}}, 3, 20},
			{"one column per row", cf.Scan{Rows: all, Filter: cf.Filter{ColumnsPerRow: 1, Versions: 2}}, 8, 100},
			{"retention", cf.Scan{Rows: all, Filter: cf.Filter{Retention: []cf.Retention{{Versions: 2, UpTo: math.MaxInt64}}}}, 32, 400},
		} {
			f.run(test.name, func(f *fixture) {
				test.scan.Family = "t"
				_, cost := f.scan(f.snapshot(), test.scan)
				if cost.Cells != test.cells || cost.CellsScanned > test.looked || cost.Seeks > test.looked {
					f.Errorf("cost %+v, want %d cells, at most %d looked at", cost, test.cells, test.looked)
				}
			})
		}
	}
	f.run("in memory", check)
	f.must(f.store.Flush(f.ctx, "t"))
	f.run("in files", check)
}

func testContexts(f *fixture) {
	f.create("t")
	f.blind(func(b *cf.Batch) { put(b, "t", manyCells(1, 12_000)) })
	snap := f.snapshot()
	done, cancel := context.WithCancel(f.ctx)
	c, err := snap.Scan(done, everything("t"))
	f.must(err)
	defer c.Close()
	if b, err := c.Next(done); b == nil || err != nil {
		f.Fatalf("first block: %v, %v", b, err)
	}
	cancel()
	for range 2 {
		b, err := c.Next(done)
		f.expectError("Next", err, context.Canceled)
		if b != nil {
			f.Error("a block along with the error")
		}
	}
	_, err = snap.Scan(done, everything("t"))
	f.expectError("Scan", err, context.Canceled)
	_, err = f.store.Snapshot(done)
	f.expectError("Snapshot", err, context.Canceled)
	for _, rows := range [][]cf.RowID{nil, {id("r")}} {
		_, err = f.store.Update(done, rows, func(cf.Snapshot, *cf.Batch) error {
			f.Error("a done context, and the function ran")
			return nil
		})
		f.expectError("Update", err, context.Canceled)
	}
	f.expectError("Compact", f.store.Compact(done, "t", cf.Range{}), context.Canceled)
	f.must(f.store.Compact(f.ctx, "t", cf.Range{})) // and another goes on
}
