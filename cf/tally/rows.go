package tally

import (
	"context"

	"github.com/smolwc/smolwc/cf"
)

// Rows adds up the cells of some scans, one for each family, in the order of the rows.
// row, if not nil, is called with the key of each row with a cell. Only the current
// blocks are in memory.
func Rows(ctx context.Context, snap cf.Snapshot, scans []cf.Scan, row func(key string)) (total Sum, rows int64, err error) {
	walks, sums := make([]*Walk, 0, len(scans)), make([]Summer, len(scans))
	defer func() {
		for _, w := range walks {
			w.Close()
		}
	}()
	for i, s := range scans {
		w, err := Start(ctx, snap, s)
		if err != nil {
			return total, rows, err
		}
		walks, sums[i].Family = append(walks, w), s.Family
		if err := w.Next(ctx); err != nil {
			return total, rows, err
		}
	}
	for {
		first := smallest(walks)
		if first == nil {
			break
		}
		key := first.Key
		rows++
		if row != nil {
			row(key)
		}
		for i, w := range walks {
			for !w.Over && w.Key == key {
				sums[i].Add(w)
				if err := w.Next(ctx); err != nil {
					return total, rows, err
				}
			}
		}
	}
	for i := range sums {
		total.Add(sums[i].Sum)
	}
	return total, rows, nil
}

// smallest is the walk with the smallest row key; nil if all are at their ends.
func smallest(walks []*Walk) (first *Walk) {
	for _, w := range walks {
		if !w.Over && (first == nil || w.Key < first.Key) {
			first = w
		}
	}
	return first
}
