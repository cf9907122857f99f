package pebble

import (
	"cmp"
	"context"
	"slices"
	"strings"

	engine "github.com/cockroachdb/pebble/v2"

	"github.com/smolwc/smolwc/cf"
)

// Splits implements [cf.Store]. Small data is read, large data is divided by its files.
func (s *Store) Splits(ctx context.Context, names []string, rows cf.Range, n int) ([]cf.Part, error) {
	snap, err := s.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	d := &divider{snap: snap.(*snapshot), names: names, rows: rows}
	total, err := d.size(rows)
	switch {
	case err != nil:
		return nil, err
	case total < 4<<20:
		return d.byRows(ctx, n)
	}
	return d.byFiles(ctx, n, total)
}

type divider struct {
	snap  *snapshot
	names []string
	rows  cf.Range
}

func (d *divider) size(rows cf.Range) (sum uint64, err error) {
	if rows.Empty() {
		return 0, nil
	}
	start, end := rows.Bounds()
	for _, name := range d.names {
		f, err := d.snap.families.get(name)
		if err != nil {
			return 0, err
		}
		n, err := d.snap.store.db.EstimateDiskUsage(append(slices.Clone(f.prefix), start...), append(slices.Clone(f.prefix), end...))
		if err != nil {
			return 0, wrap(err)
		}
		sum += n
	}
	return sum, nil
}

// byFiles cuts at the rows where table files begin.
func (d *divider) byFiles(ctx context.Context, n int, total uint64) (parts []cf.Part, err error) {
	var cuts []string
	for _, name := range d.names {
		f := d.snap.families[name]
		tables, err := d.snap.store.db.SSTables(engine.WithKeyRangeFilter(f.prefix, appendID(nil, f.id+1)))
		if err != nil {
			return nil, wrap(err)
		}
		for _, level := range tables {
			for _, t := range level {
				key := t.Smallest.UserKey
				if len(key) < idLen {
					continue
				}
				if row, _, _, err := cf.SplitCellKey(key[idLen:]); err == nil && d.rows.Contains(string(row)) && string(row) > d.rows.Start {
					cuts = append(cuts, string(row))
				}
			}
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	start, sum := d.rows.Start, uint64(0)
	var before uint64
	for _, c := range cuts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		part, err := d.size(cf.Range{Start: start, End: c})
		if err != nil {
			return nil, err
		}
		sum += part
		start = c
		if sum*uint64(n) >= total*uint64(len(parts)+1) && len(parts)+1 < n {
			parts = append(parts, cf.Part{End: c, Bytes: int64(sum - before)})
			before = sum
		}
	}
	return append(parts, cf.Part{End: d.rows.End, Bytes: int64(total - min(before, total))}), nil
}

func (d *divider) byRows(ctx context.Context, n int) (parts []cf.Part, err error) {
	var all []point
	var total int64
	for _, name := range d.names {
		err := cf.EachBlock(ctx, d.snap, cf.Scan{Family: name, Rows: []cf.Range{d.rows}}, func(b *cf.Block) error {
			for i := range b.Rows {
				p := point{row: strings.Clone(b.RowKey(&b.Rows[i]))}
				for _, cell := range b.RowCells(&b.Rows[i]) {
					p.bytes += int64(len(p.row)) + int64(cell.QualifierLen) + int64(cell.ValueLen)
				}
				total += p.bytes
				all = append(all, p)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b point) int { return cmp.Compare(a.row, b.row) })
	var sum, cut int64
	for i, p := range all {
		if i > 0 && p.row != all[i-1].row && sum*int64(n) >= total*int64(len(parts)+1) && len(parts)+1 < n {
			parts = append(parts, cf.Part{End: p.row, Bytes: sum - cut})
			cut = sum
		}
		sum += p.bytes
	}
	return append(parts, cf.Part{End: d.rows.End, Bytes: sum - cut}), nil
}

type point struct {
	row   string
	bytes int64
}
