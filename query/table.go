package query

import (
	"context"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// A Table is a handle on a table of a database. It is safe for concurrent use.
type Table struct {
	db   *DB
	name string

	// For tests: unpushed keeps filters whole; maxBytes bounds the bytes of a row.
	unpushed bool
	maxBytes int
}

// Table is the handle of the table of this name. It is never nil: when there
// is no such table, its methods fail with [KindNotFound].
func (db *DB) Table(name string) *Table { return &Table{db: db, name: name} }

// Name is the table's name.
func (t *Table) Name() string {
	return t.name
}

// Flush writes the table's data in memory to files.
func (t *Table) Flush(ctx context.Context) error {
	return t.eachFamily(ctx, "flush", func(f *catalog.Family) error { return t.db.state.Store.Flush(ctx, f.Store) })
}

// Compact rewrites the table's files, which gives back the space of cells that
// were deleted or replaced, or have expired.
func (t *Table) Compact(ctx context.Context) error { return t.CompactRows(ctx, read.Range("", "")) }

// CompactRows is [Table.Compact] for the rows of a range.
func (t *Table) CompactRows(ctx context.Context, rows read.RowSet) error {
	if rows.Err != nil {
		return fail("compact", t.Name(), "", fault.Of(fault.InvalidArgument, rows.Err))
	}
	if err := t.database().ready(ctx); err != nil {
		return fail("compact", t.Name(), "", err)
	}
	if err := t.db.state.AllowExpiry(ctx, t.db.state.Clock.Now()); err != nil {
		return fail("compact", t.name, "", err)
	}
	return t.eachFamily(ctx, "compact", func(f *catalog.Family) error {
		for _, r := range cf.MergeRanges(rows.Ranges) {
			if err := t.db.state.Store.Compact(ctx, f.Store, r); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *Table) eachFamily(ctx context.Context, op string, f func(*catalog.Family) error) error {
	if err := t.database().ready(ctx); err != nil {
		return fail(op, t.Name(), "", err)
	}
	info, err := t.db.state.Catalog.Load().Table(t.name)
	if err != nil {
		return fail(op, t.name, "", err)
	}
	for _, fam := range info.Families {
		if err := f(fam); err != nil {
			return fail(op, t.name, "", err)
		}
	}
	return nil
}

// LookupTable is the declaration in force of a table; ok is false if there is no such
// table. It costs nothing, and shares its memory with the database: do not change it. A
// change that another process makes may be missing for a second.
func (db *DB) LookupTable(name string) (t schema.Table, ok bool) {
	info, ok := db.inForce().Tables[name]
	if !ok && db.freshen() {
		info, ok = db.inForce().Tables[name]
	}
	if !ok {
		return schema.Table{}, false
	}
	return *info.Declared, true
}

// A RowKeySample is a place in a table.
type RowKeySample struct {
	// Key is a row key; "" is the end of the table, in the last sample.
	Key string
	// OffsetBytes is about the size in the store of the rows before Key. It
	// includes deleted and expired cells that were not compacted yet.
	OffsetBytes int64
}

// maxSamples is how many samples SampleRowKeys returns at most.
const maxSamples = 64

// SampleRowKeys returns row keys that divide the table into up to 64 parts of
// about the same size, in order, and then the end of the table, whose key is
// empty. It does not read the table, unless the table is small: then the parts
// are as equal as rows allow.
func (t *Table) SampleRowKeys(ctx context.Context) ([]RowKeySample, error) {
	parts, err := t.split(ctx, cf.Range{}, maxSamples)
	samples := make([]RowKeySample, len(parts))
	var offset int64
	for i, p := range parts {
		offset += p.Bytes
		samples[i] = RowKeySample{p.End, offset}
	}
	return samples, fail("sample row keys", t.Name(), "", err)
}

// RowSplits returns up to n-1 row keys, in order, that divide the table into
// parts of about the same size: the rows before the first, those from each to
// the next, and those from the last on.
func (t *Table) RowSplits(ctx context.Context, n int) ([]string, error) {
	parts, err := t.split(ctx, cf.Range{}, n)
	if err != nil {
		return nil, fail("split rows", t.Name(), "", err)
	}
	keys := make([]string, 0, len(parts))
	for _, p := range parts[:len(parts)-1] {
		keys = append(keys, p.End)
	}
	return keys, nil
}

func (t *Table) split(ctx context.Context, rows cf.Range, n int) ([]cf.Part, error) {
	if err := t.database().ready(ctx); err != nil {
		return nil, err
	}
	if n < 1 {
		return nil, fault.Errorf(fault.InvalidArgument, "%d parts; there must be at least 1", n)
	}
	info, err := t.db.state.Catalog.Load().Table(t.name)
	if err != nil {
		return nil, err
	}
	families := make([]string, len(info.Families))
	for i, f := range info.Families {
		families[i] = f.Store
	}
	return t.db.state.Store.Splits(ctx, families, rows, n)
}
