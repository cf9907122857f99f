//go:build cgo && linux && !norocksdb

package scan

// #cgo CFLAGS: -O2 -Wall -Wextra
// #cgo CXXFLAGS: -O2 -g1 -Wall -Wextra -std=c++20 -fno-rtti
// #cgo LDFLAGS: -lrocksdb
// #include "cursor.h"
//
// #cgo noescape smolwc_cursor_new
// #cgo nocallback smolwc_cursor_new
// #cgo noescape smolwc_cursor_fill
// #cgo nocallback smolwc_cursor_fill
// #cgo noescape smolwc_cursor_cost
// #cgo nocallback smolwc_cursor_cost
import "C"

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"unsafe"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/ahead"
	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

// A Cursor is a scan with a cursor of C. A method of [View] or Begin begins it.
type Cursor struct {
	view *View
	spec cf.Scan

	mu     sync.Mutex    // held by Next, Cost and Stop
	filler *filler       // nil once ahead takes it
	ahead  *ahead.Reader // nil until the scan counts as long
	// Goroutines read ahead of the caller.
	divided bool
	fills   int // number of calls of fill
	ready   []*cf.Block
	given   int // bytes of the block that the last Next returned
	room    *ahead.Room
	closed  bool
	end     bool
	err     error // the error that ended the scan early
	cost    cf.Cost
}

// A filler makes blocks with a cursor of C. It belongs to one goroutine at a time.
type filler struct {
	family *Family
	size   blockSizer
	at     string // the last row that was read, in its block, which is not given back before the next; "" at first
	early  bool   // the scan is not known to be long yet
	begun  bool   // it was asked to fill a block
	crossings
	c *C.smolwc_cursor

	room    *ahead.Room
	of      *divided // nil while the scan is whole
	fetch   int      // bytes that the engine reads ahead
	large   int      // bytes of large blocks that the engine holds for the filler
	refused error    // the error when there was no room
	// Bytes of further large blocks that are not counted.
	uncounted C.size_t

	reads    int64   // how often files were read
	returned cf.Cost // the part of the cost that C does not count: cells, rows and bytes in blocks
}

const (
	// patience is the number of cells after which a block is delivered even if it is
	// not full, so that the caller can check whether the scan is still wanted.
	patience = 1 << 16
	// shortCall is the number of cells that a short call of C looks at.
	shortCall = 96
)

// cellsPerCall is the number of cells that a call of C looks at. Go wakes up a thread
// to watch calls that take more than 20 microseconds, which costs some percent of a
// core. With one core, many short calls cost more than a few long ones
// (bench/NOTEBOOK.md), except for a list of rows, which is mostly seeks.
func cellsPerCall(ranges int) int {
	if runtime.GOMAXPROCS(0) == 1 && ranges <= longList {
		return patience
	}
	return shortCall
}

// Begin begins a scan of a family. The view must be in use. If Begin succeeds it adds a
// use of the view, which the caller leaves after Stop.
func (c *Cursor) Begin(ctx context.Context, v *View, fam *Family, spec cf.Scan) error {
	f, err := newFiller(v, fam, spec, 0)
	if err != nil {
		return err
	}
	f.early, f.room = true, ahead.NewRoom(ctx)
	c.adopt(v, spec, f)
	return nil
}

// adopt gives the cursor its filler.
func (c *Cursor) adopt(v *View, spec cf.Scan, f *filler) {
	c.view, c.spec, c.filler, c.room = v, spec, f, f.room
	v.Users.Add(1)
}

// newFiller makes a filler that reads a view. The view must stay in use until the
// filler is freed. The filler reads about fetch bytes of a file at a time if they are
// not cached; 0 leaves the number to the engine, which begins with few.
func newFiller(v *View, fam *Family, spec cf.Scan, fetch int) (*filler, error) {
	f := &filler{family: fam, size: newBlockSizer(&spec, &fam.shape, &v.Users), crossings: newCrossings(v.Engine, &spec), c: v.newCursor(fam, spec, fetch)}
	if f.c == nil {
		return nil, errNoMemory
	}
	return f, nil
}

var errNoMemory = errors.New("out of memory for a cursor")

func (f *filler) free() {
	C.smolwc_cursor_free(f.c)
	f.letGo()
}

// cut ends the filler's scan after the given ranges. It reports whether it could.
func (f *filler) cut(rows []cf.Range, reverse bool) bool {
	bound := cf.AppendRowBound(nil, rows[0].Start)
	if !reverse {
		end := rows[len(rows)-1].End
		if end == "" {
			return false
		}
		bound = cf.AppendRowBound(nil, end)
	}
	if C.smolwc_cursor_cut(f.c, (*C.char)(unsafe.Pointer(unsafe.SliceData(bound))), C.size_t(len(bound))) == 0 {
		return false
	}
	f.rows = rows
	return true
}

func (v *View) newCursor(f *Family, spec cf.Scan, fetch int) *C.smolwc_cursor {
	p := pack(&spec)
	defer packeds.Put(p)
	p.scan.cells_per_call, p.scan.fetch = C.int64_t(cellsPerCall(len(spec.Rows))), C.size_t(fetch)
	return C.smolwc_cursor_new(v.Engine.c, f.c, snapshotHandle(v.At()), overlayHandle(v.Overlay), &p.scan,
		p.boundsC(), p.endsC(), unsafe.SliceData(p.retention), unsafe.SliceData(p.conditions))
}

// Next implements cf.Cursor.
func (c *Cursor) Next(ctx context.Context) (*cf.Block, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if c.closed {
			return nil, cf.ErrClosed
		}
		c.room.Drop(c.given)
		c.given = 0
		for len(c.ready) > 0 {
			b := c.ready[0]
			c.ready = c.ready[1:]
			size := b.Size()
			if len(b.Rows) > 0 {
				c.given = size
				return b, nil
			}
			b.Release()
			c.room.Drop(size)
		}
		if c.end || c.err != nil {
			return nil, c.err
		}
		if err := c.Fill(ctx); err != nil {
			return nil, err
		}
	}
}

// take stores the result of a fill.
func (c *Cursor) take(f ahead.Filled) { c.ready, c.end, c.err, c.cost = f.Blocks, f.End, f.Err, f.Cost }

// Fill makes the next blocks ready for Next, which calls it. Other callers must not use
// the cursor concurrently.
func (c *Cursor) Fill(ctx context.Context) error {
	f, err := c.fill(ctx)
	if err == nil {
		c.take(f)
	}
	return err
}

// Ahead reports whether the scan was divided among goroutines that read ahead of the
// caller.
func (c *Cursor) Ahead() bool { return c.divided }

// fill returns the next blocks, filled now or by the goroutines that read ahead.
func (c *Cursor) fill(ctx context.Context) (ahead.Filled, error) {
	c.fills++
	long := ahead.IsLong(c.fills, c.cost) || c.fills == 2 && c.ahead == nil && c.filler.paysToDivide(len(c.spec.Rows))
	if long && c.ahead == nil && c.view.Overlay == nil && c.view.Users.Load() <= fewCursors+1 && c.room.Spare() {
		c.ahead, c.divided = divide(ctx, c.view, c.spec, c.filler)
		c.filler = nil
	}
	if c.ahead != nil {
		return c.ahead.Next(ctx)
	}
	if c.view.Overlay == nil {
		return c.filler.fill(1), nil
	}
	defer c.filler.leaveWith(ctx)()
	f := c.filler.fill(1)
	if f.Err != nil && ctx.Err() != nil {
		f.Err = ctx.Err()
	}
	return f, nil
}

// leaveWith ends the calls of C with the context, until its result is called.
func (f *filler) leaveWith(ctx context.Context) (stop func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	left := make(chan struct{})
	leaves := context.AfterFunc(ctx, func() {
		defer close(left)
		C.smolwc_cursor_leave(f.c, 1)
	})
	return func() {
		if !leaves() {
			<-left
			C.smolwc_cursor_leave(f.c, 0)
		}
	}
}

// fill fills up to n blocks. It stops after some ten thousand unwanted cells, so that
// the caller can check whether the scan is still wanted, and after a block if there is no
// spare memory.
func (f *filler) fill(n int) (out ahead.Filled) {
	for len(out.Blocks) < n && !out.End && out.Err == nil && (len(out.Blocks) == 0 || f.room.Spare()) {
		b, status := f.fillBlock()
		f.deliver(&out, b, status)
		if status == C.SMOLWC_MORE {
			break
		}
	}
	out.Cost = f.cost()
	return out
}

// deliver adds a block to out, or an error, by the status of the call of C that filled
// it.
func (f *filler) deliver(out *ahead.Filled, b *cf.Block, status C.smolwc_status) {
	switch status {
	case C.SMOLWC_CORRUPT:
		out.Err = f.corrupt()
	case C.SMOLWC_ERROR:
		out.Err = f.failure()
	default:
		if out.Err = f.crossed(status == C.SMOLWC_END); out.Err == nil {
			out.Blocks = append(out.Blocks, b)
			out.End = status == C.SMOLWC_END
		}
	}
}

// fillBlock makes C fill a new block.
func (f *filler) fillBlock() (*cf.Block, C.smolwc_status) {
	b := new(cf.Block)
	if f.refused = f.size.make(b, f.room); f.refused != nil {
		return b, C.SMOLWC_ERROR
	}
	return f.fillOn(b, &C.smolwc_block{
		data_cap:  C.size_t(cap(b.Data)),
		rows_cap:  C.size_t(cap(b.Rows)),
		cells_cap: C.size_t(cap(b.Cells)),
	}, C.SMOLWC_MORE)
}

// fillOn makes C continue to fill a block. cb and status are the state that the last
// call left.
func (f *filler) fillOn(b *cf.Block, cb *C.smolwc_block, status C.smolwc_status) (*cf.Block, C.smolwc_status) {
	most := patience
	if f.early {
		most = 2 * ahead.CellsBefore
	}
	most = max(1, most/cellsPerCall(len(f.rows)))
	if f.early && !f.begun && len(f.rows) > longList {
		most = 3 // it is decided next how to read the list
	}
	for calls := 0; ; calls++ {
		grown := status == C.SMOLWC_GROW // the block is empty; a grown block is filled
		if grown {
			if f.refused = f.grow(b, cb); f.refused != nil {
				return b, C.SMOLWC_ERROR
			}
			status = C.SMOLWC_MORE
		}
		if status != C.SMOLWC_MORE || (calls >= most || cb.stopped != 0) && cb.undecided == 0 && !grown {
			break
		}
		cb.undecided, cb.stopped = 0, 0
		f.begun = true
		f.letGo() // otherwise a scan of large values would block itself
		cb.large = large(f.room, f.large)
		status = C.smolwc_cursor_fill(f.c, dataOf(b), rowsOf(b), cellsOf(b), cb)
		if f.refused = f.counts(&cb.large); f.refused != nil {
			return b, C.SMOLWC_ERROR
		}
	}
	f.put(b, cb)
	return b, status
}

// put sets the lengths of a block after C filled it.
func (f *filler) put(b *cf.Block, cb *C.smolwc_block) {
	b.Data, b.Rows, b.Cells = b.Data[:cb.data_len], b.Rows[:cb.rows_len], b.Cells[:cb.cells_len]
	b.Continued = cb.continued != 0
	f.reads += int64(cb.file_reads)
	f.learn(b)
}

// learn learns the shape of the next block from this one, and notes its cost and its
// last row.
func (f *filler) learn(b *cf.Block) {
	f.size.learn(b, &f.family.shape)
	f.returned.Cells += int64(len(b.Cells))
	f.returned.Rows += int64(len(b.Rows))
	f.returned.Bytes += int64(len(b.Data))
	if b.Continued {
		f.returned.Rows--
		f.returned.Bytes -= int64(b.Rows[0].KeyLen)
	}
	if last := len(b.Rows) - 1; last >= 0 {
		f.at = b.RowKey(&b.Rows[last])
	}
}

// dataOf, rowsOf and cellsOf are the memory of a block for C.
func dataOf(b *cf.Block) *C.char { return (*C.char)(unsafe.Pointer(unsafe.SliceData(b.Data))) }

func rowsOf(b *cf.Block) *C.smolwc_row {
	return (*C.smolwc_row)(unsafe.Pointer(unsafe.SliceData(b.Rows)))
}

func cellsOf(b *cf.Block) *C.smolwc_cell {
	return (*C.smolwc_cell)(unsafe.Pointer(unsafe.SliceData(b.Cells)))
}

// key is the key at the engine's iterator, empty at the end.
func (f *filler) key() []byte {
	var n C.size_t
	key := C.smolwc_cursor_key(f.c, &n)
	return C.GoBytes(unsafe.Pointer(key), C.int(n))
}

// row is the row at the engine's iterator. All rows before it in the scan's order have
// been read.
func (f *filler) row() (key string, ok bool) {
	row, _, _, err := cf.SplitCellKey(f.key())
	return string(row), err == nil
}

// nextRow is the row of a list that the cursor is in, or comes to next.
func (f *filler) nextRow() string { return f.rows[C.smolwc_cursor_range(f.c)].Start }

// corrupt describes the key that C could not read.
func (f *filler) corrupt() error {
	raw := f.key()
	_, _, _, err := cf.SplitCellKey(raw)
	return &cf.CorruptCell{Family: f.family.Name, Key: raw, Err: err}
}

func (f *filler) failure() error {
	if f.refused != nil {
		return f.refused
	}
	msg := C.smolwc_cursor_error(f.c)
	if msg == nil {
		return errNoMemory
	}
	return f.engine.explain(f.family, native.TakeError(unsafe.Pointer(msg)))
}

func (f *filler) cost() cf.Cost {
	var cost C.smolwc_cost
	C.smolwc_cursor_cost(f.c, &cost)
	return f.costOf(&cost)
}

func (f *filler) costOf(cost *C.smolwc_cost) cf.Cost {
	return cf.Cost{
		Seeks: int64(cost.seeks), RowsScanned: int64(cost.rows_scanned),
		CellsScanned: int64(cost.cells_scanned), BytesScanned: int64(cost.bytes_scanned), Tombstones: int64(cost.tombstones),
		Cells: f.returned.Cells + int64(cost.counted), Rows: f.returned.Rows, Bytes: f.returned.Bytes,
	}
}

// Cost implements cf.Cursor. It does not count reads ahead of the caller.
func (c *Cursor) Cost() cf.Cost {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cost
}

// Stop ends the scan. It returns true for the call that ended it; that caller then
// leaves the view.
func (c *Cursor) Stop() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.closed = true
	if c.ahead != nil {
		c.ahead.Stop()
	} else {
		c.filler.free()
	}
	c.room.Close()
	return true
}

func snapshotHandle(s *grocksdb.Snapshot) *C.rocksdb_snapshot_t {
	return (*C.rocksdb_snapshot_t)(native.Handle(s))
}

// overlayHandle is NULL for a nil batch.
func overlayHandle(b *grocksdb.WriteBatchWI) *C.rocksdb_writebatch_wi_t {
	if b == nil {
		return nil
	}
	return (*C.rocksdb_writebatch_wi_t)(native.Handle(b))
}
