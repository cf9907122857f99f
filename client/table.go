package client

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// A Table is one table of a [Client].
type Table struct {
	client   *Client
	name     string
	declared schema.Table // for a call; without families when it is not known
}

// Table is the table of this name. Each call uses the table's families as of the last
// Refresh. The first call refreshes.
func (c *Client) Table(name string) *Table { return &Table{client: c, name: name} }

// ready returns the table for a call, or t and an error if the call cannot begin.
func (t *Table) ready(ctx context.Context) (*Table, error) {
	if err := t.client.known(ctx); err != nil {
		return t, err
	}
	declared, _ := t.client.LookupTable(t.name)
	return &Table{t.client, t.name, declared}, nil
}

// ReadRows reads rows. When the server ends the stream for a transient reason, such as
// a client that did not read for a while, the read continues after its last row, with
// the state at that time.
//
// A filter sees every integer as eight bytes, as [read.BigtableFilter] says.
// [read.PageSize], [read.After] and [read.Rejected] are errors. [read.ReportCost] writes
// the server's figures: all of them if it is smolwc's, otherwise the rows and cells that
// it looked at. After a read that the caller ends it writes nothing.
func (t *Table) ReadRows(ctx context.Context, opts ...read.Option) iter.Seq2[*query.Row, error] {
	return func(yield func(*query.Row, error) bool) {
		err := t.eachRow(ctx, opts, false, func(_ *clientRead, row *query.Row, _ judgedCells) bool { return yield(row, nil) })
		if err != nil {
			yield(nil, clientError("read rows", t.name, "", err))
		}
	}
}

// eachRow calls fn with the rows of a read until fn returns false; if asked, also with the
// cells that its conditions have judged.
func (t *Table) eachRow(ctx context.Context, opts []read.Option, asked bool, fn func(*clientRead, *query.Row, judgedCells) bool) error {
	r, err := t.newClientRead(ctx, opts, asked)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the stream when fn stops early
	for failures := 0; ; {
		before := r.last
		more, err := r.stream(ctx, func(row *query.Row, judged judgedCells) bool { return fn(r, row, judged) })
		if !more {
			return nil
		}
		if r.last != before {
			failures = 0
		}
		if failures++; failures > 3 || !passes(ctx, err) {
			return err
		}
		time.Sleep(time.Duration(failures) * 50 * time.Millisecond)
	}
}

// passes reports whether a failed read may be tried again.
func passes(ctx context.Context, err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.Aborted, codes.DeadlineExceeded:
		return ctx.Err() == nil
	}
	return false
}

// A clientRead is a read under way.
type clientRead struct {
	t      *Table
	want   *read.Request
	msg    *bigtablepb.ReadRowsRequest
	where  []read.Condition  // that the client judges
	judged []read.ColumnSpec // that these conditions are about
	sample uint64            // rows with hashes below it are wanted; 0 is all
	last   string            // the last row, returned or not
	passed int               // rows, for the offset
	given  int               // rows
}

// newClientRead prepares a read. The server judges conditions if it can; the client does so
// too if the caller asks for the cells that they judge.
func (t *Table) newClientRead(ctx context.Context, opts []read.Option, asked bool) (*clientRead, error) {
	t, err := t.ready(ctx)
	if err != nil {
		return nil, err
	}
	want, err := read.New(opts...)
	if err != nil {
		return nil, wire.Invalid("%v", err)
	}
	if want.PageSize != 0 || want.PageToken != "" || want.Rejected != nil {
		return nil, wire.Invalid("ReadPage reads pages, and a read over the network reports no rejected rows; leave PageSize, After and Rejected out")
	}
	r := &clientRead{t: t, want: want, sample: want.HashBound()}
	for _, c := range want.Where {
		if c, err = t.condition(c); err != nil {
			return nil, err
		}
		if asked || !t.client.judgesConditions() {
			r.where = append(r.where, c)
		}
	}
	r.judged = judgedColumns(r.where)
	filter, err := readFilter(want, r.judged)
	if err != nil {
		return nil, err
	}
	r.msg = &bigtablepb.ReadRowsRequest{TableName: t.client.name(t.name), Filter: filter, Reversed: want.Reverse}
	if t.client.judgesConditions() {
		if err := wire.SetConditions(r.msg, want.Where); err != nil {
			return nil, err
		}
	}
	if want.Cost != nil {
		*want.Cost = read.Cost{}
		r.msg.RequestStatsView = bigtablepb.ReadRowsRequest_REQUEST_STATS_FULL
	}
	return r, nil
}

// request is the message for the remaining rows; ok is false when no rows remain.
func (r *clientRead) request() (msg *bigtablepb.ReadRowsRequest, ok bool) {
	set := &bigtablepb.RowSet{}
	for _, rows := range r.want.RowRanges() {
		switch {
		case r.last == "":
		case r.want.Reverse && (rows.End == "" || rows.End > r.last):
			rows.End = r.last
		case !r.want.Reverse && rows.Start <= r.last:
			rows.Start = r.last + "\x00"
		}
		if rows.Empty() {
			continue
		}
		if key, ok := rows.Single(); ok {
			set.RowKeys = append(set.RowKeys, []byte(key))
			continue
		}
		set.RowRanges = append(set.RowRanges, &bigtablepb.RowRange{
			StartKey: &bigtablepb.RowRange_StartKeyClosed{StartKeyClosed: []byte(rows.Start)},
			EndKey:   &bigtablepb.RowRange_EndKeyOpen{EndKeyOpen: []byte(rows.End)},
		})
	}
	if len(set.RowKeys)+len(set.RowRanges) == 0 {
		return nil, false
	}
	r.msg.Rows = set
	if r.want.Limit > 0 && len(r.where) == 0 && r.sample == 0 {
		r.msg.RowsLimit = int64(r.want.Limit - r.given + r.want.Offset - r.passed)
	}
	return r.msg, true
}

// stream reads from one stream. more is false when the read is complete, or the caller
// stopped; otherwise err is the reason why the stream ended.
func (r *clientRead) stream(ctx context.Context, yield func(*query.Row, judgedCells) bool) (more bool, err error) {
	msg, ok := r.request()
	if !ok {
		return false, nil
	}
	stream, err := r.t.client.data.ReadRows(ctx, msg)
	if err != nil {
		return true, err
	}
	b := rowBuilder{t: r.t}
	for {
		resp, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return true, err
		}
		for _, chunk := range resp.GetChunks() {
			done, err := b.add(chunk)
			if err != nil {
				return true, err
			}
			if !done {
				continue
			}
			if more, err := r.row(ctx, &b, yield); err != nil {
				return false, err
			} else if !more {
				return false, r.drain(stream)
			}
		}
		r.account(resp)
		if key := resp.GetLastScannedRowKey(); len(key) > 0 {
			r.last = string(key)
		}
	}
}

// drain waits for the cost at the end of a read whose last row came.
func (r *clientRead) drain(stream bigtablepb.Bigtable_ReadRowsClient) error {
	for r.want.Cost != nil && r.msg.RowsLimit > 0 && int64(r.given+r.passed) >= r.msg.RowsLimit {
		resp, err := stream.Recv()
		if err != nil {
			return nil // the rows are complete
		}
		r.account(resp)
	}
	return nil
}

// account adds the cost that the server reports.
func (r *clientRead) account(resp *bigtablepb.ReadRowsResponse) {
	s := resp.GetRequestStats().GetFullReadStatsView()
	if r.want.Cost == nil || s == nil {
		return
	}
	c, seen := r.want.Cost, s.GetReadIterationStats()
	c.Rows += seen.GetRowsReturnedCount()
	c.RowsSeen += seen.GetRowsSeenCount()
	if all, ok := wire.CostOf(s); ok {
		c.Families = max(c.Families, all.Families)
		c.Seeks += all.Seeks
		c.RowsScanned += all.RowsScanned
		c.CellsScanned += all.CellsScanned
		c.BytesScanned += all.BytesScanned
		c.Tombstones += all.Tombstones
	} else {
		c.RowsScanned += seen.GetRowsSeenCount()
		c.CellsScanned += seen.GetCellsSeenCount()
	}
	c.Elapsed += s.GetRequestLatencyStats().GetFrontendServerLatency().AsDuration()
}

// row takes a row that is complete, and returns false when it was the last.
func (r *clientRead) row(ctx context.Context, b *rowBuilder, yield func(*query.Row, judgedCells) bool) (more bool, err error) {
	every := b.every
	row, judged := b.take(r.judged)
	r.last = row.Key()
	if r.sample != 0 && cf.RowHash(r.last) >= r.sample {
		return true, nil
	}
	for i := range r.where {
		holds, err := r.where[i].HoldsIn(ctx, r.last, judged)
		if err != nil && ctx.Err() == nil {
			err = status.Error(codes.ResourceExhausted, err.Error())
		}
		if !holds || err != nil {
			return true, err
		}
	}
	if row.Len() == 0 && !every { // only the columns of conditions are there
		return true, nil
	}
	if r.want.KeysOnly { // a cell without its value showed that the row is there
		row = query.NewRow(r.last, nil)
	}
	if r.passed < r.want.Offset {
		r.passed++
		return true, nil
	}
	if r.given++; !yield(row, judged) {
		return false, nil
	}
	return r.want.Limit == 0 || r.given < r.want.Limit, nil
}

// A rowBuilder makes rows from chunks.
type rowBuilder struct {
	t          *Table
	key        string
	cells      []cells.Cell
	conditions map[int]cells.Cell // by the number of the column
	every      bool               // a row of a read of every row

	family, qualifier string
	timestamp         cells.Timestamp
	label             string
	value             []byte
	exact             cells.Type // of the value, if the server names it
	continues         bool       // the next chunk continues the value
}

var errChunks = status.Error(codes.Internal, "the server's answer makes no row")

// add takes a chunk, and reports whether it is the last one of its row.
func (b *rowBuilder) add(c *bigtablepb.ReadRowsResponse_CellChunk) (done bool, err error) {
	if c.GetResetRow() {
		*b = rowBuilder{t: b.t}
		return false, nil
	}
	if len(c.GetRowKey()) > 0 {
		b.key = string(c.GetRowKey())
	}
	if c.GetFamilyName() != nil {
		b.family = c.GetFamilyName().GetValue()
	}
	if c.GetQualifier() != nil {
		b.qualifier = string(c.GetQualifier().GetValue())
	}
	if b.key == "" || b.family == "" {
		return false, errChunks
	}
	if !b.continues {
		b.timestamp, b.label, b.value, b.exact = cells.Timestamp(c.GetTimestampMicros()), "", nil, wire.ExactOf(c)
		for _, l := range c.GetLabels() {
			b.label = l
		}
	}
	b.value = append(b.value, c.GetValue()...)
	if b.continues = c.GetValueSize() > 0; b.continues {
		return false, nil
	}
	b.cell(cells.Cell{Family: b.family, Qualifier: b.qualifier, Timestamp: b.timestamp, Value: b.t.decoded(b.family, b.exact, b.value)})
	return c.GetCommitRow(), nil
}

// cell adds a cell; a cell with a label belongs to a condition, or shows that the row is
// there.
func (b *rowBuilder) cell(c cells.Cell) {
	if b.label == everyLabel {
		b.every = true
		return
	}
	number, ok := strings.CutPrefix(b.label, conditionLabel)
	if n, err := strconv.Atoi(number); ok && err == nil {
		if b.conditions == nil {
			b.conditions = map[int]cells.Cell{}
		}
		b.conditions[n] = c
		return
	}
	b.cells = append(b.cells, c)
}

// take returns the row, and the cells of the columns that conditions are about.
func (b *rowBuilder) take(columns []read.ColumnSpec) (row *query.Row, judged judgedCells) {
	row, judged = query.NewRow(b.key, b.cells), judgedCells{columns, b.conditions}
	*b = rowBuilder{t: b.t}
	return row, judged
}

// judgedCells are the newest cells of columns, by the number of the column.
type judgedCells struct {
	columns []read.ColumnSpec
	cells   map[int]cells.Cell
}

// Cell implements read.Newest.
func (j judgedCells) Cell(family, qualifier string) (cells.Cell, bool) {
	c, ok := j.cells[slices.Index(j.columns, read.Column(family, qualifier))]
	return c, ok
}

// conditionLabel begins the label of the cells of a column that a condition is about;
// the number of the column follows.
const conditionLabel = "where-"

// everyLabel is the label of a cell that shows that a row is there.
const everyLabel = "row"

// decoded is a value with the type that the server names, or else its family's
// type. A value that does not have that type is bytes.
func (t *Table) decoded(family string, exact cells.Type, b []byte) cells.Value {
	if exact != cells.TypeAny {
		if v, err := wire.ValueOf(&schema.Family{Type: exact}, nil, b); err == nil {
			return v
		}
		return cells.Bytes(b)
	}
	f, ok := t.declared.Family(family)
	if !ok {
		return cells.Bytes(b)
	}
	of := *f
	if of.Aggregate != schema.NoAggregate {
		of.Type = cells.TypeI64
	}
	v, err := wire.ValueOf(&of, nil, b)
	if err != nil {
		return cells.Bytes(b)
	}
	return v
}

// ReadCells reads the cells of one row.
func (t *Table) ReadCells(ctx context.Context, key string, opts ...read.Option) iter.Seq2[cells.Cell, error] {
	return func(yield func(cells.Cell, error) bool) {
		for row, err := range t.ReadRows(ctx, append(slices.Clip(opts), read.Key(key))...) {
			if err != nil {
				yield(cells.Cell{}, err)
				return
			}
			for c := range row.Cells() {
				if !yield(c, nil) {
					return
				}
			}
		}
	}
}

// Count reads and counts. With an error it returns the count so far.
func (t *Table) Count(ctx context.Context, opts ...read.Option) (query.Count, error) {
	var n query.Count
	want, err := read.New(opts...)
	if err != nil {
		return n, clientError("count", t.name, "", wire.Invalid("%v", err))
	}
	for row, err := range t.ReadRows(ctx, opts...) {
		if err != nil {
			return n, err
		}
		n.Rows++
		if !want.KeysOnly {
			n.Cells += int64(row.Len())
		}
	}
	return n, nil
}
