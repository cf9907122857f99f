package data

import (
	"context"
	"slices"
	"strings"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server/internal/catalog"
)

// SampleRowKeys returns row keys that divide the table into parts of about the
// same size, the table's split points among them, and last the end of the table,
// whose key is empty.
func (s *service) SampleRowKeys(req *bigtablepb.SampleRowKeysRequest, stream bigtablepb.Bigtable_SampleRowKeysServer) error {
	t, err := s.openToRead(stream.Context(), req)
	if err != nil {
		return err
	}
	samples, err := t.SampleRowKeys(stream.Context())
	if err != nil {
		return t.Status(stream.Context(), err)
	}
	splits := s.Note(t.Name.Stored).Splits
	if end := samples[len(samples)-1]; end.OffsetBytes > exactUpTo {
		samples = withSplits(samples, splits)
	} else if samples, err = exactSamples(stream.Context(), t, samples, splits); err != nil {
		return t.Status(stream.Context(), err)
	}
	for _, p := range ofView(samples, t.View.Rows()) {
		if err := stream.Send(&bigtablepb.SampleRowKeysResponse{RowKey: []byte(p.Key), OffsetBytes: p.OffsetBytes}); err != nil {
			return err
		}
	}
	return nil
}

// ofView are the samples within the rows of a view, and the view's end.
func ofView(samples []query.RowKeySample, rows []cf.Range) []query.RowKeySample {
	end := samples[len(samples)-1]
	within := slices.DeleteFunc(samples[:len(samples)-1], func(s query.RowKeySample) bool { return !cf.InRanges(rows, s.Key) })
	if len(rows) > 0 {
		end.Key = rows[len(rows)-1].End
	}
	return append(within, end)
}

// exactUpTo is about the largest size of a table with exact samples.
const exactUpTo = 1 << 20

// exactSamples reads a small table for its samples: their offsets are the bytes of the
// values before them, as the emulator counts them, and the last row is one of them. A
// table that was created with split points is split at these points only, as in
// Bigtable. Other samples are rows of the read, so that a view names no row that it does
// not show. The last sample is the end of the table.
func exactSamples(ctx context.Context, t *catalog.Table, samples []query.RowKeySample, splits []string) ([]query.RowKeySample, error) {
	keys := samples[:len(samples)-1]
	if len(splits) > 0 {
		keys = make([]query.RowKeySample, len(splits))
		for i, key := range splits {
			keys[i].Key = key
		}
	}
	exact := make([]query.RowKeySample, 0, len(keys)+2)
	var last query.RowKeySample
	var offset int64
	rows, err := t.Within(nil)
	if err != nil {
		return nil, err
	}
	shown := func(key, row string) bool { return t.View == nil || len(splits) > 0 || key == row }
	for row, err := range t.ReadRows(ctx, rows...) {
		if err != nil {
			return nil, err
		}
		for ; len(keys) > 0 && keys[0].Key <= row.Key(); keys = keys[1:] {
			if !shown(keys[0].Key, row.Key()) {
				continue
			}
			exact = append(exact, query.RowKeySample{Key: keys[0].Key, OffsetBytes: offset})
		}
		last = query.RowKeySample{Key: row.Key(), OffsetBytes: offset}
		for c := range row.Cells() {
			offset += int64(c.Value.Len())
		}
	}
	if n := len(exact); last.Key != "" && len(splits) == 0 && (n == 0 || exact[n-1].Key != last.Key) {
		exact = append(exact, last)
	}
	for _, s := range keys { // after the last row
		if !shown(s.Key, "") {
			continue
		}
		exact = append(exact, query.RowKeySample{Key: s.Key, OffsetBytes: offset})
	}
	return append(exact, query.RowKeySample{OffsetBytes: offset}), nil
}

// withSplits puts row keys among samples, at the offset of the sample before.
// The last sample, the end of the table, stays last.
func withSplits(samples []query.RowKeySample, splits []string) []query.RowKeySample {
	for _, key := range splits {
		end := len(samples) - 1
		i, found := slices.BinarySearchFunc(samples[:end], key, func(s query.RowKeySample, key string) int { return strings.Compare(s.Key, key) })
		if found {
			continue
		}
		var offset int64
		if i > 0 {
			offset = samples[i-1].OffsetBytes
		}
		samples = slices.Insert(samples, i, query.RowKeySample{Key: key, OffsetBytes: offset})
	}
	return samples
}
