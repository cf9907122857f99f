package sql

import (
	"testing"

	"github.com/smolwc/smolwc/schema"
)

// On is the query on one table.
func (q *Query) On(t schema.Table) *Query { return q.Of(q.Table(), Source{Table: t}) }

// Only is the table of a query that reads no other; nil for a query without one.
func Only(t Table) Tables { return func(string) Table { return t } }

// SortIn gives sorting and grouping this many bytes of memory and of disk, and a directory
// for their files.
func SortIn(t testing.TB, memory int, disk int64, dir string) {
	old := limits
	t.Cleanup(func() { limits = old })
	SetMemory(memory)
	limits.Files, limits.Dir = disk, func() string { return dir }
}

// HoldLeft changes the rows of the left side of a join that are held, after SortIn.
func HoldLeft(rows int) { limits.Small = rows }

// ComparePairs changes the bound of the pairs of a join, after SortIn.
func ComparePairs(pairs int) { limits.Pairs = pairs }

// SetMemory changes the memory after SortIn.
func SetMemory(memory int) { limits.Sorted, limits.Grouped, limits.Distinct = memory, memory, memory }

// ReadByKey changes the runs of a query in an expression by key, before its rows are held.
func ReadByKey(t interface{ Cleanup(func()) }, runs int64) {
	old := limits.ByKey
	limits.ByKey = runs
	t.Cleanup(func() { limits.ByKey = old })
}
