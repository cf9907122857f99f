package scan

import (
	"bytes"
	"context"
	"math"
	"slices"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/tuple"
)

// near is how many keys a cursor passes one by one before it seeks: the next keys are
// at hand as a rule.
const near = 8

// patience is how many keys a cursor looks at before it delivers a block that is not
// full, or looks whether the scan is still wanted.
const patience = 1 << 14

// A Cursor is a [cf.Cursor] over the keys of an Iterator.
type Cursor struct {
	it      Iterator
	scan    cf.Scan
	rows    []cf.Range // not begun yet, in the order of the scan
	within  cf.Range   // the range that is being read
	started bool
	moved   bool // the iterator has been at a place
	last    int  // the greatest Versions of the retention: further cells have the same rank

	row    row
	block  *filling
	out    []*cf.Block // blocks that are complete
	held   holding
	budget int // keys until the patience ends

	found int // rows
	cost  cf.Cost
	ended bool
	err   error
}

// New makes a cursor. It closes the iterator in the end, whose bounds include all rows
// of the scan.
func New(it Iterator, s cf.Scan) *Cursor {
	c := &Cursor{it: it, scan: s, rows: slices.Clone(s.Rows), block: newFilling(&s)}
	if s.Reverse {
		slices.Reverse(c.rows)
	}
	for _, r := range s.Filter.Retention {
		c.last = max(c.last, r.Versions)
	}
	return c
}

// NeedsValues reports whether a scan looks at values or yields them.
func NeedsValues(f *cf.Filter) bool {
	yields := !f.StripValues && !f.KeysOnly && !f.CountOnly
	return yields || len(f.Values) > 0 || len(f.Where) > 0
}

// Cost implements [cf.Cursor].
func (c *Cursor) Cost() cf.Cost { return c.cost }

// Close implements [cf.Cursor].
func (c *Cursor) Close() {
	if c.err == nil {
		c.err = cf.ErrClosed
	}
	c.held.release()
	if c.it != nil {
		c.it.Close()
		c.it = nil
	}
}

// Next implements [cf.Cursor].
func (c *Cursor) Next(ctx context.Context) (*cf.Block, error) {
	c.held.release()
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if c.err != nil {
			return nil, c.err
		}
		c.budget = patience
		if len(c.out) == 0 && !c.ended {
			c.ended = !c.fill(ctx)
		}
		if c.err != nil {
			return nil, c.err
		}
		if b := c.ready(); b != nil {
			if c.cost.Bytes += int64(len(b.Data)); b.Continued {
				c.cost.Bytes -= int64(b.Rows[0].KeyLen) // it was in the block before
			}
			c.err = c.held.take(ctx, b)
			return b, c.err
		}
		if c.ended {
			return nil, nil
		}
	}
}

// ready is the next block to deliver, nil if there is no such block.
func (c *Cursor) ready() *cf.Block {
	if len(c.out) == 0 {
		return c.block.take(&c.row)
	}
	b := c.out[0]
	c.out = c.out[1:]
	return b
}

// fill reads until a block is complete, the patience ends or the scan does. It reports
// whether the scan goes on.
func (c *Cursor) fill(ctx context.Context) (more bool) {
	for len(c.out) == 0 && c.budget > 0 {
		if !c.row.open && !c.begin(ctx) {
			return false
		}
		c.read(ctx)
		if c.err != nil || !c.row.open && c.scan.Limit > 0 && c.found == c.scan.Limit {
			return false
		}
	}
	return true
}

// begin goes to the next row of the scan, and reports whether there is one.
func (c *Cursor) begin(ctx context.Context) bool {
	for {
		if !c.started && !c.nextRange(ctx) {
			return false
		}
		if !c.valid() {
			if c.err != nil {
				return false
			}
			c.started = false // after all keys, or before them
			continue
		}
		row, prefix, ok := c.rowOf(c.it.Key())
		switch {
		case !ok:
			return false
		case !c.within.Contains(string(row)):
			c.started = false
		case c.scan.Sample > 0 && cf.RowHash(string(row)) >= c.scan.Sample:
			c.cost.RowsScanned++
			c.enter(row, prefix)
			c.leave(ctx)
		case c.scan.Reverse && !c.row.back:
			c.seek(ctx, bytes.Clone(prefix)) // to its first key
			c.row.back = true
		default:
			c.cost.RowsScanned++
			c.enter(row, prefix)
			return true
		}
	}
}

// nextRange goes to the first key of the next range that has not ended.
func (c *Cursor) nextRange(ctx context.Context) bool {
	if len(c.rows) == 0 {
		return false
	}
	c.within, c.rows, c.started, c.row.back = c.rows[0], c.rows[1:], true, false
	if c.scan.Reverse {
		c.seekBefore(ctx, c.within.AppendEnd(nil))
		return true
	}
	start := cf.AppendRowBound(nil, c.within.Start)
	if row, ok := c.within.Single(); ok && len(c.scan.Filter.Qualifiers) > 0 && !c.scan.Filter.EveryRow {
		start = cf.AppendRowBound(cf.AppendRowPrefix(nil, row), c.scan.Filter.Qualifiers[0].Start)
	}
	c.skipTo(ctx, start)
	return true
}

// enter begins a row.
func (c *Cursor) enter(row, prefix []byte) {
	c.row.enter(row, prefix, &c.scan.Filter)
	c.block.beginRow(&c.row)
}

// leave goes past the row, in the direction of the scan.
func (c *Cursor) leave(ctx context.Context) {
	c.row.open, c.row.back = false, false
	_, single := c.within.Single()
	switch {
	case single:
		c.started = false
	case c.scan.Reverse:
		c.seekBefore(ctx, c.row.prefix)
	default:
		c.skipTo(ctx, append(c.row.prefix, rowEnd))
	}
}

// rowEnd sorts, after a row's prefix, after all keys of the row.
const rowEnd = qualifierTag + 1

// skipTo goes to the first key at or after a key, which is not before the next one.
func (c *Cursor) skipTo(ctx context.Context, key []byte) {
	for n := 0; c.valid() && bytes.Compare(c.it.Key(), key) < 0; n++ {
		if n == near {
			c.seek(ctx, key)
			return
		}
		c.next(ctx)
	}
	if !c.moved {
		c.seek(ctx, key)
	}
}

func (c *Cursor) seek(ctx context.Context, key []byte) {
	c.cost.Seeks++
	c.it.Seek(ctx, key)
	c.looked()
}

func (c *Cursor) seekBefore(ctx context.Context, key []byte) {
	c.cost.Seeks++
	c.it.SeekBefore(ctx, key)
	c.looked()
}

func (c *Cursor) next(ctx context.Context) {
	c.it.Next(ctx)
	c.looked()
}

// looked counts the key that the iterator has come to.
func (c *Cursor) looked() {
	c.moved = true
	c.budget--
	if c.valid() {
		c.cost.CellsScanned++
		c.cost.BytesScanned += int64(len(c.it.Key()) + len(c.it.Value()))
	}
}

// valid reports whether the iterator is at a key. Otherwise err is its error.
func (c *Cursor) valid() bool {
	if c.err != nil || c.it.Valid() {
		return c.err == nil
	}
	c.err = c.it.Err()
	return false
}

// rowOf is the row of a key, and the beginning of all keys of the row.
func (c *Cursor) rowOf(key []byte) (row, prefix []byte, ok bool) {
	row, rest, err := tuple.DecodeBytes(key)
	if err != nil || len(rest) == 0 || rest[0] != qualifierTag {
		c.corrupt(key)
		return nil, nil, false
	}
	return row, key[:len(key)-len(rest)], true
}

// corrupt ends the scan at a key that is not the key of a cell.
func (c *Cursor) corrupt(key []byte) {
	_, _, _, err := cf.SplitCellKey(key)
	c.err = &cf.CorruptCell{Family: c.scan.Family, Key: bytes.Clone(key), Err: err}
}

// read reads cells of the row until it ends, a block is complete or the patience ends.
func (c *Cursor) read(ctx context.Context) {
	for len(c.out) == 0 && c.budget > 0 && c.row.open {
		if !c.valid() {
			if c.err == nil {
				c.endRow(ctx)
			}
			return
		}
		key := c.it.Key()
		if !c.row.has(key) {
			c.endRow(ctx)
			return
		}
		if !c.row.inColumn(key) && !c.column(ctx) {
			continue
		}
		ts, ok := c.row.timestamp(key)
		if !ok {
			c.corrupt(key)
			return
		}
		c.cell(ctx, ts)
	}
}

// column begins a column, or goes past it.
func (c *Cursor) column(ctx context.Context) bool {
	key := c.it.Key()
	qualifier, version, err := tuple.DecodeBytes(key[len(c.row.prefix):])
	if err != nil || len(version) != cf.VersionLen || version[0] != versionTag {
		c.corrupt(key)
		return false
	}
	f := &c.scan.Filter
	if n := len(f.Qualifiers); n > 0 {
		r := c.row.rangeOf(qualifier, f.Qualifiers)
		if unwanted := r == n || string(qualifier) < f.Qualifiers[r].Start; unwanted && f.EveryRow && !c.row.any {
			c.row.begin(key, qualifier)
			c.row.witness = true
			return true
		}
		if r == n {
			c.endRow(ctx)
			return false
		}
		if start := f.Qualifiers[r].Start; string(qualifier) < start {
			c.skipTo(ctx, cf.AppendRowBound(bytes.Clone(c.row.prefix), start))
			return false
		}
	}
	if f.ColumnsPerRow > 0 && c.row.columns == f.ColumnsPerRow {
		c.endRow(ctx)
		return false
	}
	c.row.begin(key, qualifier)
	return true
}

// cell judges the cell that the iterator is at, and goes to the next that may pass.
func (c *Cursor) cell(ctx context.Context, ts int64) {
	f, r := &c.scan.Filter, &c.row
	r.rank = min(r.rank+1, math.MaxInt32)
	switch {
	case ts < f.Since || hidden(r.rank, ts, f.Retention):
		c.endColumn(ctx) // older cells are hidden too
		return
	case f.Until != 0 && ts >= f.Until:
		if r.rank > c.last { // the ranks of older cells no longer matter
			c.skipTo(ctx, cf.AppendVersion(bytes.Clone(r.column), f.Until-1))
		} else {
			c.next(ctx)
		}
		return
	}
	if r.witness {
		c.found++
		c.cost.Rows++
		r.any = true
		c.endColumn(ctx)
		return
	}
	if r.passed++; r.passed == 1 {
		r.columns++
		if len(f.Where) > 0 && !r.judge(c.it.Value(), f.Where) {
			c.reject(ctx)
			return
		}
	}
	c.pass(ts)
	switch {
	case c.err != nil:
	case f.KeysOnly && len(f.Where) == 0, f.CellsPerRow > 0 && r.cells == f.CellsPerRow:
		c.endRow(ctx)
	case f.Versions > 0 && r.passed == f.Versions:
		c.endColumn(ctx)
	default:
		c.next(ctx)
	}
}

func hidden(rank int, ts int64, rules []cf.Retention) bool {
	for _, r := range rules {
		if rank > r.Versions && ts <= r.UpTo {
			return true
		}
	}
	return false
}

// pass takes the cell that the iterator is at into the block.
func (c *Cursor) pass(ts int64) {
	f := &c.scan.Filter
	if !c.row.any {
		c.row.any = true
		c.found++
		c.cost.Rows++
	}
	if f.KeysOnly || len(f.Values) > 0 && !cf.ValueIn(f.Values, c.it.Value()) {
		return
	}
	c.row.cells++
	c.cost.Cells++
	if f.CountOnly {
		return
	}
	value := c.it.Value()
	if f.StripValues {
		value = nil
	}
	c.deliver(c.block.add(&c.row, ts, value))
}

// endColumn goes past the column.
func (c *Cursor) endColumn(ctx context.Context) {
	f := &c.scan.Filter
	last := c.row.inLast(f.Qualifiers) && !c.row.witness && (c.row.any || !f.EveryRow)
	if last || f.ColumnsPerRow > 0 && c.row.columns == f.ColumnsPerRow {
		c.endRow(ctx)
		return
	}
	c.skipTo(ctx, append(c.row.column, columnEnd))
}

// columnEnd sorts, after the prefix of a column, after all its keys.
const columnEnd = versionTag + 1

// endRow ends a row that has been read as far as it is wanted.
func (c *Cursor) endRow(ctx context.Context) {
	if c.row.any && !c.row.satisfied(c.scan.Filter.Where) {
		c.reject(ctx)
		return
	}
	c.deliver(c.block.endRow(&c.row))
	c.leave(ctx)
}

// deliver notes a block that is complete, if there is one.
func (c *Cursor) deliver(full *cf.Block) {
	if full != nil {
		c.out = append(c.out, full)
	}
}

// reject ends a row that does not satisfy a condition.
func (c *Cursor) reject(ctx context.Context) {
	if c.row.any {
		c.found--
		c.cost.Rows--
		c.cost.Cells -= int64(c.row.cells)
	}
	c.block.drop(&c.row)
	c.leave(ctx)
}
