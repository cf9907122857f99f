package scan

// #include "cursor.h"
import "C"

import (
	"context"
	"sync"
	"unsafe"

	"github.com/smolwc/smolwc/cf"
)

// A request is the memory that a read shares with C, besides the memory of the block. A
// call of smolwc_read needs all of it; a new cursor needs only the packed scan.
type request struct {
	packed
	block C.smolwc_block
	cost  C.smolwc_cost
	rest  *C.smolwc_cursor
}

var requests = sync.Pool{New: func() any { return new(request) }}

// Read reads a scan to its end, as [cf.Reader.Read] does. A read that fits into one block
// is one call of C. The engine's iterator sees the state at its creation, so the read
// needs no snapshot, which would take the engine's lock twice.
func (e *Engine) Read(ctx context.Context, fam *Family, spec *cf.Scan, a *cf.Answer) error {
	f := filler{family: fam, size: newBlockSizer(spec, &fam.shape, nil), crossings: newCrossings(e, spec), room: newRoom(ctx)}
	defer f.room.close() // the caller counts the blocks that are returned
	block, cost, status, err := f.readOnce(spec, &a.First)
	a.Cost = cost
	if err != nil || status == C.SMOLWC_END {
		return err
	}
	defer f.free()
	left := block // a copy: C must not get memory that also holds Go pointers
	return f.goOn(ctx, a, &left, status)
}

// readOnce begins a scan of the newest state with one call of C. If all cells fit into
// the block, the scan is complete. Otherwise the filler has a cursor to continue with,
// and the returned block is the state in which the call left b. The caller keeps the
// database open.
func (f *filler) readOnce(spec *cf.Scan, b *cf.Block) (block C.smolwc_block, cost cf.Cost, status C.smolwc_status, err error) {
	e, fam := f.engine, f.family
	r := requests.Get().(*request)
	defer requests.Put(r)
	r.pack(spec)
	r.scan.cells_per_call = patience
	if err := f.size.make(b, f.room); err != nil {
		return block, cost, C.SMOLWC_ERROR, err
	}
	files, begins := e.filesOf(fam, spec)
	r.block = C.smolwc_block{data_cap: C.size_t(cap(b.Data)), rows_cap: C.size_t(cap(b.Rows)), cells_cap: C.size_t(cap(b.Cells)), large: f.room.large(0)}
	status = C.smolwc_read(e.reader, fam.c, fam.kept.c, files, &r.scan, r.boundsC(), r.endsC(), unsafe.SliceData(r.retention), unsafe.SliceData(r.conditions),
		(*C.char)(unsafe.Pointer(unsafe.SliceData(b.Data))),
		(*C.smolwc_row)(unsafe.Pointer(unsafe.SliceData(b.Rows))),
		(*C.smolwc_cell)(unsafe.Pointer(unsafe.SliceData(b.Cells))),
		&r.block, &r.cost, &r.rest)
	refused := f.counts(&r.block.large)
	if status != C.SMOLWC_END {
		if f.c = r.rest; f.c == nil {
			f.letGo()
			err = errNoMemory
		} else if err = refused; err != nil {
			f.free()
		}
		return r.block, cost, status, err
	}
	e.sweepLater()
	f.letGo()
	f.put(b, &r.block)
	if begins || len(spec.Rows) > 1 || r.scan.single_rows == 0 {
		err = f.crossed(true)
	}
	return r.block, f.costOf(&r.cost), status, err
}

// BeginNewest begins a scan of the newest state, for which the engine needs no
// snapshot. If all cells fit into one block, it returns a cursor with this block.
// Otherwise it returns nil and a function that makes its argument continue the scan.
func (v *View) BeginNewest(ctx context.Context, fam *Family, spec *cf.Scan) (cf.Cursor, func(*Cursor), error) {
	f := filler{family: fam, size: newBlockSizer(spec, &fam.shape, &v.Users), crossings: newCrossings(v.Engine, spec), early: true, room: newRoom(ctx)}
	c := new(readCursor)
	block, cost, status, err := f.readOnce(spec, &c.own)
	switch {
	case err != nil:
		f.room.close()
		return nil, nil, err
	case status == C.SMOLWC_END:
		c.block, c.cost, c.room = &c.own, cost, f.room
		return c, nil, nil
	}
	return nil, v.goOn(*spec, f, &c.own, block, status), nil
}

// goOn returns a function that makes a cursor continue after the first call of C.
func (v *View) goOn(spec cf.Scan, f filler, b *cf.Block, block C.smolwc_block, status C.smolwc_status) func(*Cursor) {
	return func(c *Cursor) {
		c.adopt(v, spec, &f)
		var out filled
		b, status = f.fillOn(b, &block, status)
		f.deliver(&out, b, status)
		out.cost = f.cost()
		c.take(out)
	}
}

// A readCursor is a cursor that has already read its only block.
type readCursor struct {
	own   cf.Block
	block *cf.Block // nil once it has been returned
	cost  cf.Cost
	room  *room
}

// Next implements cf.Cursor.
func (c *readCursor) Next(ctx context.Context) (*cf.Block, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b := c.block
	if c.block = nil; b == nil || len(b.Rows) == 0 {
		c.room.close()
		return nil, nil
	}
	return b, nil
}

// Cost implements cf.Cursor.
func (c *readCursor) Cost() cf.Cost { return c.cost }

// Close implements cf.Cursor.
func (c *readCursor) Close() { c.room.close() }

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
		if b != &a.First {
			a.Add(b)
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
