package ordered

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/tuple"
)

// maxNear is how many keys a cursor passes one by one before it seeks: the next keys are
// at hand as a rule. While they are not, it passes fewer, if the iterator is [Near].
const maxNear = 8

// patience is how many keys a cursor looks at before it delivers a block that is not
// full, or looks whether the scan is still wanted. It takes about a millisecond.
const patience = 1 << 12

// perKey is how many bytes of values cost as much patience as a key.
const perKey = 1 << 10

// A Cursor is a [cf.Cursor] over the keys of an Iterator.
type Cursor struct {
	it      Iterator // nil after Close
	key     []byte   // that the iterator is at, nil at none
	scan    cf.Scan
	rows    []cf.Range // not begun yet, in the order of the scan
	within  cf.Range   // the range that is being read
	started bool
	moved   bool       // the iterator was at a place
	near    int        // keys that it passes one by one before it seeks
	least   int        // near is not less
	last    int        // the greatest Versions of the retention: further cells have the same rank
	every   bool       // the filter lets every cell pass
	passed  Tombstones // nil if they are not counted

	row    row
	block  filling
	out    []*cf.Block // blocks that are complete
	target []byte      // memory of keys to seek
	held   holding
	budget int         // keys until the patience ends
	single [1]cf.Range // memory of rows

	found int // rows
	cost  cf.Cost
	ended bool
	err   error
}

// New makes a cursor, which closes the iterator.
func New(it Iterator, s cf.Scan) *Cursor {
	c := new(Cursor)
	c.reset(it, &s)
	return c
}

// Among says how many cursors of its snapshot are open: many of them have small blocks. It
// is called before the first Next.
func (c *Cursor) Among(uses *atomic.Int64) { c.block.uses = uses }

// reset makes a cursor that is closed, or a zero one, a new one. Its memory stays.
func (c *Cursor) reset(it Iterator, s *cf.Scan) {
	*c = Cursor{
		it: it, scan: *s, every: letsEveryCellPass(&s.Filter), block: newFilling(s),
		near: maxNear, least: maxNear, row: c.row.again(), out: c.out[:0], target: c.target[:0],
	}
	if len(s.Rows) == 1 {
		c.single[0] = s.Rows[0]
		c.rows = c.single[:]
	} else {
		c.rows = slices.Clone(s.Rows)
	}
	if s.Reverse {
		slices.Reverse(c.rows)
	}
	if n, ok := it.(Near); ok {
		c.least = n.Near()
	}
	if s.CountTombstones {
		c.passed, _ = it.(Tombstones)
	}
	for _, r := range s.Filter.Retention {
		c.last = max(c.last, r.Versions)
	}
}

var cursors = sync.Pool{New: func() any { return new(Cursor) }}

// Read fills an answer with a scan, and closes the iterator. Its cursor is used again.
func Read(ctx context.Context, it Iterator, s *cf.Scan, a *cf.Answer) error {
	c := cursors.Get().(*Cursor)
	c.reset(it, s)
	err := a.ReadAll(ctx, c)
	c.scan, c.rows, c.single, c.within, c.held, c.err = cf.Scan{}, nil, [1]cf.Range{}, cf.Range{}, holding{}, nil
	cursors.Put(c)
	return err
}

func letsEveryCellPass(f *cf.Filter) bool {
	return len(f.Retention) == 0 && len(f.Qualifiers) == 0 && f.Since <= 0 && f.Until == 0 &&
		f.Versions == 0 && f.ColumnsPerRow == 0 && f.CellsPerRow == 0 &&
		!f.StripValues && !f.KeysOnly && !f.CountOnly && len(f.Values) == 0 && len(f.Where) == 0
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
	if c.it == nil {
		return
	}
	if c.err == nil {
		c.err = cf.ErrClosed
	}
	c.block.end()
	for _, b := range c.out {
		b.Release()
	}
	c.out = nil
	_ = c.held.set(context.Background(), 0) // a lower count never fails
	c.it.Close()
	c.it = nil
}

// Next implements [cf.Cursor].
func (c *Cursor) Next(ctx context.Context) (*cf.Block, error) {
	for {
		if b, more, err := c.Step(ctx); b != nil || !more || err != nil {
			return b, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// Step is Next that gives up after some thousand keys, or when the context ends: without a
// block, more says that the scan is not at its end.
func (c *Cursor) Step(ctx context.Context) (b *cf.Block, more bool, err error) {
	c.count(ctx, 0)
	if c.err == nil && ctx.Err() == nil && len(c.out) == 0 && !c.ended {
		c.budget = patience
		c.block.begin()
		c.ended = !c.fill(ctx)
		if c.passed != nil {
			c.cost.Tombstones = c.passed.Tombstones()
		}
	}
	if c.err != nil {
		return nil, false, c.err
	}
	if ctx.Err() != nil {
		return nil, true, nil
	}
	if b := c.ready(); b != nil {
		b, err := c.deliver(ctx, b)
		return b, err == nil, err
	}
	if c.ended {
		c.block.rest()
		c.count(ctx, 0)
		return nil, false, c.err
	}
	return nil, true, nil
}

// Split divides what is not read yet. fn gets its ranges of rows, which ascend, and returns
// those that the cursor goes on with, the first ones in the direction of the scan; nil
// leaves it whole.
func (c *Cursor) Split(fn func(rest []cf.Range) (own []cf.Range)) {
	if c.it == nil || c.err != nil || c.ended {
		return
	}
	rest := slices.Clone(c.rows)
	within := c.started && c.key != nil
	if within {
		at := c.within
		row := c.row.key
		if !c.row.open {
			var ok bool
			if row, _, ok = c.rowOf(c.key); !ok {
				return // the error comes next
			}
		}
		if within = at.Contains(string(row)); within {
			if c.scan.Reverse {
				at.End = string(row) + "\x00"
			} else {
				at.Start = string(row)
			}
			rest = slices.Insert(rest, 0, at)
		}
	}
	if c.scan.Reverse {
		slices.Reverse(rest)
	}
	own := slices.Clone(fn(rest))
	if len(own) == 0 {
		return
	}
	if c.scan.Reverse {
		slices.Reverse(own)
	}
	if within {
		c.within, own = own[0], own[1:]
	}
	c.rows = own
}

// count counts the memory of the cursor's blocks, and of the block that the caller holds.
func (c *Cursor) count(ctx context.Context, given int) {
	if c.err != nil {
		return
	}
	for _, b := range c.out {
		given += b.Size()
	}
	c.err = c.held.set(ctx, given+c.block.size())
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

// deliver counts a block, and gives it to the caller.
func (c *Cursor) deliver(ctx context.Context, b *cf.Block) (*cf.Block, error) {
	c.block.rest()
	if c.count(ctx, b.Size()); c.err != nil {
		b.Release()
		return nil, c.err
	}
	if c.cost.Bytes += int64(len(b.Data)); b.Continued {
		c.cost.Bytes -= int64(b.Rows[0].KeyLen) // it was in the block before
	}
	return b, nil
}

// fill reads until a block is complete, the patience ends or the scan does. It reports
// whether the scan goes on.
func (c *Cursor) fill(ctx context.Context) (more bool) {
	for len(c.out) == 0 && c.budget > 0 {
		if !c.row.open {
			if !c.begin(ctx) {
				return false
			}
			continue
		}
		c.read(ctx)
		if c.err != nil || !c.row.open && c.scan.Limit > 0 && c.found == c.scan.Limit {
			return false
		}
	}
	return true
}

// begin begins the row that the iterator is at, or goes on to where the next one may be.
// It reports whether there may be one.
func (c *Cursor) begin(ctx context.Context) bool {
	if !c.started {
		return c.nextRange(ctx)
	}
	if c.key == nil { // after all keys, or before them
		c.started = false
		return c.err == nil
	}
	row, prefix, ok := c.rowOf(c.key)
	switch {
	case !ok:
	case !c.within.Contains(text(row)):
		c.started = false
	case c.scan.Sample > 0 && cf.RowHash(text(row)) >= c.scan.Sample:
		c.enter(row, prefix)
		c.leave(ctx)
	case c.scan.Reverse && !c.row.back:
		c.target = append(c.target[:0], prefix...)
		c.seek(ctx, c.target) // to its first key
		c.row.back = true
	default:
		c.enter(row, prefix)
	}
	return c.err == nil
}

func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// nextRange goes to the first key of the next range that is not over.
func (c *Cursor) nextRange(ctx context.Context) bool {
	if len(c.rows) == 0 {
		return false
	}
	c.within, c.rows, c.started, c.row.back = c.rows[0], c.rows[1:], true, false
	c.budget--
	if c.scan.Reverse {
		c.target = c.within.AppendEnd(c.target[:0])
		c.seekBefore(ctx, c.target)
		return c.err == nil
	}
	if row, ok := c.within.Single(); ok { // from its prefix on: an engine may have filters of rows
		c.target = cf.AppendRowPrefix(c.target[:0], row)
		if len(c.scan.Filter.Qualifiers) > 0 && !c.scan.Filter.EveryRow {
			c.target = cf.AppendRowBound(c.target, c.scan.Filter.Qualifiers[0].Start)
		}
	} else {
		c.target = cf.AppendRowBound(c.target[:0], c.within.Start)
	}
	c.skipTo(ctx)
	return c.err == nil
}

// enter begins a row.
func (c *Cursor) enter(row, prefix []byte) {
	c.cost.RowsScanned++
	c.row.enter(row, prefix, &c.scan.Filter)
	c.block.beginRow()
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
	case c.key != nil && c.row.has(c.key):
		c.target = append(append(c.target[:0], c.row.prefix...), rowEnd)
		c.skipTo(ctx)
	}
}

// rowEnd sorts, after a row's prefix, after all keys of the row.
const rowEnd = qualifierTag + 1

// skipTo goes to the first key at or after the target, which is not before the next key.
func (c *Cursor) skipTo(ctx context.Context) {
	n := 0
	for ; c.key != nil && bytes.Compare(c.key, c.target) < 0; n++ {
		if n >= c.near {
			c.near = max(c.near/2, c.least)
			c.seek(ctx, c.target)
			return
		}
		c.next(ctx)
	}
	if n > 0 {
		c.near = min(c.near+1, maxNear)
	}
	if !c.moved {
		c.seek(ctx, c.target)
	}
}

func (c *Cursor) seek(ctx context.Context, key []byte) {
	c.cost.Seeks++
	c.looked(c.it.Seek(ctx, key))
}

func (c *Cursor) seekBefore(ctx context.Context, key []byte) {
	c.cost.Seeks++
	c.looked(c.it.SeekBefore(ctx, key))
}

func (c *Cursor) next(ctx context.Context) { c.looked(c.it.Next(ctx)) }

// looked counts the key that the iterator came to.
func (c *Cursor) looked(there bool) {
	c.moved = true
	c.budget--
	if !there {
		c.key, c.err = nil, c.it.Err()
		return
	}
	c.key = c.it.Key()
	c.cost.CellsScanned++
	c.cost.BytesScanned += int64(len(c.key))
}

// value is the value that the iterator is at, once for each cell. It is false after an
// error.
func (c *Cursor) value() (value []byte, ok bool) {
	if value = c.it.Value(); value == nil {
		c.err = c.it.Err()
	}
	c.cost.BytesScanned += int64(len(value))
	c.budget -= len(value) / perKey
	return value, c.err == nil
}

// rowOf is the row of a key, and the beginning of all keys of the row.
func (c *Cursor) rowOf(key []byte) (row, prefix []byte, ok bool) {
	if len(key) > 0 && key[0] == qualifierTag { // without an escape, as a rule
		if n := bytes.IndexByte(key, 0); n > 0 && n+1 < len(key) && key[n+1] == qualifierTag {
			return key[1:n], key[:n+1], true
		}
	}
	row, rest, err := tuple.DecodeBytes(key)
	if err != nil || len(rest) == 0 || rest[0] != qualifierTag {
		c.corrupt(key)
		return nil, nil, false
	}
	return row, key[:len(key)-len(rest)], true
}

// qualifierOf is the qualifier in a key without its row.
func qualifierOf(rest []byte) (qualifier []byte, ok bool) {
	if n := len(rest) - cf.VersionLen; n > 1 && rest[0] == qualifierTag && rest[n] == versionTag && bytes.IndexByte(rest[:n], 0) == n-1 {
		return rest[1 : n-1], true // without an escape
	}
	qualifier, version, err := tuple.DecodeBytes(rest)
	return qualifier, err == nil && len(version) == cf.VersionLen && version[0] == versionTag
}

// timestampOf is the timestamp at the end of a key.
func timestampOf(key []byte) (ts int64, ok bool) {
	inverted := binary.BigEndian.Uint64(key[len(key)-8:])
	return int64(math.MaxInt64 - inverted), inverted <= math.MaxInt64
}

// corrupt ends the scan at a key that is not the key of a cell.
func (c *Cursor) corrupt(key []byte) {
	_, _, _, err := cf.SplitCellKey(key)
	c.err = &cf.CorruptCell{Family: c.scan.Family, Key: bytes.Clone(key), Err: err}
}

// read reads cells of the row until it ends, a block is complete or the patience ends.
func (c *Cursor) read(ctx context.Context) {
	for c.err == nil && len(c.out) == 0 && c.budget > 0 && c.row.open {
		switch {
		case c.key == nil || !c.row.has(c.key):
			c.endRow(ctx)
		case c.every:
			c.takeAll(ctx)
		case c.row.inColumn(c.key) || c.beginColumn(ctx):
			c.cell(ctx)
		}
	}
}

// takeAll takes all cells of the row: the filter lets them pass. A plain scan spends its time
// here.
func (c *Cursor) takeAll(ctx context.Context) {
	c.foundRow()
	for prefix := c.row.prefix; c.err == nil && len(c.out) == 0 && c.budget > 0 && c.key != nil && follows(c.key, prefix, qualifierTag); {
		qualifier, ok := qualifierOf(c.key[len(prefix):])
		ts, in := int64(0), false
		if ok {
			ts, in = timestampOf(c.key)
		}
		if !in {
			c.corrupt(c.key)
			return
		}
		value, ok := c.value()
		if !ok {
			return
		}
		c.row.cells++
		c.cost.Cells++
		if !c.block.push(ts, qualifier, value) {
			c.add(ctx, ts, qualifier, value)
		}
		if c.err == nil {
			c.next(ctx)
		}
	}
}

// beginColumn begins a column, or goes past it.
func (c *Cursor) beginColumn(ctx context.Context) bool {
	qualifier, ok := qualifierOf(c.key[len(c.row.prefix):])
	if !ok {
		c.corrupt(c.key)
		return false
	}
	f := &c.scan.Filter
	if n := len(f.Qualifiers); n > 0 {
		r := c.row.rangeOf(qualifier, f.Qualifiers)
		if unwanted := r == n || string(qualifier) < f.Qualifiers[r].Start; unwanted && f.EveryRow && !c.row.any {
			c.row.begin(c.key, qualifier)
			c.row.witness = true
			return true
		}
		if r == n {
			c.endRow(ctx)
			return false
		}
		if start := f.Qualifiers[r].Start; string(qualifier) < start {
			c.target = cf.AppendRowBound(append(c.target[:0], c.row.prefix...), start)
			c.skipTo(ctx)
			return false
		}
	}
	if f.ColumnsPerRow > 0 && c.row.columns == f.ColumnsPerRow {
		c.endRow(ctx)
		return false
	}
	c.row.begin(c.key, qualifier)
	return true
}

// cell judges the cell that the iterator is at, and goes to the next that may pass.
func (c *Cursor) cell(ctx context.Context) {
	if len(c.key) != len(c.row.column)+cf.VersionLen {
		c.corrupt(c.key)
		return
	}
	ts, ok := timestampOf(c.key)
	if !ok {
		c.corrupt(c.key)
		return
	}
	f, r := &c.scan.Filter, &c.row
	r.rank = min(r.rank+1, math.MaxInt32)
	switch {
	case ts < f.Since || hidden(r.rank, ts, f.Retention):
		c.endColumn(ctx) // older cells are hidden too
		return
	case f.Until != 0 && ts >= f.Until:
		if r.rank > c.last { // the ranks of older cells no longer matter
			c.target = cf.AppendVersion(append(c.target[:0], r.column...), f.Until-1)
			c.skipTo(ctx)
		} else {
			c.next(ctx)
		}
		return
	}
	if r.witness {
		c.foundRow()
		c.endColumn(ctx)
		return
	}
	var value []byte
	r.passed++
	if first := r.passed == 1; len(f.Values) > 0 || first && len(f.Where) > 0 || !f.StripValues && !f.KeysOnly && !f.CountOnly {
		if value, ok = c.value(); !ok {
			return
		}
	}
	if r.passed == 1 {
		r.columns++
		if !r.judge(value, f.Where) {
			c.reject(ctx)
			return
		}
	}
	c.pass(ctx, ts, value)
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

// foundRow notes that a cell of the row passed, perhaps except for its value.
func (c *Cursor) foundRow() {
	if !c.row.any {
		c.row.any = true
		c.found++
		c.cost.Rows++
	}
}

// pass takes a cell into the block.
func (c *Cursor) pass(ctx context.Context, ts int64, value []byte) {
	f := &c.scan.Filter
	c.foundRow()
	if f.KeysOnly || len(f.Values) > 0 && !cf.ValueIn(f.Values, value) {
		return
	}
	c.row.cells++
	c.cost.Cells++
	if f.CountOnly {
		return
	}
	if f.StripValues {
		value = nil
	}
	c.add(ctx, ts, c.row.qualifier, value)
}

// add adds a cell to the block.
func (c *Cursor) add(ctx context.Context, ts int64, qualifier, value []byte) {
	c.complete(c.block.add(&c.row, ts, qualifier, value))
	if !isUsual(c.block.b) { // a row that is not judged yet, or a large value
		c.count(ctx, 0)
	}
}

// endColumn goes past the column.
func (c *Cursor) endColumn(ctx context.Context) {
	f := &c.scan.Filter
	last := c.row.inLast(f.Qualifiers) && !c.row.witness && (c.row.any || !f.EveryRow)
	if last || f.ColumnsPerRow > 0 && c.row.columns == f.ColumnsPerRow {
		c.endRow(ctx)
		return
	}
	c.target = append(append(c.target[:0], c.row.column...), columnEnd)
	c.skipTo(ctx)
}

// columnEnd sorts, after the prefix of a column, after all its keys.
const columnEnd = versionTag + 1

// endRow ends a row once it is read as far as it is wanted.
func (c *Cursor) endRow(ctx context.Context) {
	if c.row.any && !c.row.satisfied(c.scan.Filter.Where) {
		c.reject(ctx)
		return
	}
	c.complete(c.block.endRow(&c.row))
	c.leave(ctx)
}

// complete notes a block that is complete, if there is one.
func (c *Cursor) complete(full *cf.Block) {
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
	c.block.drop()
	c.leave(ctx)
}
