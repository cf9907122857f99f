package yardstick

// #include "yardstick.h"
import "C"

import "unsafe"

// handles returns the families of one store for C.
func handles(fs []Family) (**C.family_t, C.size_t) {
	hs := make([]*C.family_t, len(fs))
	for i, f := range fs {
		hs[i] = f.family
	}
	return unsafe.SliceData(hs), C.size_t(len(hs))
}

// GetRows reads the rows with these prefixes from families of one store. For each row
// it uses a new iterator, which sees the newest state, a seek, through the filters of
// row prefixes, and a step for each cell.
func GetRows(fs []Family, prefixes Slices) (Sum, error) {
	families, count := handles(fs)
	data, offsets, n := prefixes.c()
	return sumOf(C.yardstick_get_rows(fs[0].db, families, count, data, offsets, n))
}

// GetRowsOneIterator is GetRows with one iterator for all rows, which sees the state of
// one moment.
func GetRowsOneIterator(fs []Family, prefixes Slices) (Sum, error) {
	families, count := handles(fs)
	data, offsets, n := prefixes.c()
	return sumOf(C.yardstick_get_rows_one_iterator(fs[0].db, families, count, data, offsets, n))
}

// Get reads single cells whose full keys, timestamps included, are known.
func (f Family) Get(keys Slices) (Sum, error) {
	data, offsets, n := keys.c()
	return sumOf(C.yardstick_get(f.db, f.family, data, offsets, n))
}

// GetPinned is Get without a copy of the value.
func (f Family) GetPinned(keys Slices) (Sum, error) {
	data, offsets, n := keys.c()
	return sumOf(C.yardstick_get_pinned(f.db, f.family, data, offsets, n))
}

// GetSeek reads the newest version of columns, given as their keys without a timestamp,
// with one iterator for each.
func (f Family) GetSeek(columns Slices) (Sum, error) {
	data, offsets, n := columns.c()
	return sumOf(C.yardstick_get_seek(f.db, f.family, data, offsets, n))
}

// MultiGet is Get with rocksdb_multi_get_cf, atOnce keys per call.
func (f Family) MultiGet(keys Slices, atOnce int) (Sum, error) {
	data, offsets, n := keys.c()
	return sumOf(C.yardstick_multi_get(f.db, f.family, data, offsets, n, C.uint64_t(atOnce)))
}

// BatchedMultiGet is Get with rocksdb_batched_multi_get_cf, atOnce keys per call.
func (f Family) BatchedMultiGet(keys Slices, atOnce int) (Sum, error) {
	data, offsets, n := keys.c()
	return sumOf(C.yardstick_batched_multi_get(f.db, f.family, data, offsets, n, C.uint64_t(atOnce)))
}
