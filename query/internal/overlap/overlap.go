// Package overlap finds cells of a bulk load that lie over existing ones.
package overlap

import (
	"bytes"
	"context"
	"errors"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/bulk"
	"github.com/smolwc/smolwc/internal/excerpt"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/state"
	"github.com/smolwc/smolwc/schema"
)

// Err is the cause of the error for a load over existing cells.
var Err = errors.New("the load overlaps existing cells")

// A Check looks, while a load is written, for existing cells in place of the load's. It
// is safe for concurrent use. A nil Check refuses nothing.
type Check struct {
	table *catalog.Table
	ts    cells.Timestamp // of the load's cells without one
	snap  cf.Snapshot
	now   cells.Timestamp
	asks  []bool // by family: there are cells in the load's range of rows
}

// New finds the families to look at: in a family without cells between the load's first
// row and its last, nothing can overlap. spans are the rows of the load by family, each
// from Start to End, both inclusive. The Check must be closed.
func New(ctx context.Context, db *state.DB, table *catalog.Table, spans []cf.Range, ts cells.Timestamp) (*Check, error) {
	snap, err := db.Store.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	o := &Check{table: table, ts: ts, snap: snap, now: db.Clock.Now(), asks: make([]bool, len(table.Families))}
	for i, f := range table.Families {
		if spans[i].End == "" || f.Aggregate != schema.NoAggregate {
			continue
		}
		span := cf.Range{Start: spans[i].Start, End: spans[i].End + "\x00"}
		err := o.scan(ctx, f, cf.Scan{Rows: []cf.Range{span}, Limit: 1, Hint: 1, Filter: cf.Filter{KeysOnly: true}}, func(*cf.Block) error {
			o.asks[i] = true
			return nil
		})
		if err != nil {
			o.Close()
			return nil, err
		}
	}
	return o, nil
}

// Close closes the check's snapshot.
func (o *Check) Close() {
	if o != nil {
		o.snap.Close()
	}
}

func (o *Check) scan(ctx context.Context, f *catalog.Family, s cf.Scan, fn func(*cf.Block) error) error {
	s.Family, s.Filter.Retention = f.Store, f.Retention(o.now)
	return cf.EachBlock(ctx, o.snap, s, fn)
}

// overlapRows is how many rows are looked up in one scan.
const overlapRows = 1024

// Look refuses a load whose cells lie over existing ones.
func (o *Check) Look(ctx context.Context, family int, c cf.CellGroups) error {
	if o == nil || !o.asks[family] {
		return nil
	}
	f := o.table.Families[family]
	rows := bulk.Rows(c)
	for from := 0; from < len(rows); from += overlapRows {
		if err := o.lookAt(ctx, f, rows[from:min(from+overlapRows, len(rows))]); err != nil {
			return err
		}
	}
	return nil
}

// lookAt looks at rows in ascending order. The same row may occur several times in
// succession.
func (o *Check) lookAt(ctx context.Context, f *catalog.Family, rows []bulk.Row) error {
	ranges := make([]cf.Range, 0, len(rows))
	for i, r := range rows {
		if i == 0 || r.Row != rows[i-1].Row {
			ranges = append(ranges, cf.Single(r.Row))
		}
	}
	at := 0
	return o.scan(ctx, f, cf.Scan{Rows: ranges, Filter: cf.Filter{StripValues: true}}, func(b *cf.Block) error {
		for i := range b.Rows {
			key := b.RowKey(&b.Rows[i])
			for rows[at].Row < key {
				at++
			}
			for j := at; j < len(rows) && rows[j].Row == key; j++ {
				if err := o.compare(f, &rows[j], b, b.RowCells(&b.Rows[i])); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// compare compares the existing cells of a row with the load's.
func (o *Check) compare(f *catalog.Family, r *bulk.Row, b *cf.Block, there []cf.CellSpan) error {
	var column []byte
	next := r.Cells()
	cell, ok := next()
	for i := range there {
		column = cf.AppendQualifier(column[:0], b.Qualifier(&there[i]))
		for ok && bytes.Compare(cell.Column, column) < 0 {
			cell, ok = next()
		}
		// The versions of the load in this column, newest first; the existing
		// ones have the same order.
		for ok && bytes.Equal(cell.Column, column) && cell.Timestamp > there[i].Timestamp && cell.Timestamp != int64(o.ts) {
			cell, ok = next()
		}
		if !ok || !bytes.Equal(cell.Column, column) {
			continue
		}
		if cell.Timestamp == there[i].Timestamp || cell.Timestamp == int64(o.ts) {
			return fault.Errorf(fault.FailedPrecondition, "%w: row %q has a cell in %s:%s at %d", Err, excerpt.Of(r.Row), f.Name, excerpt.Of(b.Qualifier(&there[i])), there[i].Timestamp)
		}
	}
	return nil
}
