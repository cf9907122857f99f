package query

import (
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// What a first program needs of packages schema, write and read, so that it imports this
// one and cells. They have the rest.

// A Family declares a column family of a table.
type Family = schema.Family

// Declare is a schema of tables, for [Options.Schema].
func Declare(tables ...schema.Table) *schema.Schema { return &schema.Schema{Tables: tables} }

// NewTable declares a table.
func NewTable(name string, families ...Family) schema.Table {
	return schema.Table{Name: name, Families: families}
}

// MaxVersions is the retention rule of a family that keeps the n newest versions of each
// column.
func MaxVersions(n int) *schema.Rule { return schema.MaxVersions(n) }

// NewMutation is an empty mutation of a row.
func NewMutation() *write.Mutation { return write.NewMutation() }

// MutationFrom is the mutation that writes a struct, and the key of its row, by the tags of
// [Row.Into]; see [write.From].
func MutationFrom(v any) (key string, m *write.Mutation, err error) { return write.From(v) }

// NewBatch is an empty batch of mutations.
func NewBatch() *write.Batch { return write.NewBatch() }

// Key selects the rows with these keys.
func Key(keys ...string) read.RowSet { return read.Key(keys...) }

// Prefix selects the rows whose keys start with p.
func Prefix(p string) read.RowSet { return read.Prefix(p) }

// Range selects the rows from start, inclusive, to end, exclusive; an empty end is no bound.
func Range(start, end string) read.RowSet { return read.Range(start, end) }

// Where selects the rows whose newest cell in a column compares with v as op says.
func Where(family, qualifier string, op cells.Op, v cells.Value) read.Condition {
	return read.Where(family, qualifier, op, v)
}

// Limit ends a read after this many rows; 0 is no limit.
func Limit(rows int) read.Option { return read.Limit(rows) }
