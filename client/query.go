package client

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"regexp"
	"strconv"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/sql"
)

//lint:file-ignore SA1019 a query that runs once needs no preparation

// Query runs a query in SQL on the tables of the client's instance. A fault of the query
// is a *[query.Error] of kind KindInvalidArgument, which wraps a *[sql.Error] with the
// place. The server runs the query while the caller ranges over the rows of the result;
// the query ends with the loop or with the context.
func (c *Client) Query(ctx context.Context, text string) (*sql.Result, error) {
	res, _, err := c.query(ctx, text)
	return res, err
}

// QueryWithin is [Client.Query] within a budget. The server judges the query before it runs: it
// refuses one that would read more with the kind KindResourceExhausted, and ends one that reads
// more. With EXPLAIN before it, it is neither run nor
// refused. The estimate is about how much it reads. A server that does not know budgets is an error of the kind
// KindFailedPrecondition, and runs nothing for long.
func (c *Client) QueryWithin(ctx context.Context, text string, b sql.Budget) (*sql.Result, sql.Amount, error) {
	res, header, err := c.query(metadata.AppendToOutgoingContext(ctx, wire.BudgetHeader, wire.FormatBudget(b.Rows, b.Bytes)), text)
	if err != nil {
		return nil, sql.Amount{}, err
	}
	estimate := sql.Amount{}
	ok := false
	if told := header.Get(wire.EstimateHeader); len(told) == 1 {
		estimate.Rows, estimate.Bytes, estimate.Exact, ok = wire.ParseEstimate(told[0])
	}
	if !ok {
		for range res.Rows { // ends the query
			break
		}
		return nil, estimate, &query.Error{Op: "query", Kind: query.KindFailedPrecondition, Err: errors.New("the server does not judge budgets: it is not smolwc serve, or an older one")}
	}
	return res, estimate, nil
}

// query begins a query, and waits for its columns and headers.
func (c *Client) query(ctx context.Context, text string) (*sql.Result, metadata.MD, error) {
	if err := c.ready(ctx); err != nil {
		return nil, nil, queryError(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	stream, err := c.data.ExecuteQuery(ctx, &bigtablepb.ExecuteQueryRequest{
		InstanceName: c.own.String(), Query: text,
		DataFormat: &bigtablepb.ExecuteQueryRequest_ProtoFormat{ProtoFormat: &bigtablepb.ProtoFormat{}},
	})
	if err != nil {
		cancel()
		return nil, nil, queryError(err)
	}
	q := clientQuery{recv: stream.Recv}
	columns, err := q.columns()
	var header metadata.MD
	if err == nil {
		header, err = stream.Header()
	}
	if err != nil {
		cancel()
		return nil, nil, queryError(err)
	}
	return &sql.Result{Columns: columns, Rows: func(yield func([]any, error) bool) {
		defer cancel()
		for row, err := range q.rows(ctx, columns) {
			if !yield(row, queryError(err)) {
				return
			}
		}
	}}, header, nil
}

// A clientQuery is a query under way.
type clientQuery struct {
	recv  func() (*bigtablepb.ExecuteQueryResponse, error)
	batch []byte // the part of a batch that came so far
	row   []any  // the part of a row that came so far
}

// columns takes the first message.
func (q *clientQuery) columns() (columns []sql.Column, err error) {
	m, err := q.recv()
	if err != nil {
		return nil, err
	}
	for i, c := range m.GetMetadata().GetProtoSchema().GetColumns() {
		t, err := wire.ReadSQLType(c.GetType())
		if err != nil {
			return nil, err
		}
		name := c.GetName()
		if name == wire.Unnamed(i) {
			name = ""
		}
		columns = append(columns, sql.Column{Name: name, Type: t})
	}
	if len(columns) == 0 {
		return nil, errNoResult
	}
	return columns, nil
}

func (q *clientQuery) rows(ctx context.Context, columns []sql.Column) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for {
			m, err := q.recv()
			if err == io.EOF {
				return
			}
			if err == nil {
				err = status.FromContextError(ctx.Err()).Err() // messages may have come before
			}
			var values []*bigtablepb.Value
			if err == nil {
				values, err = q.values(m.GetResults())
			}
			for i := 0; i < len(values) && err == nil; i++ {
				var v any
				v, err = wire.ReadSQLValue(values[i], columns[len(q.row)].Type)
				if q.row = append(q.row, v); err == nil && len(q.row) == len(columns) {
					if !yield(q.row, nil) {
						return
					}
					q.row = nil
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// values returns the values of the batch that a message completes.
func (q *clientQuery) values(set *bigtablepb.PartialResultSet) ([]*bigtablepb.Value, error) {
	if set.GetReset_() {
		q.batch = nil
	}
	q.batch = append(q.batch, set.GetProtoRowsBatch().GetBatchData()...)
	if set.BatchChecksum == nil {
		return nil, nil
	}
	batch := q.batch
	q.batch = nil
	var rows bigtablepb.ProtoRows
	if crc32.Checksum(batch, castagnoli) != set.GetBatchChecksum() || proto.Unmarshal(batch, &rows) != nil {
		return nil, &query.Error{Op: "query", Kind: query.KindCorruption, Err: errors.New("the server sent rows that are damaged")}
	}
	return rows.GetValues(), nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// placed is the text of a fault with its place, as servers write it.
var placed = regexp.MustCompile(`(?s)^(.*) \[at (\d+):(\d+)\]$`)

// queryError is clientError for a query, with the place of a fault; nil stays nil.
func queryError(err error) error {
	if err == nil {
		return nil
	}
	e := clientError("query", "", "", err).(*query.Error)
	if m := placed.FindStringSubmatch(wire.StatusText(err)); m != nil {
		line, _ := strconv.Atoi(m[2])
		column, _ := strconv.Atoi(m[3])
		return &query.Error{Op: e.Op, Kind: e.Kind, Err: &sql.Error{Message: m[1], Line: line, Column: column}}
	}
	return e
}

// RunStatement makes the server run a statement of the shell that needs the database
// itself, such as explain, gc or queues: smolwc_data.proto defines the messages. The
// instance is the client's. The error of a server that runs no statements wraps
// [errors.ErrUnsupported].
func (c *Client) RunStatement(ctx context.Context, req *smolwcpb.RunStatementRequest) (*smolwcpb.RunStatementResponse, error) {
	const op = "run statement"
	if err := c.ready(ctx); err != nil {
		return nil, clientError(op, "", "", err)
	}
	defer c.forget() // it may change tables
	own := &smolwcpb.RunStatementRequest{InstanceName: c.own.String(), Text: req.GetText(), Answer: req.GetAnswer(), Versions: req.GetVersions(), Limit: req.GetLimit()}
	resp, err := c.runs.RunStatement(ctx, own)
	if status.Code(err) == codes.Unimplemented {
		err = fmt.Errorf("the server does not run it for clients: it is not smolwc serve, or an older one (%w)", errors.ErrUnsupported)
		return nil, &query.Error{Op: op, Kind: query.KindFailedPrecondition, Err: err}
	}
	return resp, clientError(op, "", "", err)
}
