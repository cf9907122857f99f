package bigtable

import (
	"context"
	"errors"
	"io"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
)

// A sink takes the rows of a read, cell by cell.
type sink interface {
	// begin is called before the cells of a row. A row that was begun before and did not
	// end begins anew: what came of it does not count.
	begin(ctx context.Context, key string) error
	// cell may keep the cell's value, which nothing else uses.
	cell(ctx context.Context, f *family, qualifier string, ts cells.Timestamp, v cells.Value) error
	// end is called after the cells of a row.
	end(ctx context.Context) error
	// passed is called when all sampled rows up to a key have been given.
	passed(ctx context.Context, key string) error
}

// A reading reads a range of the rows of a table.
type reading struct {
	c    *copying
	t    *table
	rows cf.Range
	to   sink
	last string         // the rows up to it have been given
	met  map[*Mask]bool // the masks that have replaced a value
}

// run reads the rows that are left.
func (r *reading) run(ctx context.Context) error {
	if r.c.bound != 0 {
		return r.sampled(ctx)
	}
	return r.whole(ctx, nil)
}

// whole reads the rows of the range, or those of keys, which ascend.
func (r *reading) whole(ctx context.Context, keys []string) error {
	return r.repeat(ctx, func() error {
		set := &bigtablepb.RowSet{}
		if keys == nil {
			if set = r.rest(); set == nil {
				return nil
			}
		}
		for _, key := range keys {
			if key > r.last {
				set.RowKeys = append(set.RowKeys, []byte(key))
			}
		}
		if keys != nil && len(set.RowKeys) == 0 {
			return nil
		}
		return r.stream(ctx, &bigtablepb.ReadRowsRequest{Rows: set}, r.to)
	})
}

// The keys that are read before the rows of a sample, to read few other rows.
const (
	keysAtOnce     = 500
	keyBytesAtOnce = 256 << 10
)

// sampled reads all keys of the range, and then the rows of those that are in the
// sample.
func (r *reading) sampled(ctx context.Context) error {
	found := &sampledKeys{r: r}
	keysOnly := &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_Chain_{Chain: &bigtablepb.RowFilter_Chain{Filters: []*bigtablepb.RowFilter{
		{Filter: &bigtablepb.RowFilter_CellsPerRowLimitFilter{CellsPerRowLimitFilter: 1}},
		{Filter: &bigtablepb.RowFilter_StripValueTransformer{StripValueTransformer: true}},
	}}}}
	return r.repeat(ctx, func() error {
		set := r.rest()
		if set == nil {
			return nil
		}
		err := r.stream(ctx, &bigtablepb.ReadRowsRequest{Rows: set, Filter: keysOnly}, found)
		if err != nil && !passes(err) {
			return err
		}
		if err := found.take(ctx); err != nil { // also what came before a fault, to come further
			return err
		}
		return err
	})
}

// sampledKeys collects the keys of rows that are in a sample.
type sampledKeys struct {
	r     *reading
	key   string // of the row
	ended string // the last row that ended
	keys  []string
	bytes int
}

func (s *sampledKeys) begin(_ context.Context, key string) error {
	s.key = key
	return nil
}

func (s *sampledKeys) cell(context.Context, *family, string, cells.Timestamp, cells.Value) error {
	return nil
}

func (s *sampledKeys) end(ctx context.Context) error {
	s.ended = s.key
	if !s.r.c.wanted(s.key) {
		if len(s.keys) > 0 {
			return nil
		}
		s.r.last = s.key // no row before it is wanted
		return s.r.to.passed(ctx, s.key)
	}
	s.keys = append(s.keys, s.key)
	if s.bytes += len(s.key); len(s.keys) < keysAtOnce && s.bytes < keyBytesAtOnce {
		return nil
	}
	return s.take(ctx)
}

func (s *sampledKeys) passed(context.Context, string) error { return nil }

// take reads the rows of the keys.
func (s *sampledKeys) take(ctx context.Context) error {
	if len(s.keys) == 0 {
		return nil
	}
	if err := s.r.whole(ctx, s.keys); err != nil {
		return err
	}
	s.r.last = s.ended // the last of the keys may be gone meanwhile, and no row after it is wanted
	s.keys, s.bytes = nil, 0
	return s.r.to.passed(ctx, s.r.last)
}

// wanted reports whether a row is in the sample.
func (c *copying) wanted(key string) bool { return c.bound == 0 || cf.RowHash(key) < c.bound }

// rest is the rows of the range that have not been read, or nil.
func (r *reading) rest() *bigtablepb.RowSet {
	rows := r.rows
	if r.last >= rows.Start && r.last != "" {
		rows.Start = r.last + "\x00"
	}
	if rows.Empty() {
		return nil
	}
	m := &bigtablepb.RowRange{StartKey: &bigtablepb.RowRange_StartKeyClosed{StartKeyClosed: []byte(rows.Start)}}
	if rows.End != "" {
		m.EndKey = &bigtablepb.RowRange_EndKeyOpen{EndKeyOpen: []byte(rows.End)}
	}
	return &bigtablepb.RowSet{RowRanges: []*bigtablepb.RowRange{m}}
}

// repeat makes a read until it is complete or fails for good. Reads that come further
// count as none.
func (r *reading) repeat(ctx context.Context, read func() error) error {
	for tries := 1; ; tries++ {
		before := r.last
		err := read()
		if err == nil {
			return nil
		}
		if r.last != before {
			tries = 1
		}
		if tries >= r.c.o.attempts || !passes(err) || ctx.Err() != nil {
			return r.c.from.failed(ctx, r.t.id, err)
		}
		if err := r.c.pause(ctx, r.t.id, tries, err); err != nil {
			return err
		}
	}
}

// stream gives the rows of one answer to a sink.
func (r *reading) stream(ctx context.Context, req *bigtablepb.ReadRowsRequest, to sink) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the stream after an error
	req.TableName, req.AppProfileId = r.c.from.tableName(r.t.id), r.c.from.place.AppProfile
	answer, err := r.c.from.data.ReadRows(r.c.from.call(ctx, "table_name", req.TableName), req)
	if err != nil {
		return err
	}
	rows := rowBuilder{r: r, to: to, before: r.last}
	for {
		resp, err := answer.Recv()
		if errors.Is(err, io.EOF) {
			if rows.open {
				return status.Error(codes.Unavailable, "the answer ended within a row")
			}
			return nil
		}
		if err != nil {
			return err
		}
		if err := r.c.wait(ctx, proto.Size(resp)); err != nil {
			return err
		}
		for _, chunk := range resp.GetChunks() {
			if err := rows.add(ctx, chunk); err != nil {
				return err
			}
		}
		if key := resp.GetLastScannedRowKey(); len(key) > 0 && !rows.open && to == r.to {
			r.last = max(r.last, string(key))
		}
	}
}

// wait keeps the rate.
func (c *copying) wait(ctx context.Context, n int) error {
	for most := c.limit.Burst(); n > 0 && most > 0; n -= most {
		if err := c.limit.WaitN(ctx, min(n, most)); err != nil {
			if ctx.Err() != nil {
				return canceled(ctx, "")
			}
			// It would come after the context's deadline, and is not waited for.
			return &query.Error{Op: op, Kind: query.KindCanceled, Err: context.DeadlineExceeded}
		}
	}
	return nil
}

// A rowBuilder puts the chunks of an answer together. Each large value is put together in
// memory, and each row is not.
type rowBuilder struct {
	r  *reading
	to sink

	open      bool   // a row has begun and not ended
	key       string // of the row
	before    string // the key of the row before
	family    *family
	qualifier string
	column    bool // family and qualifier are those of this row
	ts        cells.Timestamp
	exact     cells.Type // of the value, if the source names it
	value     []byte
	continues bool // the next chunk continues the value
}

func (b *rowBuilder) add(ctx context.Context, c *bigtablepb.ReadRowsResponse_CellChunk) error {
	if c.GetResetRow() {
		if !b.open {
			return b.fault("it takes a row back that has not begun")
		}
		b.open, b.continues, b.value = false, false, nil
		return nil
	}
	if err := b.row(ctx, string(c.GetRowKey())); err != nil {
		return err
	}
	if err := b.newColumn(c); err != nil {
		return err
	}
	if !b.continues {
		b.ts, b.exact, b.value = cells.Timestamp(c.GetTimestampMicros()), wire.ExactOf(c), nil
	}
	if b.value == nil {
		b.value = c.GetValue() // the message is not used otherwise
	} else {
		b.value = append(b.value, c.GetValue()...)
	}
	if len(b.value) > cells.MaxValue {
		return b.fault("%s:%q has a value of more than %d bytes", b.family.Name, b.qualifier, cells.MaxValue)
	}
	if b.continues = c.GetValueSize() > 0; b.continues {
		if c.GetCommitRow() {
			return b.fault("it ends a row within a value")
		}
		return nil
	}
	if b.ts < 0 {
		return b.fault("%s:%q has the timestamp %d; it must be at least 0", b.family.Name, b.qualifier, int64(b.ts))
	}
	v, err := b.decoded()
	if err != nil {
		return err
	}
	if err := b.to.cell(ctx, b.family, b.qualifier, b.ts, v); err != nil {
		return err
	}
	b.value = nil
	if !c.GetCommitRow() {
		return nil
	}
	b.open, b.before = false, b.key
	if err := b.to.end(ctx); err != nil {
		return err
	}
	if b.to == b.r.to {
		b.r.last = b.key
	}
	return nil
}

// row begins a row, unless the chunk belongs to the row before.
func (b *rowBuilder) row(ctx context.Context, key string) error {
	switch {
	case b.open && (key == "" || key == b.key):
		return nil
	case len(key) > cells.MaxRowKey: // too long also for the errors below
		return b.fault("%v", cells.CheckRowKey(key))
	case b.open:
		return b.fault("row %q begins before the end of row %q", key, b.key)
	case key == "":
		return b.fault("a cell has no row")
	case key <= b.before || !b.r.rows.Contains(key):
		return b.fault("row %q comes after row %q, or was not asked for", key, b.before)
	}
	b.open, b.column, b.key, b.family = true, false, key, nil
	return b.to.begin(ctx, key)
}

// newColumn takes the column of a chunk, if it is not the one before.
func (b *rowBuilder) newColumn(c *bigtablepb.ReadRowsResponse_CellChunk) error {
	if c.GetFamilyName() != nil {
		name := c.GetFamilyName().GetValue()
		f, ok := b.r.t.families[name]
		if !ok {
			return b.fault("family %q was created after the copy began; copy again, into a new database", name)
		}
		b.family, b.column = f, false
	}
	if c.GetQualifier() != nil {
		b.qualifier, b.column = string(c.GetQualifier().GetValue()), true
		if n := len(b.qualifier); n > cells.MaxQualifier {
			return b.fault("a qualifier has %d bytes; it may have up to %d", n, cells.MaxQualifier)
		}
	}
	if b.family == nil || !b.column {
		return b.fault("a cell has no column")
	}
	return nil
}

// decoded is the value with its type: the family's, or else the one that the source names.
func (b *rowBuilder) decoded() (cells.Value, error) {
	f := b.family.Family
	switch {
	case b.to != b.r.to: // only the key counts
		return cells.Bytes(nil), nil
	case f.Aggregate != 0:
		f.Type = cells.TypeI64
	case f.Type == cells.TypeAny && b.exact != cells.TypeAny:
		f.Type = b.exact
	}
	mask := b.family.mask(b.qualifier)
	v, err := wire.ValueOf(&f, []byte(b.qualifier), b.value)
	switch {
	case err != nil && mask != nil: // err may quote the value
		return v, b.fault("%s:%q at %d has a value that is no %s, the type of the target's family", f.Name, b.qualifier, int64(b.ts), f.Type)
	case err != nil:
		return v, b.fault("at %d: %s", int64(b.ts), wire.StatusText(err))
	case mask != nil:
		if !b.r.met[mask] {
			b.r.meet(mask)
		}
		v = b.r.c.masker.value(v, mask.Method)
	}
	return v, nil
}

func (r *reading) meet(m *Mask) {
	if r.met == nil {
		r.met = map[*Mask]bool{}
	}
	r.met[m] = true
}

// fault is an error of an answer, with its row.
func (b *rowBuilder) fault(format string, args ...any) error {
	return faultOf(b.r.t.id, b.key, format, args...)
}
