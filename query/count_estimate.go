package query

import (
	"context"

	"github.com/smolwc/smolwc/cf"
)

const (
	// Up to so many rows an estimate is a count.
	countedRows = 10_000
	// Otherwise it reads so many rows in so many places.
	sampledRows, sampledParts = 256, 32
)

// EstimateCount is about how many rows and cells the rows of a range, a prefix or
// several have in these columns, all of them if none is given, all versions. It
// reads a few thousand rows at most, spread over the range, and takes the rest
// from what the engine knows of its files, where cells that were replaced or
// deleted count until a compaction has come by. Of few rows the count is exact,
// which the second result says.
func (t *Table) EstimateCount(ctx context.Context, rows RowSet, columns ...ColumnSpec) (about Count, exact bool, err error) {
	opts := []ReadOption{rows, Select(columns...), Limit(countedRows)}
	if about, err = t.Count(ctx, opts...); err != nil || about.Rows < countedRows {
		return about, err == nil, err
	}
	e := &countEstimate{table: t, columns: columns}
	if err = e.findFamilies(ctx, rows); err == nil {
		for _, r := range normalize(rows.ranges) {
			if err = e.addRange(ctx, r); err != nil {
				break
			}
		}
	}
	return e.total, false, fail("estimate a count", t.name, "", err)
}

// A countEstimate adds up what is in ranges.
type countEstimate struct {
	table    *Table
	columns  []ColumnSpec
	families []string // in the store: those that are read
	cells    float64  // of these families in the whole table
	bytes    float64  // that these take
	total    Count
}

func (e *countEstimate) findFamilies(ctx context.Context, rows RowSet) error {
	spec, err := newReadSpec([]ReadOption{rows, Select(e.columns...)})
	if err != nil {
		return err
	}
	_, plan, err := e.table.plan(spec, e.table.db.clock.now())
	if err != nil {
		return err
	}
	stats, err := e.table.db.store.Stats(ctx)
	if err != nil {
		return err
	}
	for _, s := range plan.scans {
		e.families = append(e.families, s.of.store)
		of := stats.Families[s.of.store]
		e.cells += float64(of.Cells())
	}
	e.bytes, err = e.size(ctx, cf.RowRange{})
	return err
}

// size is about what the families take in a range.
func (e *countEstimate) size(ctx context.Context, rows cf.RowRange) (bytes float64, err error) {
	parts, err := e.table.db.store.Splits(ctx, e.families, rows, 1)
	for _, p := range parts {
		bytes += float64(p.Bytes)
	}
	return bytes, err
}

// addRange adds what is about in a range: as many cells as its share of the
// bytes, and as many rows and visible cells to each as in the places that are
// read.
func (e *countEstimate) addRange(ctx context.Context, rows cf.RowRange) error {
	parts, err := e.table.db.store.Splits(ctx, e.families, rows, sampledParts)
	if err != nil {
		return err
	}
	var bytes, rowShare, cellShare, places float64
	start := rows.Start
	for _, p := range parts {
		var cost Cost
		n, err := e.table.Count(ctx, Range(start, p.End), Select(e.columns...), Limit(sampledRows), ReportCost(&cost))
		if err != nil {
			return err
		}
		if cost.CellsScanned > 0 {
			places++
			rowShare += float64(n.Rows) / float64(cost.CellsScanned)
			cellShare += float64(n.Cells) / float64(cost.CellsScanned)
		}
		bytes += float64(p.Bytes)
		start = p.End
	}
	if places == 0 || e.bytes == 0 {
		return nil
	}
	cells := e.cells * min(bytes/e.bytes, 1)
	e.total.Rows += int64(cells * rowShare / places)
	e.total.Cells += int64(cells * cellShare / places)
	return nil
}
