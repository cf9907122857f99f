//go:build cgo && linux && !norocksdb

package scan

// #include "cursor.h"
//
// #cgo noescape smolwc_read
// #cgo nocallback smolwc_read
import "C"

import (
	"context"
	"unsafe"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/ahead"
)

// Read reads a scan to its end, as [cf.Reader.Read] does. A read that fits into one block
// is one call of C. The engine's iterator sees the state at its creation, so the read
// needs no snapshot, which would take the engine's lock twice.
func (e *Engine) Read(ctx context.Context, fam *Family, spec *cf.Scan, a *cf.Answer) error {
	f := filler{family: fam, size: newBlockSizer(spec, &fam.shape, nil), crossings: newCrossings(e, spec), room: ahead.NewRoom(ctx)}
	defer f.room.Close() // the caller counts the blocks that are returned
	var block C.smolwc_block
	status, err := f.readOnce(spec, &a.First, &block, &a.Cost)
	if err != nil || status == C.SMOLWC_END {
		return err
	}
	defer f.free()
	return f.goOn(ctx, a, &block, status)
}

// readOnce begins a scan of the newest state with one call of C. If all cells fit into
// the block, the scan is complete. Otherwise the filler gets a cursor to continue with,
// and block is the state in which the call left b. The caller keeps the database open.
func (f *filler) readOnce(spec *cf.Scan, b *cf.Block, block *C.smolwc_block, cost *cf.Cost) (status C.smolwc_status, err error) {
	e, fam := f.engine, f.family
	p := pack(spec)
	defer packeds.Put(p)
	p.scan.cells_per_call = patience
	if err := f.size.make(b, f.room); err != nil {
		return C.SMOLWC_ERROR, err
	}
	files, begins := e.filesOf(fam, spec)
	block.data_cap, block.rows_cap, block.cells_cap = C.size_t(cap(b.Data)), C.size_t(cap(b.Rows)), C.size_t(cap(b.Cells))
	block.large = large(f.room, 0)
	var spent C.smolwc_cost
	rest := C.smolwc_read(e.reader, fam.c, fam.kept.c, files, &p.scan, p.boundsC(), p.endsC(), unsafe.SliceData(p.retention), unsafe.SliceData(p.conditions),
		dataOf(b), rowsOf(b), cellsOf(b), block, &spent, &status)
	refused := f.counts(&block.large)
	if status != C.SMOLWC_END {
		if f.c = rest; f.c == nil {
			f.letGo()
			err = errNoMemory
		} else if err = refused; err != nil {
			f.free()
		}
		return status, err
	}
	e.sweepLater()
	f.letGo()
	f.put(b, block)
	if begins || len(spec.Rows) > 1 || p.scan.single_rows == 0 {
		err = f.crossed(true)
	}
	*cost = f.costOf(&spent)
	return status, err
}

// BeginNewest begins a scan of the newest state, for which the engine needs no
// snapshot. If all cells fit into one block, it returns a cursor with this block.
// Otherwise it returns nil and a function that makes its argument continue the scan.
func (v *View) BeginNewest(ctx context.Context, fam *Family, spec *cf.Scan) (cf.Cursor, func(*Cursor), error) {
	f := filler{family: fam, size: newBlockSizer(spec, &fam.shape, &v.Users), crossings: newCrossings(v.Engine, spec), early: true, room: ahead.NewRoom(ctx)}
	c := new(readCursor)
	var block C.smolwc_block
	status, err := f.readOnce(spec, &c.own, &block, &c.cost)
	switch {
	case err != nil:
		f.room.Close()
		return nil, nil, err
	case status == C.SMOLWC_END:
		c.block, c.room = &c.own, f.room
		return c, nil, nil
	}
	return nil, v.goOn(*spec, f, &c.own, block, status), nil
}

// goOn returns a function that makes a cursor continue after the first call of C.
func (v *View) goOn(spec cf.Scan, f filler, b *cf.Block, block C.smolwc_block, status C.smolwc_status) func(*Cursor) {
	return func(c *Cursor) {
		c.adopt(v, spec, &f)
		var out ahead.Filled
		b, status = f.fillOn(b, &block, status)
		f.deliver(&out, b, status)
		out.Cost = f.cost()
		c.take(out)
	}
}

// A readCursor is a cursor that already read its only block.
type readCursor struct {
	own   cf.Block
	block *cf.Block // nil once it was returned
	cost  cf.Cost
	room  *ahead.Room
}

// Next implements cf.Cursor.
func (c *readCursor) Next(ctx context.Context) (*cf.Block, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b := c.block
	if c.block = nil; b == nil || len(b.Rows) == 0 {
		c.room.Close()
		return nil, nil
	}
	return b, nil
}

// Cost implements cf.Cursor.
func (c *readCursor) Cost() cf.Cost { return c.cost }

// Close implements cf.Cursor.
func (c *readCursor) Close() { c.room.Close() }

// goOn reads the rest of a scan after the first call of C.
func (f *filler) goOn(ctx context.Context, a *cf.Answer, cb *C.smolwc_block, status C.smolwc_status) (err error) {
	defer func() { a.Cost = f.cost() }()
	b, status := f.fillOn(&a.First, cb, status)
	for {
		switch status {
		case C.SMOLWC_CORRUPT:
			return f.corrupt()
		case C.SMOLWC_ERROR:
			return f.failure()
		}
		if err := f.crossed(status == C.SMOLWC_END); err != nil {
			return err
		}
		switch {
		case b == &a.First:
		case len(b.Rows) > 0:
			a.Add(b)
		default:
			f.room.Drop(b.Size())
			b.Release()
		}
		if status == C.SMOLWC_END {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		b, status = f.fillBlock()
	}
}
