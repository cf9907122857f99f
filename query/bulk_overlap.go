package query

import (
	"bytes"
	"context"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/bulk"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/schema"
)

// An overlapCheck looks, while a load is written, for existing cells where the load
// has cells. It is safe for concurrent use.
type overlapCheck struct {
	load *BulkLoad
	snap cf.Snapshot // nil when nothing is to be looked at
	now  cells.Timestamp
	asks []bool // by family: it has cells between those of the load
}

// newOverlapCheck finds the families to look at: in a family without cells between the
// load's first row and its last, nothing can overlap.
func (l *BulkLoad) newOverlapCheck(ctx context.Context) (*overlapCheck, error) {
	o := &overlapCheck{load: l, now: l.db.state.Clock.Now(), asks: make([]bool, len(l.table.Families))}
	if l.opts.Overlap {
		return o, nil
	}
	snap, err := l.db.state.Store.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	o.snap = snap
	for i, f := range l.table.Families {
		if l.spans[i].End == "" || f.Aggregate != schema.NoAggregate {
			continue
		}
		span := cf.Range{Start: l.spans[i].Start, End: l.spans[i].End + "\x00"}
		err := o.scan(ctx, f, cf.Scan{Rows: []cf.Range{span}, Limit: 1, Hint: 1, Filter: cf.Filter{KeysOnly: true}}, func(*cf.Block) error {
			o.asks[i] = true
			return nil
		})
		if err != nil {
			o.close()
			return nil, err
		}
	}
	return o, nil
}

func (o *overlapCheck) close() {
	if o.snap != nil {
		o.snap.Close()
	}
}

// scan passes blocks of visible cells of a family to fn.
func (o *overlapCheck) scan(ctx context.Context, f *catalog.Family, s cf.Scan, fn func(*cf.Block) error) error {
	s.Family, s.Filter.Retention = f.Store, f.Retention(o.now)
	c, err := o.snap.Scan(ctx, s)
	if err != nil {
		return err
	}
	defer c.Close()
	for {
		b, err := c.Next(ctx)
		if b == nil || err != nil {
			return err
		}
		if err := fn(b); err != nil {
			return err
		}
	}
}

// overlapRows is how many rows are looked up in one scan.
const overlapRows = 1024

// look refuses a load whose cells lie over existing ones.
func (o *overlapCheck) look(ctx context.Context, family int, c cf.CellGroups) error {
	if !o.asks[family] {
		return nil
	}
	f := o.load.table.Families[family]
	rows := bulk.Rows(c)
	for from := 0; from < len(rows); from += overlapRows {
		if err := o.lookAt(ctx, f, rows[from:min(from+overlapRows, len(rows))]); err != nil {
			return err
		}
	}
	return nil
}

// lookAt looks at rows in ascending order. A row may follow itself.
func (o *overlapCheck) lookAt(ctx context.Context, f *catalog.Family, rows []bulk.Row) error {
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

// compare compares the cells of a row that are there with those of the load.
func (o *overlapCheck) compare(f *catalog.Family, r *bulk.Row, b *cf.Block, there []cf.CellSpan) error {
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
		for ok && bytes.Equal(cell.Column, column) && cell.Timestamp > there[i].Timestamp && cell.Timestamp != int64(o.load.ts) {
			cell, ok = next()
		}
		if !ok || !bytes.Equal(cell.Column, column) {
			continue
		}
		if cell.Timestamp == there[i].Timestamp || cell.Timestamp == int64(o.load.ts) {
			return fault.Errorf(fault.FailedPrecondition, "%w: row %q has a cell in %s:%s at %d", ErrOverlap, fault.Shorten(r.Row), f.Name, fault.Shorten(b.Qualifier(&there[i])), there[i].Timestamp)
		}
	}
	return nil
}
