package yardstick

// #include "yardstick.h"
import "C"

import "unsafe"

// An OpKind is an operation of YCSB.
type OpKind = uint8

// The operations: read a row; write one of its cells; write a row with all cells; read
// consecutive rows; read a row, then write one of its cells.
const (
	OpRead            OpKind = C.op_read
	OpUpdate          OpKind = C.op_update
	OpInsert          OpKind = C.op_insert
	OpScan            OpKind = C.op_scan
	OpReadModifyWrite OpKind = C.op_read_modify_write
)

// Ops are operations in order. An argument is the cell to write, or the number of rows
// to read.
type Ops struct {
	Kinds []OpKind
	Rows  []uint32
	Args  []uint32
}

// Len returns the number of operations.
func (o Ops) Len() int { return len(o.Kinds) }

// Part returns the operations from (inclusive) to to (exclusive).
func (o Ops) Part(from, to int) Ops { return Ops{o.Kinds[from:to], o.Rows[from:to], o.Args[from:to]} }

// Mixed runs operations on rows, given by their prefixes. Each row holds a cell at
// timestamp 0 for each of the columns, given as elements of keys.
func (f Family) Mixed(ops Ops, rows, columns Slices, value []byte) (Sum, error) {
	prefixData, prefixes, _ := rows.c()
	columnData, columnOffsets, cellsPerRow := columns.c()
	kinds := (*C.uchar)(unsafe.SliceData(ops.Kinds))
	of, args := (*C.uint32_t)(unsafe.SliceData(ops.Rows)), (*C.uint32_t)(unsafe.SliceData(ops.Args))
	return sumOf(C.yardstick_mixed(f.db, f.family, kinds, of, args, C.uint64_t(ops.Len()), prefixData, prefixes, columnData, columnOffsets, cellsPerRow, chars(value), C.size_t(len(value))))
}

// A Session is the work of one user's session; see sessions.c.
type Session struct {
	Profile, Stats, Event, History Family
	// Columns are the qualifiers of the events, then of the count of visits, as
	// elements of keys.
	Columns Slices
	Value   []byte // of an event
	Newest  int    // number of events of the first column to read
	Rows    int    // number of rows of the history to read
}

// Run runs a session for each of users; prefixes holds the prefixes of all users' rows.
// It uses two timestamps for each session, starting at clock.
func (s Session) Run(users []uint32, prefixes Slices, clock int64) (Sum, error) {
	prefixData, offsets, _ := prefixes.c()
	columnData, columns, n := s.Columns.c()
	return sumOf(C.yardstick_sessions(s.Profile.db, s.Profile.family, s.Stats.family, s.Event.family, s.History.family,
		(*C.uint32_t)(unsafe.SliceData(users)), C.uint64_t(len(users)), prefixData, offsets, columnData, columns, n-1,
		chars(s.Value), C.size_t(len(s.Value)), C.uint64_t(clock), C.uint64_t(s.Newest), C.uint64_t(s.Rows)))
}
