//go:build cgo && linux && !norocksdb

package scan

// #include "kept.h"
import "C"

import (
	"context"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/ahead"
)

const (
	// A list of more rows than longList begins with coldRanges of them or so. If these had
	// to be read from files, up to coldHelpers goroutines read the others, because most of
	// them wait for the disk, but no more than allColdHelpers for all scans together.
	longList       = 2 * coldRanges
	coldRanges     = 16
	coldHelpers    = 7
	allColdHelpers = 28
	// A row of such a list is smaller than this.
	coldRowBytes = 16 << 10
	// chunkFetch is the number of bytes of a file that a chunk reads at a time. By
	// default the engine begins each chunk with 8 KiB and grows to 256 KiB.
	chunkFetch = 512 << 10
)

// A divided is a long scan that is read in chunks. It implements [ahead.Source].
type divided struct {
	view   *View
	family *Family
	spec   cf.Scan
	room   *ahead.Room
	cold   bool // it is a list of rows that are read from files

	mu   sync.Mutex
	size blockSizer // for later chunks
}

// divide makes several goroutines read a scan. It takes over the cursor's filler.
func divide(ctx context.Context, v *View, spec cf.Scan, first *filler) (r *ahead.Reader, several bool) {
	d := &divided{view: v, family: first.family, spec: spec, room: first.room, size: first.size}
	list := first.begun && len(spec.Rows) > longList && areRows(spec.Rows)
	d.cold = list && first.cold()
	first.early, first.of = false, d
	crew := &v.Engine.crew
	if d.cold {
		crew = &v.Engine.coldCrew
	}
	cuts := d.cutFirst(first, list, crew)
	return ahead.New(ctx, d, crew, d.room, first, cuts), cuts != nil
}

// cutFirst divides the scan, and leaves the first chunk to the first filler, which is
// at its beginning. A scan with a limit on its rows stays whole.
func (d *divided) cutFirst(first *filler, list bool, crew *ahead.Crew) *ahead.Chunks {
	if d.spec.Limit != 0 || !crew.Helps() {
		return nil
	}
	at := ""
	switch {
	case list: // the iterator may be at no row
		at = first.nextRow()
	case first.begun:
		var ok bool
		at, ok = first.row()
		if d.spec.Reverse && first.returned.Rows > 0 { // after the last cell of a row, the iterator is at the row before
			at = min(at, first.at)
		}
		if !ok {
			return nil
		}
	}
	if first.begun && d.spec.Reverse && at == "" { // no row comes after the row of the empty key
		return nil
	}
	ranges := 0
	if d.cold {
		ranges = coldRanges
	}
	cuts := ahead.Cut(d, d.spec.Rows, d.spec.Reverse, at, ranges)
	if rows := cuts.Next(); cuts.More() && first.cut(rows, d.spec.Reverse) {
		return cuts
	}
	return nil
}

// Open implements [ahead.Source].
func (d *divided) Open(rows []cf.Range) (ahead.Filler, error) {
	spec := d.spec
	spec.Rows = rows
	fetch := chunkFetch
	if d.cold || d.room.Take(fetch, false) != nil {
		fetch = 0
	}
	f, err := newFiller(d.view, d.family, spec, fetch)
	if err != nil {
		return nil, err
	}
	f.room, f.fetch, f.of = d.room, fetch, d
	d.mu.Lock()
	f.size = d.size
	d.mu.Unlock()
	return f, nil
}

// Fill implements [ahead.Filler]. A call of C cannot be interrupted, but it is short.
func (f *filler) Fill(_ context.Context, n int) ahead.Filled {
	out := f.fill(n)
	f.of.mu.Lock()
	f.of.size = f.size
	f.of.mu.Unlock()
	return out
}

// Free implements [ahead.Filler].
func (f *filler) Free() {
	f.free()
	f.room.Drop(f.fetch + f.large)
}

// Size implements [ahead.Sizes], by the engine's index and its estimates for memtables. It
// does not lock the store, which the scan's cursor keeps open.
func (d *divided) Size(rows cf.Range) uint64 {
	start, end := rows.Bounds()
	return uint64(C.smolwc_size(d.view.Engine.c, d.family.c, (*C.char)(unsafe.Pointer(unsafe.SliceData(start))), C.size_t(len(start)),
		(*C.char)(unsafe.Pointer(unsafe.SliceData(end))), C.size_t(len(end))))
}

// LastRow implements [ahead.Sizes].
func (d *divided) LastRow(rows cf.Range) string {
	spec := cf.Scan{Family: d.family.Name, Rows: []cf.Range{rows}, Reverse: true, Limit: 1, Hint: 1, Filter: cf.Filter{KeysOnly: true}}
	f, err := newFiller(d.view, d.family, spec, 0)
	if err != nil {
		return ""
	}
	defer f.free()
	for {
		b := f.fill(1)
		switch row, ok := f.row(); {
		case f.at != "":
			return strings.Clone(f.at)
		case b.End || b.Err != nil:
			return ""
		case ok: // no row comes after it
			return row
		}
	}
}

// paysToDivide reports whether it pays to divide a begun list of this many ranges.
func (f *filler) paysToDivide(ranges int) bool {
	return ranges > 2*ahead.ManyRanges || ranges > longList && f.cold() && areRows(f.rows)
}

// cold reports whether the rows so far were read from files, one in four of them at least,
// and are small: many of them will wait in memory.
func (f *filler) cold() bool {
	n := f.returned.Rows
	return n > 0 && 4*f.reads > n && f.returned.Bytes < n*coldRowBytes
}

func areRows(ranges []cf.Range) bool {
	return !slices.ContainsFunc(ranges, func(r cf.Range) bool { _, ok := r.Single(); return !ok })
}
