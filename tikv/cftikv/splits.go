package cftikv

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/tikv/client-go/v2/tikv"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/tikv/cftikv/internal/regions"
	"github.com/smolwc/smolwc/tuple"
)

const (
	// smallCells is the number of cells that Splits reads of each family. A range with
	// fewer cells is divided exactly.
	smallCells = 4096
	// regionBytes is about the size of a region: TiKV splits regions of 96 MiB or more,
	// so that most have between a half and the whole of it.
	regionBytes = 72 << 20
)

// Splits implements [cf.Store]. It divides a range of few cells by their sizes, and
// another one at the bounds of TiKV's regions.
func (s *Store) Splits(ctx context.Context, families []string, rows cf.Range, n int) ([]cf.Part, error) {
	st, err := s.known(ctx, families...)
	if err != nil {
		return nil, err
	}
	ts, err := s.now(ctx)
	if err != nil {
		return nil, err
	}
	sizes, small := map[string]int64{}, true
	for _, name := range families {
		if small = s.measure(ctx, ts, st.families[name], rows, sizes); !small {
			break
		}
	}
	if !small {
		clear(sizes)
		for _, name := range families {
			if err := s.addRegions(ctx, st.families[name], rows, sizes); err != nil {
				return nil, err
			}
		}
	}
	return divide(sizes, rows, n), ctx.Err()
}

// measure adds the sizes of a family's rows. It is false if there are too many cells, or
// they cannot be read.
func (s *Store) measure(ctx context.Context, ts uint64, f family, rows cf.Range, sizes map[string]int64) bool {
	start, end := rows.Bounds()
	cells := s.visibleAt("", f, regions.Options{At: ts, Ahead: -1})
	defer cells.Close()
	n := 0
	for cells.Seek(ctx, start); n < smallCells && cells.Valid() && bytes.Compare(cells.Key(), end) < 0; n++ {
		if row, _, err := tuple.DecodeBytes(cells.Key()); err == nil {
			sizes[string(row)] += int64(len(cells.Key()) + len(cells.Value()))
		}
		cells.Next(ctx)
	}
	return n < smallCells && cells.Err() == nil
}

// addRegions adds the size of a region at the first row of each region of a family.
func (s *Store) addRegions(ctx context.Context, f family, rows cf.Range, sizes map[string]int64) error {
	start, end := rows.Bounds()
	for _, id := range f.ids(span{string(start), string(end)}) {
		if err := s.addRegionsOf(ctx, s.keys.cells(id), rows, sizes); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) addRegionsOf(ctx context.Context, prefix []byte, rows cf.Range, sizes map[string]int64) error {
	start, end := rows.Bounds()
	at, end := append(bytes.Clone(prefix), start...), append(bytes.Clone(prefix), end...)
	for row := rows.Start; bytes.Compare(at, end) < 0; {
		sizes[row] += regionBytes
		loc, err := s.client.GetRegionCache().LocateKey(tikv.NewBackofferWithVars(ctx, locateBackoff, nil), at)
		if err != nil {
			return wrap(ctx, err)
		}
		at = loc.EndKey
		if len(at) == 0 || bytes.Compare(at, end) >= 0 {
			return nil
		}
		if row = rowAt(at[len(prefix):]); row < rows.Start {
			row = rows.Start
		}
	}
	return nil
}

// locateBackoff bounds the time to find a region, in milliseconds.
const locateBackoff = 20_000

// rowAt is the row of a key that may have been cut anywhere, by TiKV.
func rowAt(key []byte) string {
	if row, _, err := tuple.DecodeBytes(key); err == nil {
		return string(row)
	}
	row, _, _ := tuple.DecodeBytes(append(bytes.Clone(key), 0))
	return string(row)
}

// divide makes up to n parts of about the same size.
func divide(sizes map[string]int64, rows cf.Range, n int) []cf.Part {
	var total int64
	for _, size := range sizes {
		total += size
	}
	parts := []cf.Part{{End: rows.End}}
	var before int64
	for i, row := range slices.Sorted(maps.Keys(sizes)) {
		last := &parts[len(parts)-1]
		if i > 0 && len(parts) < n && before >= total*int64(len(parts))/int64(n) && row > rows.Start {
			last.End = row
			parts = append(parts, cf.Part{End: rows.End})
			last = &parts[len(parts)-1]
		}
		last.Bytes += sizes[row]
		before += sizes[row]
	}
	return parts
}
