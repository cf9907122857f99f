package rocks

// #cgo CFLAGS: -O2 -Wall -Wextra
// #cgo LDFLAGS: -lrocksdb
// #include "cursor.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/smolwc/smolwc/cf"
)

// A cursor implements cf.Cursor on the C cursor.
type cursor struct {
	snapshot *snapshot

	mu     sync.Mutex // held by Next, Cost and release
	filler filler
	ahead  *readAhead // nil until the scan has proved long
	blocks int        // returned so far
	closed bool
	end    bool
	err    error // what ended it before its end
	cost   cf.Cost
}

// A filler makes blocks with the C cursor. It belongs to one goroutine at a
// time: the cursor's caller or the one that reads ahead.
type filler struct {
	family string
	size   blockSizer
	c      *C.smolwc_cursor
}

// A filled is what one call of C made.
type filled struct {
	block *cf.Block // may be empty
	end   bool
	err   error
	cost  cf.Cost // of the whole scan so far
}

// Scan implements cf.Snapshot.
func (s *snapshot) Scan(ctx context.Context, spec cf.Scan) (cf.Cursor, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := s.families.get(spec.Family)
	if err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, cf.ErrClosed
	}
	c := &cursor{snapshot: s, filler: filler{family: spec.Family, size: newBlockSizer(spec)}}
	if c.filler.c = s.newCursor(f, spec); c.filler.c == nil {
		return nil, errors.New("out of memory for a cursor")
	}
	s.uses.Add(1)
	s.store.open.addCursor(c)
	return c, nil
}

func (s *snapshot) newCursor(f *family, spec cf.Scan) *C.smolwc_cursor {
	bounds, ends, single := packBounds(spec)
	filter := &spec.Filter
	retention := make([]C.smolwc_retention, len(filter.Retention))
	for i, r := range filter.Retention {
		retention[i] = C.smolwc_retention{versions: C.int64_t(r.Versions), before: C.int64_t(r.Before)}
	}
	scan := C.smolwc_scan{
		rows_len:       C.size_t(len(spec.Rows)),
		qualifiers_len: C.size_t(len(filter.Qualifiers)),
		retention_len:  C.size_t(len(retention)),
		since:          C.int64_t(filter.Since),
		until:          C.int64_t(filter.Until),
		versions:       C.int64_t(filter.Versions),
		cells_per_row:  C.int64_t(filter.CellsPerRow),
		limit:          C.int64_t(spec.Limit),
		sample:         C.uint64_t(spec.Sample),
		reverse:        flag(spec.Reverse),
		keys_only:      flag(filter.KeysOnly),
		strip_values:   flag(filter.StripValues),
		count_only:     flag(filter.CountOnly),
		single_rows:    flag(single),

		columns_per_row: C.int64_t(filter.ColumnsPerRow),
	}
	return C.smolwc_cursor_new(dbHandle(s.store.db), familyHandle(f.handle), snapshotHandle(s.engine), overlayHandle(s.overlay), &scan,
		(*C.char)(unsafe.Pointer(unsafe.SliceData(bounds))),
		(*C.uint32_t)(unsafe.Pointer(unsafe.SliceData(ends))),
		unsafe.SliceData(retention))
}

// packBounds lays the bounds of a scan's rows and qualifiers end to end, as
// smolwc_cursor_new takes them, and says whether every range is a single row.
func packBounds(spec cf.Scan) (bounds []byte, ends []uint32, single bool) {
	single = true
	for _, r := range spec.Rows {
		if _, ok := r.Single(); !ok {
			single = false
			break
		}
	}
	ends = make([]uint32, 0, 2*(len(spec.Rows)+len(spec.Filter.Qualifiers)))
	put := func(start, end []byte) {
		bounds = append(bounds, start...)
		ends = append(ends, uint32(len(bounds)))
		bounds = append(bounds, end...)
		ends = append(ends, uint32(len(bounds)))
	}
	for _, r := range spec.Rows {
		start, end := r.Bounds()
		if single {
			start = cf.AppendRowPrefix(start[:0], r.Start)
		}
		put(start, end)
	}
	for _, q := range spec.Filter.Qualifiers {
		put(q.Bounds())
	}
	return bounds, ends, single
}

func flag(b bool) C.uint8_t {
	if b {
		return 1
	}
	return 0
}

// Next implements cf.Cursor.
func (c *cursor) Next(ctx context.Context) (*cf.Block, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.end && c.err == nil {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if c.closed {
			return nil, cf.ErrClosed
		}
		f, err := c.fill(ctx)
		if err != nil {
			return nil, err
		}
		c.end, c.err, c.cost = f.end, f.err, f.cost
		if f.err == nil && len(f.block.Rows) > 0 {
			c.blocks++
			return f.block, nil
		}
	}
	return nil, c.err
}

// fill gets the next block: made now, or by the goroutine that reads ahead.
func (c *cursor) fill(ctx context.Context) (filled, error) {
	if c.ahead == nil && c.blocks >= blocksBeforeAhead && c.snapshot.overlay == nil && runtime.GOMAXPROCS(0) > 1 {
		c.ahead = startReadAhead(&c.filler)
	}
	if c.ahead != nil {
		return c.ahead.next(ctx)
	}
	return c.filler.fill(), nil
}

// fill has C fill one block.
func (f *filler) fill() filled {
	b := f.size.block()
	for {
		var pin runtime.Pinner // cb is Go memory that points at Go memory
		cb := C.smolwc_block{
			data:  (*C.char)(pinned(&pin, b.Data)),
			rows:  (*C.smolwc_row)(pinned(&pin, b.Rows)),
			cells: (*C.smolwc_cell)(pinned(&pin, b.Cells)),

			data_cap:  C.size_t(cap(b.Data)),
			rows_cap:  C.size_t(cap(b.Rows)),
			cells_cap: C.size_t(cap(b.Cells)),
		}
		status := C.smolwc_cursor_fill(f.c, &cb)
		pin.Unpin()
		switch status {
		case C.SMOLWC_GROW:
			b.Data = make([]byte, 0, int(cb.need))
			continue
		case C.SMOLWC_CORRUPT:
			return filled{err: f.corrupt(), cost: f.cost()}
		case C.SMOLWC_ERROR:
			return filled{err: f.failure(), cost: f.cost()}
		}
		b.Data, b.Rows, b.Cells = b.Data[:cb.data_len], b.Rows[:cb.rows_len], b.Cells[:cb.cells_len]
		b.Continued = cb.continued != 0
		f.size.learn(b)
		return filled{block: b, end: status == C.SMOLWC_END, cost: f.cost()}
	}
}

// pinned is the address of a slice's memory, held where it is until p is undone.
func pinned[T any](p *runtime.Pinner, s []T) unsafe.Pointer {
	at := unsafe.SliceData(s)
	if cap(s) > 0 {
		p.Pin(at)
	}
	return unsafe.Pointer(at)
}

// corrupt describes the key that C could not read.
func (f *filler) corrupt() error {
	var n C.size_t
	key := C.smolwc_cursor_key(f.c, &n)
	raw := C.GoBytes(unsafe.Pointer(key), C.int(n))
	_, _, _, err := cf.SplitCellKey(raw)
	return &cf.CorruptCell{Family: f.family, Key: raw, Err: err}
}

func (f *filler) failure() error {
	msg := C.smolwc_cursor_error(f.c)
	if msg == nil {
		return errors.New("out of memory for a cursor")
	}
	defer C.rocksdb_free(unsafe.Pointer(msg))
	return fmt.Errorf("family %s: %w", f.family, wrap(errors.New(C.GoString(msg))))
}

func (f *filler) cost() cf.Cost {
	var cost C.smolwc_cost
	C.smolwc_cursor_cost(f.c, &cost)
	return cf.Cost{
		Seeks: int64(cost.seeks), RowsScanned: int64(cost.rows_scanned),
		CellsScanned: int64(cost.cells_scanned), BytesScanned: int64(cost.bytes_scanned), Tombstones: int64(cost.tombstones),
		Cells: int64(cost.cells), Rows: int64(cost.rows), Bytes: int64(cost.bytes),
	}
}

// Cost implements cf.Cursor. What was read ahead of the caller is not counted.
func (c *cursor) Cost() cf.Cost {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cost
}

// Close implements cf.Cursor.
func (c *cursor) Close() {
	c.release()
	c.snapshot.store.open.removeCursor(c)
}

func (c *cursor) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	if c.ahead != nil {
		c.ahead.stop()
	}
	C.smolwc_cursor_free(c.filler.c)
	c.snapshot.unuse()
}
