package query

import (
	"context"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/fault"
)

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
