//go:build cgo && linux && !norocksdb

package rocks

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/ahead"
	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

const (
	// Files of up to this many bytes are read row by row.
	smallFiles = 1 << 20
	// The largest number of points of a family then.
	maxPoints = 4096
	// A split may be off by 1/splitSlack of a part.
	splitSlack = 16
)

// Splits implements cf.Store. It divides files by the engine's index, without reading
// them. It reads all cells if there is little data, or if most of it is in memory,
// which the engine does not index.
func (s *Store) Splits(ctx context.Context, names []string, rows cf.Range, n int) ([]cf.Part, error) {
	snap, err := s.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	d := &divider{store: s, snap: snap.(*snapshot), names: names, rows: rows}
	files, memory, err := d.sizes()
	switch {
	case err != nil:
		return nil, err
	case files < smallFiles || files < memory:
		return d.byRows(ctx, n)
	}
	return d.byFiles(ctx, n, files)
}

// A divider divides the rows of several families.
type divider struct {
	store *Store
	snap  *snapshot
	names []string
	rows  cf.Range
}

// sizes are the bytes of the range in files, and the bytes of whole families in memory.
func (d *divider) sizes() (files, memory uint64, err error) {
	start, end := d.rows.Bounds()
	if files, err = d.size(start, end); err != nil {
		return 0, 0, err
	}
	err = d.each(func(f *family) error {
		n, _ := d.store.db.GetIntPropertyCF("rocksdb.cur-size-all-mem-tables", f.Handle)
		memory += n
		return nil
	})
	return files, memory, err
}

// size estimates the bytes in files between two physical keys.
func (d *divider) size(start, end []byte) (sum uint64, err error) {
	err = d.each(func(f *family) error {
		sizes, err := d.store.db.GetApproximateSizesCF(f.Handle, []grocksdb.Range{{Start: start, Limit: end}})
		if err != nil {
			return native.Wrap(err)
		}
		sum += sizes[0]
		return nil
	})
	return sum, err
}

// each runs f on the families. The store is not closed meanwhile.
func (d *divider) each(f func(*family) error) error {
	d.store.mu.RLock()
	defer d.store.mu.RUnlock()
	if d.store.closed {
		return cf.ErrClosed
	}
	for _, name := range d.names {
		fam, err := d.snap.families.get(name)
		if err != nil {
			return err
		}
		if err := f(fam); err != nil {
			return err
		}
	}
	return nil
}

// --- by the engine's index

// byFiles finds each split by bisection of the row keys, until the right share of the
// bytes lies before it.
func (d *divider) byFiles(ctx context.Context, n int, total uint64) ([]cf.Part, error) {
	lo, err := d.first(ctx, d.rows, false)
	if err != nil {
		return nil, err
	}
	last, err := d.first(ctx, d.rows, true)
	if err != nil {
		return nil, err
	}
	start, _ := d.rows.Bounds()
	var parts []cf.Part
	var before uint64
	for i := 1; i < n && lo < last; i++ {
		row, size, err := d.seek(ctx, start, lo, last, total*uint64(i)/uint64(n), total/uint64(n*splitSlack))
		if err != nil {
			return nil, err
		}
		if row > lo {
			parts = append(parts, cf.Part{End: row, Bytes: int64(size - min(before, size))})
			before, lo = max(before, size), row
		}
	}
	return append(parts, cf.Part{End: d.rows.End, Bytes: int64(total - min(before, total))}), nil
}

// seek finds a row between lo, exclusive, and hi, inclusive, so that about target bytes
// lie before it. It also returns the number of bytes before the row.
func (d *divider) seek(ctx context.Context, start []byte, lo, hi string, target, slack uint64) (row string, size uint64, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return "", 0, err
		}
		mid, ok := ahead.Midway(lo, hi)
		if !ok {
			break
		}
		at, err := d.size(start, cf.AppendRowBound(nil, mid))
		if err != nil {
			return "", 0, err
		}
		if at < target {
			lo = mid
		} else {
			hi = mid
		}
		if at+slack >= target && at <= target+slack {
			hi = mid
			break
		}
	}
	if row, err = d.first(ctx, cf.Range{Start: hi, End: d.rows.End}, false); err != nil {
		return "", 0, err
	}
	size, err = d.size(start, cf.AppendRowBound(nil, row))
	return row, size, err
}

// first is the first or the last row of a range in any of the families; "" when there
// is no row.
func (d *divider) first(ctx context.Context, rows cf.Range, last bool) (string, error) {
	found := ""
	for _, name := range d.names {
		c, err := d.snap.Scan(ctx, cf.Scan{
			Family: name, Rows: []cf.Range{rows}, Reverse: last, Limit: 1, Hint: 1, Filter: cf.Filter{KeysOnly: true},
		})
		if err != nil {
			return "", err
		}
		b, err := c.Next(ctx)
		c.Close()
		if err != nil {
			return "", err
		}
		if b == nil {
			continue
		}
		if row := b.RowKey(&b.Rows[0]); found == "" || last && row > found || !last && row < found {
			found = strings.Clone(row)
		}
	}
	return found, nil
}

// --- by the rows

// A point is the first of some consecutive rows of a family, and the bytes of these
// rows.
type point struct {
	row   string
	bytes int64
}

// byRows reads all rows and splits them by their bytes.
func (d *divider) byRows(ctx context.Context, n int) ([]cf.Part, error) {
	var all []point
	var total int64
	for _, name := range d.names {
		points, err := d.points(ctx, name)
		if err != nil {
			return nil, err
		}
		all = append(all, points...)
	}
	for _, p := range all {
		total += p.bytes
	}
	slices.SortFunc(all, func(a, b point) int { return cmp.Compare(a.row, b.row) })
	var parts []cf.Part
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

// points reads a family. At first every row is a point. When there are maxPoints, they
// are joined in pairs, and from then on only every second row is a point, and so on.
func (d *divider) points(ctx context.Context, name string) (points []point, err error) {
	every, row := 1, -1
	err = cf.EachBlock(ctx, d.snap, cf.Scan{Family: name, Rows: []cf.Range{d.rows}}, func(b *cf.Block) error {
		for i := range b.Rows {
			r := &b.Rows[i]
			if i > 0 || !b.Continued {
				row++
				if row%every == 0 {
					if len(points) == maxPoints {
						points, every = halve(points), every*2
					}
					if row%every == 0 {
						points = append(points, point{row: strings.Clone(b.RowKey(r))})
					}
				}
			}
			at := &points[len(points)-1]
			for j := range b.RowCells(r) {
				cell := &b.Cells[int(r.First)+j]
				at.bytes += int64(r.KeyLen) + int64(cell.QualifierLen) + int64(cell.ValueLen)
			}
		}
		return nil
	})
	return points, err
}

// halve joins points in pairs.
func halve(points []point) []point {
	half := points[:0]
	for pair := range slices.Chunk(points, 2) {
		p := pair[0]
		for _, q := range pair[1:] {
			p.bytes += q.bytes
		}
		half = append(half, p)
	}
	return half
}
