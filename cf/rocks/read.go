package rocks

// #include "cursor.h"
import "C"

import (
	"context"
	"sync"
	"unsafe"

	"github.com/smolwc/smolwc/cf"
)

// A request is what a read gives to C: one call of smolwc_read needs all of it
// beside the block, a cursor the scan alone.
type request struct {
	packed
	block C.smolwc_block
	cost  C.smolwc_cost
	rest  *C.smolwc_cursor
	reads int // that have used it
}

// manyReads is after how many reads, by about one goroutine, a program is taken for
// one that reads much.
const manyReads = 1 << 13

var requests = sync.Pool{New: func() any { return new(request) }}

// takeRequest takes a request from requests.
func (s *Store) takeRequest() *request {
	r := requests.Get().(*request)
	if r.reads++; r.reads == manyReads {
		s.ballast()
	}
	return r
}

// Read implements cf.Store. A read that fits into one block is one call of C; the
// engine's iterator sees the state in which it is made, so there is no need of a
// snapshot, which would take the engine's lock twice.
func (s *Store) Read(ctx context.Context, spec cf.Scan) ([]*cf.Block, cf.Cost, error) {
	if err := ctx.Err(); err != nil {
		return nil, cf.Cost{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, cf.Cost{}, cf.ErrClosed
	}
	fam, err := s.families.Load().get(spec.Family)
	if err != nil {
		return nil, cf.Cost{}, err
	}
	r := s.takeRequest()
	defer requests.Put(r)
	r.pack(&spec)
	r.scan.cells_per_call = patience
	f := filler{family: fam, size: newBlockSizer(&spec, &fam.shape, nil), crossings: newCrossings(s, &spec), room: newRoom(ctx)}
	defer f.room.close() // what is returned is the caller's to count
	made := new(loneBlock)
	b := &made.block
	if err := f.size.make(b, f.room); err != nil {
		return nil, cf.Cost{}, err
	}
	files, begins := s.filesOf(fam, &spec)
	r.block = C.smolwc_block{data_cap: C.size_t(cap(b.Data)), rows_cap: C.size_t(cap(b.Rows)), cells_cap: C.size_t(cap(b.Cells)), large: f.room.large(0)}
	status := C.smolwc_read(s.c.read, fam.c, fam.kept.c, files, &r.scan, r.boundsC(), r.endsC(), unsafe.SliceData(r.retention), unsafe.SliceData(r.conditions),
		(*C.char)(unsafe.Pointer(unsafe.SliceData(b.Data))),
		(*C.smolwc_row)(unsafe.Pointer(unsafe.SliceData(b.Rows))),
		(*C.smolwc_cell)(unsafe.Pointer(unsafe.SliceData(b.Cells))),
		&r.block, &r.cost, &r.rest)
	refused := f.counts(&r.block.large)
	if status == C.SMOLWC_END {
		s.sweepLater()
		s.counted(f.uncounted)
		f.put(b, &r.block)
		if begins || len(spec.Rows) > 1 || r.scan.single_rows == 0 {
			if err := f.crossed(true); err != nil {
				return nil, f.costOf(&r.cost), err
			}
		}
		if len(b.Rows) == 0 {
			return nil, f.costOf(&r.cost), nil
		}
		made.list[0] = b
		return made.list[:], f.costOf(&r.cost), nil
	}
	if f.c = r.rest; f.c == nil {
		s.counted(f.uncounted)
		return nil, cf.Cost{}, errNoMemory
	}
	defer f.free()
	if refused != nil {
		return nil, f.cost(), refused
	}
	block := r.block // alone: C may not be given what lies beside Go's pointers
	return f.goOn(ctx, b, &block, status)
}

// A loneBlock is a block and a list of it alone, in one allocation.
type loneBlock struct {
	block cf.Block
	list  [1]*cf.Block
}

// goOn reads what is left behind the first call.
func (f *filler) goOn(ctx context.Context, b *cf.Block, cb *C.smolwc_block, status C.smolwc_status) (blocks []*cf.Block, cost cf.Cost, err error) {
	b, status = f.fillOn(b, cb, status)
	for {
		switch status {
		case C.SMOLWC_CORRUPT:
			return nil, f.cost(), f.corrupt()
		case C.SMOLWC_ERROR:
			return nil, f.cost(), f.failure()
		}
		if err := f.crossed(status == C.SMOLWC_END); err != nil {
			return nil, f.cost(), err
		}
		if len(b.Rows) > 0 {
			blocks = append(blocks, b)
		}
		if status == C.SMOLWC_END {
			return blocks, f.cost(), nil
		}
		if err := ctx.Err(); err != nil {
			return nil, f.cost(), err
		}
		b, status = f.fillBlock()
	}
}
