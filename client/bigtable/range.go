package bigtable

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/cf"
)

// mostRanges is how many ranges a table has at most.
const mostRanges = 1000

// split divides the rows to copy of a table where the source would.
func (c *copying) split(ctx context.Context, t *table) ([]cf.Range, error) {
	all := cf.Prefix(c.o.Prefix)
	var keys []string
	err := c.again(ctx, t.id, func() error {
		keys = nil
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		req := &bigtablepb.SampleRowKeysRequest{TableName: c.from.tableName(t.id), AppProfileId: c.from.place.AppProfile}
		answer, err := c.from.data.SampleRowKeys(c.from.call(ctx, "table_name", req.TableName), req)
		for last := all.Start; err == nil; {
			var m *bigtablepb.SampleRowKeysResponse
			if m, err = answer.Recv(); err != nil {
				break
			}
			if key := string(m.GetRowKey()); key > last && all.Contains(key) {
				keys, last = append(keys, key), key
			}
			if len(keys) >= 2*mostRanges { // every second is enough
				for i := range mostRanges {
					keys[i] = keys[2*i+1]
				}
				keys = keys[:mostRanges]
			}
		}
		if errors.Is(err, io.EOF) || status.Code(err) == codes.Unimplemented {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	step := 1 + len(keys)/mostRanges
	var ranges []cf.Range
	start := all.Start
	for i := step - 1; i < len(keys); i += step {
		ranges, start = append(ranges, cf.Range{Start: start, End: keys[i]}), keys[i]
	}
	return append(ranges, cf.Range{Start: start, End: all.End}), nil
}

// parts are the ranges of a table that are left to copy. It notes new ones.
func (c *copying) parts(ctx context.Context, t *table, notes map[string][]byte) ([]*part, error) {
	var ends [][]byte
	if text, found := notes[planNote+t.id]; found {
		if err := json.Unmarshal(text, &ends); err != nil {
			return nil, damagedNote(planNote+t.id, err)
		}
	} else {
		ranges, err := c.split(ctx, t)
		if err != nil {
			return nil, err
		}
		for _, r := range ranges {
			ends = append(ends, []byte(r.End))
		}
		if err := c.setNote(ctx, planNote+t.id, ends); err != nil {
			return nil, err
		}
	}
	return c.left(t, ends, notes)
}

// left are the parts with these ends that are not copied.
func (c *copying) left(t *table, ends [][]byte, notes map[string][]byte) ([]*part, error) {
	var parts []*part
	start := c.o.Prefix
	for i, end := range ends {
		p := &part{note: rangeNote(t.id, i)}
		p.reading = reading{c: c, t: t, rows: cf.Range{Start: start, End: string(end)}, to: p}
		start = string(end)
		if text, found := notes[p.note]; found {
			if err := json.Unmarshal(text, &p.done); err != nil {
				return nil, damagedNote(p.note, err)
			}
			p.reading.last = string(p.done.Through)
			p.counts(p.done.Count)
		}
		if !p.done.Done {
			parts = append(parts, p)
		}
	}
	return parts, nil
}
