//go:build cgo && linux && !norocksdb

package scan

// #include "cursor.h"
import "C"

import (
	"sync"
	"unsafe"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

// A packed is a scan in the form for C. bounds are the bounds of its rows, qualifiers,
// values and conditions, one after another, and ends is where each of them ends.
type packed struct {
	scan       C.smolwc_scan
	bounds     []byte
	ends       []uint32
	retention  []C.smolwc_retention
	conditions []C.smolwc_condition
}

var packeds = sync.Pool{New: func() any { return new(packed) }}

// pack packs a scan. The caller gives it back to packeds.
func pack(s *cf.Scan) *packed {
	f := &s.Filter
	p := packeds.Get().(*packed)
	p.bounds, p.ends, p.retention, p.conditions = p.bounds[:0], p.ends[:0], p.retention[:0], p.conditions[:0]
	single := p.packRows(s.Rows)
	for i := range f.Qualifiers {
		p.packQualifiers(&f.Qualifiers[i])
	}
	p.packValues(f.Values)
	for i := range f.Where {
		w := &f.Where[i]
		q := cf.Single(w.Qualifier)
		p.packQualifiers(&q)
		p.packValues(w.Values)
		p.conditions = append(p.conditions, C.smolwc_condition{values_len: C.size_t(len(w.Values))})
	}
	for _, r := range f.Retention {
		p.retention = append(p.retention, C.smolwc_retention{versions: C.int64_t(r.Versions), up_to: C.int64_t(r.UpTo)})
	}
	p.scan = C.smolwc_scan{
		rows_len:        C.size_t(len(s.Rows)),
		qualifiers_len:  C.size_t(len(f.Qualifiers)),
		values_len:      C.size_t(len(f.Values)),
		retention_len:   C.size_t(len(f.Retention)),
		conditions_len:  C.size_t(len(f.Where)),
		since:           C.int64_t(f.Since),
		until:           C.int64_t(f.Until),
		versions:        C.int64_t(f.Versions),
		cells_per_row:   C.int64_t(f.CellsPerRow),
		columns_per_row: C.int64_t(f.ColumnsPerRow),
		limit:           C.int64_t(s.Limit),
		sample:          C.uint64_t(s.Sample),
		reverse:         C.uint8_t(native.Flag(s.Reverse)),
		keys_only:       C.uint8_t(native.Flag(f.KeysOnly)),
		strip_values:    C.uint8_t(native.Flag(f.StripValues)),
		count_only:      C.uint8_t(native.Flag(f.CountOnly)),
		every_row:       C.uint8_t(native.Flag(f.EveryRow)),

		count_tombstones: C.uint8_t(native.Flag(s.CountTombstones)),
		single_rows:      C.uint8_t(native.Flag(single)),
	}
	return p
}

// packRows packs the rows, and reports whether every range is a single row. Such ranges
// start with the row's prefix, so that the row filters can be used.
func (p *packed) packRows(rows []cf.Range) (single bool) {
	single = true
	for i := range rows {
		if _, ok := rows[i].Single(); !ok {
			single = false
			break
		}
	}
	for i := range rows {
		if single {
			p.mark(cf.AppendRowPrefix(p.bounds, rows[i].Start))
		} else {
			p.mark(cf.AppendRowBound(p.bounds, rows[i].Start))
		}
		p.mark(rows[i].AppendEnd(p.bounds))
	}
	return single
}

func (p *packed) packQualifiers(q *cf.Range) {
	p.mark(cf.AppendRowBound(p.bounds, q.Start))
	p.mark(q.AppendEnd(p.bounds))
}

func (p *packed) packValues(ranges []cf.Range) {
	for _, v := range ranges {
		p.mark(append(p.bounds, v.Start...))
		p.mark(append(p.bounds, v.End...)) // an empty end is no bound
	}
}

// mark appends a bound: bounds is p.bounds with its bytes appended.
func (p *packed) mark(bounds []byte) {
	p.bounds = bounds
	p.ends = append(p.ends, uint32(len(bounds)))
}

func (p *packed) boundsC() *C.char {
	return (*C.char)(unsafe.Pointer(unsafe.SliceData(p.bounds)))
}

func (p *packed) endsC() *C.uint32_t {
	return (*C.uint32_t)(unsafe.Pointer(unsafe.SliceData(p.ends)))
}
