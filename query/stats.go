package query

import (
	"context"
	"slices"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// A Count is how much a read would return.
type Count struct {
	Rows  int64
	Cells int64 // 0 with KeysOnly
}

// Count counts the rows and cells that [Table.ReadRows] with the same options returns. The
// engine counts the cells and returns none, unless a filter must see them. With
// [read.KeysOnly] it counts only rows, which is cheaper.
func (t *Table) Count(ctx context.Context, opts ...read.Option) (Count, error) {
	n, err := t.count(ctx, nil, opts)
	return n, fail("count", t.Name(), "", err)
}

// count is Count as if kept were the rule of retention; nil is the rule in force.
func (t *Table) count(ctx context.Context, kept *[]schema.Limit, opts []read.Option) (n Count, err error) {
	src, done, err := t.source(ctx)
	if err == nil {
		defer done()
		n.Rows, n.Cells, err = src.Count(ctx, kept, opts)
	}
	return n, err
}

const (
	// A table of up to this many rows is counted.
	countedRows = 10_000
	// In a larger one rows are read in several places, this many in each.
	sampledRows, sampledParts = 256, 32
	// The table is divided into this many parts, to find a range's share of it.
	estimatedParts = 128
)

// EstimateCount estimates how many of the given rows have cells in the given columns,
// and how many cells, all versions counted. Without columns it counts all of them. It
// reads a few thousand rows at most, spread over the range, and estimates the rest from
// the engine's knowledge of its files: there cells that were replaced or deleted count
// until a compaction removes them. Fewer than 10,000 rows are counted exactly; then
// exact is true.
func (t *Table) EstimateCount(ctx context.Context, rows read.RowSet, columns ...read.ColumnSpec) (about Count, exact bool, err error) {
	opts := make([]read.Option, len(columns))
	for i, c := range columns {
		opts[i] = c
	}
	return t.estimate(ctx, rows, nil, opts...)
}

// estimate is EstimateCount of a read with options, as if kept were the rule of
// retention; nil is the rule in force.
func (t *Table) estimate(ctx context.Context, rows read.RowSet, kept *[]schema.Limit, opts ...read.Option) (about Count, exact bool, err error) {
	e := &countEstimate{table: t, kept: kept, opts: slices.Clip(opts)}
	if about, err = e.count(ctx, rows, read.Limit(countedRows)); err != nil || about.Rows < countedRows {
		return about, err == nil, err
	}
	if err = e.findFamilies(ctx, rows); err == nil {
		for _, r := range cf.MergeRanges(rows.Ranges) {
			if err = e.addRange(ctx, r); err != nil {
				break
			}
		}
	}
	return e.total, false, fail("estimate a count", t.Name(), "", err)
}

// EstimateHidden is about how many of the visible cells, all versions counted, a change
// of the schema hides or drops: a drop hides all cells, stricter retention those that
// the new rule drops, other changes none. In a table with lazy retention they are the
// cells that the next collection removes. It costs the same as [Table.EstimateCount];
// exact says that the number is exact.
func (db *DB) EstimateHidden(ctx context.Context, c schema.Change) (cells int64, exact bool, err error) {
	cells, exact, err = db.estimateHidden(ctx, c)
	return cells, exact, fail("estimate what is hidden", c.Table, "", err)
}

func (db *DB) estimateHidden(ctx context.Context, c schema.Change) (cells int64, exact bool, err error) {
	if err := db.ready(ctx); err != nil {
		return 0, false, err
	}
	t := db.Table(c.Table)
	switch c.Kind {
	case schema.DropTable, schema.DeleteTable:
		n, exact, err := t.EstimateCount(ctx, read.Range("", ""))
		return n.Cells, exact, err
	case schema.DropFamily:
		n, exact, err := t.EstimateCount(ctx, read.Range("", ""), read.Family(c.Family))
		return n.Cells, exact, err
	}
	exact = true
	for _, tighter := range (schema.Plan{Changes: []schema.Change{c}}).Tightenings(db.Schema()) {
		family := read.Family(tighter.Family)
		before, sure, err := t.estimate(ctx, read.Range("", ""), &tighter.Before, family)
		if err != nil {
			return 0, false, err
		}
		after, sureAfter, err := t.estimate(ctx, read.Range("", ""), &tighter.After, family)
		if err != nil {
			return 0, false, err
		}
		cells += max(0, before.Cells-after.Cells)
		exact = exact && sure && sureAfter
	}
	return cells, exact, nil
}

// A countEstimate adds up what is in ranges.
type countEstimate struct {
	table *Table
	kept  *[]schema.Limit // in place of the rule in force; nil is the rule in force
	opts  []read.Option   // without the rows
	parts []cf.Part       // of the table, in the families that are read
	cells float64         // of these families in the whole table
	total Count
}

func (e *countEstimate) count(ctx context.Context, opts ...read.Option) (Count, error) {
	n, err := e.table.count(ctx, e.kept, append(opts, e.opts...))
	return n, fail("count", e.table.Name(), "", err)
}

func (e *countEstimate) findFamilies(ctx context.Context, rows read.RowSet) error {
	_, p, done, err := e.table.planRows(ctx, append(e.opts, rows))
	if err != nil {
		return err
	}
	defer done()
	stats, err := e.table.db.state.Store.Stats(ctx)
	if err != nil {
		return err
	}
	var families []string
	for _, s := range p.Plan.Scans {
		families = append(families, s.Of.Store)
		of := stats.Families[s.Of.Store]
		e.cells += float64(of.Cells())
	}
	e.parts, err = e.table.db.state.Store.Splits(ctx, families, cf.Range{}, estimatedParts)
	return err
}

// addRange adds the estimate of a range: its share of the bytes gives the number
// of cells, and the places that are read give the rows and visible cells per
// cell.
func (e *countEstimate) addRange(ctx context.Context, rows cf.Range) error {
	within, share := e.within(rows)
	var rowShare, cellShare, places float64
	for i := 0; i < len(within); i += (len(within) + sampledParts - 1) / sampledParts {
		var cost read.Cost
		n, err := e.count(ctx, read.Range(within[i].Start, within[i].End), read.Limit(sampledRows), read.ReportCost(&cost))
		if err != nil {
			return err
		}
		if cost.CellsScanned > 0 {
			places++
			rowShare += float64(n.Rows) / float64(cost.CellsScanned)
			cellShare += float64(n.Cells) / float64(cost.CellsScanned)
		}
	}
	if places > 0 {
		e.total.Rows += int64(e.cells * share * rowShare / places)
		e.total.Cells += int64(e.cells * share * cellShare / places)
	}
	return nil
}

// within are the parts of the table that a range covers, cut to it, and its share
// of the bytes. A part that a bound cuts counts half.
func (e *countEstimate) within(rows cf.Range) (parts []cf.Range, share float64) {
	var total, inside float64
	start := ""
	for _, p := range e.parts {
		part := cf.Range{Start: start, End: p.End}
		cut := cf.Range{Start: max(start, rows.Start), End: earlierEnd(p.End, rows.End)}
		total += float64(p.Bytes)
		start = p.End
		if cut.Empty() {
			continue
		}
		parts = append(parts, cut)
		if inside += float64(p.Bytes); cut != part {
			inside -= float64(p.Bytes) / 2
		}
	}
	return parts, inside / max(total, 1)
}

func earlierEnd(a, b string) string {
	if a == "" || b != "" && b < a {
		return b
	}
	return a
}

// Stats is the state of a database. Reading it accesses no data; numbers of cells
// come from files' properties and are estimates: see [Table.Count] for counts.
type Stats struct {
	// The engine's figures are of the whole database. Counters are totals since
	// it was opened.
	cf.EngineStats
	// Families are sorted by table, then by name. They leave out
	// [schema.HistoryTable].
	Families []FamilyStats
	// Deleted are the deleted tables that are kept, the oldest deletion first.
	Deleted []DeletedTable
	// Surplus is how many cells collections have deleted since the database was opened,
	// because their columns had newer versions: see [DB.GC].
	Surplus int64
	// WritesStuck is how long no write ended although some are under way, WritesUnderWay in
	// number: a few milliseconds where writes get through.
	WritesStuck    time.Duration
	WritesUnderWay int64
}

// A DeletedTable is a table that was deleted and can come back: see [DB.ApplyPlan].
type DeletedTable struct {
	Table    string
	Families []string
	Bytes    int64           // of its files
	Deleted  cells.Timestamp // when, by the database's clock
	Until    cells.Timestamp // then it is removed for good
}

// FamilyStats are the figures of one family of a table.
type FamilyStats struct {
	Table, Family string
	cf.FamilyStats
}

// Table is the families of one table.
func (s *Stats) Table(name string) []FamilyStats {
	var of []FamilyStats
	for _, f := range s.Families {
		if f.Table == name {
			of = append(of, f)
		}
	}
	return of
}

// Stats collects the engine's figures, of itself and of every family.
func (db *DB) Stats(ctx context.Context) (*Stats, error) {
	if err := db.ready(ctx); err != nil {
		return nil, fail("stats", "", "", err)
	}
	c := db.state.Catalog.Load()
	engine, err := db.state.Store.Stats(ctx)
	if err != nil {
		return nil, fail("stats", "", "", err)
	}
	s := &Stats{EngineStats: engine.Engine, Surplus: db.surplus.Load()}
	s.WritesStuck, s.WritesUnderWay = db.state.Flow.Stuck()
	for i := range c.Schema.Tables {
		t := c.Tables[c.Schema.Tables[i].Name]
		if t.Name == schema.HistoryTable {
			continue
		}
		for _, f := range t.Families {
			if of, ok := engine.Families[f.Store]; ok { // it may have been dropped just now
				s.Families = append(s.Families, FamilyStats{t.Name, f.Name, of})
			}
		}
	}
	for _, d := range c.Deleted {
		gone := DeletedTable{Table: d.Name, Bytes: d.Bytes(engine), Deleted: d.At, Until: d.Until}
		for _, f := range d.Families {
			gone.Families = append(gone.Families, f.Name)
		}
		if d.Until > db.state.Clock.Now() {
			s.Deleted = append(s.Deleted, gone)
		}
	}
	return s, nil
}
