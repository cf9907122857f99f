package yardstick

// #include "yardstick.h"
import "C"

import "unsafe"

// Scan reads every cell.
func (f Family) Scan() (Sum, error) { return sumOf(C.yardstick_scan(f.db, f.family)) }

// ScanNewest reads the newest version of every column and skips the other versions.
func (f Family) ScanNewest() (Sum, error) { return sumOf(C.yardstick_scan_newest(f.db, f.family)) }

// ScanWhere reads the rows whose cell in a column, given as its element of a key, is an
// i64 of at least bound. Other rows are read and not counted.
func (f Family) ScanWhere(column []byte, bound int64) (Sum, error) {
	return sumOf(C.yardstick_scan_where(f.db, f.family, chars(column), C.size_t(len(column)), C.int64_t(bound)))
}

// CountCells counts cells without reading their contents.
func (f Family) CountCells() (Sum, error) { return sumOf(C.yardstick_count_cells(f.db, f.family)) }

// CountRows counts the rows.
func (f Family) CountRows() (Sum, error) { return sumOf(C.yardstick_count_rows(f.db, f.family)) }

// Ranges is a list of ranges of keys. The zero Ranges is empty.
type Ranges struct {
	data         []byte
	starts, ends []uint64 // offset and length of each
}

// Append adds the keys from start, inclusive, to end, exclusive.
func (r *Ranges) Append(start, end []byte) {
	r.starts = append(r.starts, uint64(len(r.data)), uint64(len(start)))
	r.data = append(r.data, start...)
	r.ends = append(r.ends, uint64(len(r.data)), uint64(len(end)))
	r.data = append(r.data, end...)
}

// Len returns the number of ranges.
func (r Ranges) Len() int { return len(r.starts) / 2 }

// At returns a range; it shares the list's memory.
func (r Ranges) At(i int) (start, end []byte) {
	s, e := r.starts[2*i], r.ends[2*i]
	return r.data[s : s+r.starts[2*i+1]], r.data[e : e+r.ends[2*i+1]]
}

// Part returns the ranges from (inclusive) to to (exclusive).
func (r Ranges) Part(from, to int) Ranges {
	return Ranges{r.data, r.starts[2*from : 2*to], r.ends[2*from : 2*to]}
}

// ScanRanges reads the cells of each range, with one iterator for each.
func (f Family) ScanRanges(r Ranges) (Sum, error) {
	starts, ends := (*C.uint64_t)(unsafe.SliceData(r.starts)), (*C.uint64_t)(unsafe.SliceData(r.ends))
	return sumOf(C.yardstick_scan_ranges(f.db, f.family, chars(r.data), starts, ends, C.uint64_t(r.Len())))
}
