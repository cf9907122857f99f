package server

import (
	"context"
	"hash/crc32"
	"math"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

//lint:file-ignore SA1019 clients that do not prepare a query send fields that are deprecated

// A prepared query is the request that it was prepared from, and the checksum of
// the columns that it had then. It holds nothing at the server, and is planned
// again when it is executed: when it then has other columns, it has expired.

// preparedFor is how long clients use a prepared query before they ask again.
const preparedFor = time.Hour

// A sqlStatement is a query that was read, of a table.
type sqlStatement struct {
	text  string
	query *sqlQuery
	table *openTable // nil: the query is of none
	types map[string]sqlType
}

// PrepareQuery says which columns a query will have.
func (s *dataService) PrepareQuery(_ context.Context, req *bigtablepb.PrepareQueryRequest) (*bigtablepb.PrepareQueryResponse, error) {
	st, err := s.statement(req)
	if err != nil {
		return nil, err
	}
	p, err := st.plan(nil)
	if err != nil {
		return nil, err
	}
	meta := p.metadata()
	sum, err := checksum(meta)
	if err != nil {
		return nil, err
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(req)
	if err != nil {
		return nil, err
	}
	return &bigtablepb.PrepareQueryResponse{
		Metadata:      meta,
		PreparedQuery: append(protowire.AppendFixed32(nil, sum), b...),
		ValidUntil:    timestamppb.New(time.Now().Add(preparedFor)),
	}, nil
}

// statement reads the query of a request and looks up its table.
func (s *dataService) statement(req *bigtablepb.PrepareQueryRequest) (*sqlStatement, error) {
	in, err := parseInstance(req.GetInstanceName())
	if err != nil {
		return nil, err
	}
	st := &sqlStatement{text: req.GetQuery(), types: make(map[string]sqlType, len(req.GetParamTypes()))}
	for name, t := range req.GetParamTypes() {
		if st.types[name], err = typeOfParam(name, t); err != nil {
			return nil, err
		}
	}
	if st.query, err = parseSQL(st.text); err != nil {
		return nil, sqlStatus(st.text, err)
	}
	if st.query.table == "" {
		return st, nil
	}
	st.table, err = s.openNamed(s.tableIn(in, st.query.table).String())
	if status.Code(err) == codes.NotFound {
		return nil, sqlStatus(st.text, sqlErrorf(st.query.tablePos, "Table not found: %s", st.query.table))
	}
	return st, err
}

func (st *sqlStatement) plan(params map[string]any) (*sqlPlan, error) {
	var declared schema.Table
	if st.table != nil {
		declared = st.table.declared
	}
	p, err := planSQL(st.query, declared, st.types, params)
	return p, sqlStatus(st.text, err)
}

// checksum is a message's.
func checksum(m proto.Message) (uint32, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	return crc32.Checksum(b, castagnoli), err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ExecuteQuery streams the rows of a query.
func (s *dataService) ExecuteQuery(req *bigtablepb.ExecuteQueryRequest, stream bigtablepb.Bigtable_ExecuteQueryServer) error {
	prepared, sum, err := preparedQuery(req)
	if err != nil {
		return err
	}
	st, err := s.statement(prepared)
	if err != nil {
		return err
	}
	params := make(map[string]any, len(st.types))
	for name, t := range st.types {
		v, ok := req.GetParams()[name]
		if !ok {
			return invalid("parameter @%s has no value", name)
		}
		if params[name], err = paramValue(name, v, t); err != nil {
			return err
		}
	}
	for name := range req.GetParams() {
		if _, ok := st.types[name]; !ok {
			return invalid("parameter @%s is not one of the query's", name)
		}
	}
	p, err := st.plan(params)
	if err != nil {
		return err
	}
	meta := p.metadata()
	if req.GetPreparedQuery() == nil {
		if err := stream.Send(&bigtablepb.ExecuteQueryResponse{Response: &bigtablepb.ExecuteQueryResponse_Metadata{Metadata: meta}}); err != nil {
			return err
		}
	} else if now, err := checksum(meta); err != nil {
		return err
	} else if now != sum {
		return expired()
	}
	ctx, h := s.holding(stream.Context())
	defer h.release()
	x := sqlExecution{plan: p, out: sqlWriter{send: stream.Send, size: firstMessage, hold: h}}
	if err := x.resume(req); err != nil {
		return err
	}
	err = sqlStatus(st.text, x.run(ctx, st.table))
	if st.table == nil {
		return err
	}
	return st.table.toStatus(ctx, err)
}

// preparedQuery is the request that a query was prepared from, and the checksum of
// the columns that it had then. One that was not is as if it had been just now.
func preparedQuery(req *bigtablepb.ExecuteQueryRequest) (prepared *bigtablepb.PrepareQueryRequest, sum uint32, err error) {
	prepared = &bigtablepb.PrepareQueryRequest{}
	switch {
	case (req.GetQuery() == "") == (len(req.GetPreparedQuery()) == 0):
		return nil, 0, invalid("the request must have one of query and prepared_query")
	case len(req.GetPreparedQuery()) == 0:
		prepared.InstanceName, prepared.Query = req.GetInstanceName(), req.GetQuery()
		prepared.DataFormat = &bigtablepb.PrepareQueryRequest_ProtoFormat{ProtoFormat: req.GetProtoFormat()}
		prepared.ParamTypes = map[string]*bigtablepb.Type{}
		for name, v := range req.GetParams() {
			prepared.ParamTypes[name] = v.GetType()
		}
	default:
		var n int
		sum, n = protowire.ConsumeFixed32(req.GetPreparedQuery())
		if n < 0 || proto.Unmarshal(req.GetPreparedQuery()[n:], prepared) != nil {
			return nil, 0, invalid("prepared_query is not one of this server")
		}
		if req.GetDataFormat() != nil {
			return nil, 0, invalid("data_format must be empty when prepared_query is set")
		}
		if prepared.GetInstanceName() != req.GetInstanceName() {
			return nil, 0, invalid("the query was prepared for %s", prepared.GetInstanceName())
		}
	}
	return prepared, sum, nil
}

// expired tells the client to prepare the query again.
func expired() error {
	st := status.New(codes.FailedPrecondition, "the table has changed since the query was prepared; prepare it again")
	with, err := st.WithDetails(&errdetails.PreconditionFailure{Violations: []*errdetails.PreconditionFailure_Violation{
		{Type: "PREPARED_QUERY_EXPIRED", Description: st.Message()},
	}})
	if err != nil {
		return err
	}
	return with.Err()
}

// A sqlExecution is a query under way. Its tokens are the checksum of the
// request, how many rows came, and the key of the last one that was looked at.
type sqlExecution struct {
	plan    *sqlPlan
	out     sqlWriter
	request uint32
	rows    uint64 // that were wanted, those passed over among them
	skip    uint64
	last    string
	done    bool
}

// resume goes on behind what a token says has come.
func (x *sqlExecution) resume(req *bigtablepb.ExecuteQueryRequest) (err error) {
	same := &bigtablepb.ExecuteQueryRequest{Query: req.GetQuery(), PreparedQuery: req.GetPreparedQuery(), Params: req.GetParams()}
	if x.request, err = checksum(same); err != nil {
		return err
	}
	token := req.GetResumeToken()
	if len(token) == 0 {
		return nil
	}
	sum, n := protowire.ConsumeFixed32(token)
	if n < 0 || sum != x.request {
		return invalid("resume_token is not one of this query")
	}
	rows, m := protowire.ConsumeVarint(token[n:])
	if m < 0 {
		return invalid("resume_token is not one of this query")
	}
	x.rows, x.last = rows, string(token[n+m:])
	x.done = x.last == ""
	return nil
}

func (x *sqlExecution) token() []byte {
	b := protowire.AppendFixed32(nil, x.request)
	return append(protowire.AppendVarint(b, x.rows), x.last...)
}

func (x *sqlExecution) run(ctx context.Context, t *openTable) error {
	keys, limit, err := x.bounds()
	if err != nil {
		return err
	}
	if x.plan.count {
		return x.counted(ctx, t, keys, limit)
	}
	if !x.done && len(keys) > 0 && x.rows < limit {
		if err := x.scan(ctx, t, keys, limit); err != nil {
			return err
		}
	}
	x.last = "" // the end
	return x.out.flush(x.token())
}

// counted sends the number of rows, unless the limit leaves out that row.
func (x *sqlExecution) counted(ctx context.Context, t *openTable, keys keyRanges, limit uint64) error {
	if x.done {
		return x.out.flush(x.token())
	}
	if len(keys) > 0 {
		if err := x.scan(ctx, t, keys, math.MaxInt64); err != nil {
			return err
		}
	}
	if limit > 0 && x.skip == 0 {
		for range x.plan.columns {
			if err := x.out.value(sqlMessage(int64(x.rows))); err != nil {
				return err
			}
		}
	}
	x.last = "" // the end
	return x.out.flush(x.token())
}

// bounds are the rows to look at, and how many of those that are wanted to come to:
// the first of them are passed over.
func (x *sqlExecution) bounds() (keys keyRanges, limit uint64, err error) {
	keys, limit = allKeys, math.MaxInt64
	if w := x.plan.where; w != nil && w.keys != nil {
		keys = w.keys()
	}
	switch {
	case x.last == "":
	case x.plan.reverse:
		keys = keys.and(keyRanges{{"", x.last}})
	default:
		keys = keys.and(keyRanges{{x.last + "\x00", ""}})
	}
	if limit, err = rowCount(x.plan.limit, limit, "LIMIT"); err != nil {
		return nil, 0, err
	}
	if x.skip, err = rowCount(x.plan.offset, 0, "OFFSET"); err != nil {
		return nil, 0, err
	}
	return keys, limit + min(x.skip, math.MaxInt64-limit), nil
}

// rowCount is the value of LIMIT or OFFSET.
func rowCount(e *sqlExpr, otherwise uint64, what string) (uint64, error) {
	if e == nil {
		return otherwise, nil
	}
	n, err := e.eval(nil)
	if err != nil {
		return 0, err
	}
	if rows, ok := n.(int64); ok && rows >= 0 {
		return uint64(rows), nil
	}
	return 0, invalid("%s must not be negative or NULL", what)
}

func (x *sqlExecution) scan(ctx context.Context, t *openTable, keys keyRanges, limit uint64) error {
	if t == nil {
		return x.row(nil)
	}
	opts := append(keys.options(), x.plan.opts...)
	if x.plan.reverse {
		opts = append(opts, query.Reverse())
	}
	if !x.plan.cells {
		opts = append(opts, query.KeysOnly())
	}
	if x.plan.where == nil {
		opts = append(opts, query.Limit(int(limit-x.rows)))
	}
	seen := 0
	for row, err := range t.ReadRows(ctx, opts...) {
		if err != nil {
			return err
		}
		seen++
		x.last = row.Key()
		wanted, err := x.wants(row)
		if err != nil {
			return err
		}
		if wanted {
			if err := x.row(row); err != nil {
				return err
			}
		}
		if x.out.full() || seen%scannedEvery == 0 {
			if err := x.out.flush(x.token()); err != nil {
				return err
			}
		}
		if x.rows == limit {
			return nil
		}
	}
	return nil
}

func (x *sqlExecution) wants(row *query.Row) (bool, error) {
	if x.plan.where == nil {
		return true, nil
	}
	v, err := x.plan.where.eval(row)
	return v == true, err
}

func (x *sqlExecution) row(row *query.Row) error {
	if x.rows++; x.rows <= x.skip || x.plan.count {
		return nil
	}
	for _, c := range x.plan.columns {
		v, err := c.expr.eval(row)
		if err != nil {
			return err
		}
		if err := x.out.value(sqlMessage(v)); err != nil {
			return err
		}
	}
	return nil
}

// A sqlWriter sends values in batches, each of which clients check and take as a
// whole. A large one comes in several messages.
type sqlWriter struct {
	send  func(*bigtablepb.ExecuteQueryResponse) error
	batch []byte // a ProtoRows
	size  int    // from how many bytes on a batch is sent
	hold  *hold  // counts batches that are large
}

// value adds a value: the field values of ProtoRows.
func (w *sqlWriter) value(v *bigtablepb.Value) error {
	const values = 2
	size := proto.Size(v)
	if n := len(w.batch) + size; n > largestMessage {
		if err := w.hold.message(n); err != nil {
			return err
		}
	}
	b := protowire.AppendTag(w.batch, values, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(size))
	b, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(b, v)
	w.batch = b
	return err
}

func (w *sqlWriter) full() bool { return len(w.batch) >= w.size }

// flush ends the batch.
func (w *sqlWriter) flush(token []byte) error {
	sum := crc32.Checksum(w.batch, castagnoli)
	total := int32(len(w.batch))
	for rest := w.batch; ; {
		part := rest[:min(len(rest), largestMessage)]
		rest = rest[len(part):]
		set := &bigtablepb.PartialResultSet{EstimatedBatchSize: total}
		total = 0
		if len(part) > 0 {
			set.PartialRows = &bigtablepb.PartialResultSet_ProtoRowsBatch{ProtoRowsBatch: &bigtablepb.ProtoRowsBatch{BatchData: part}}
		}
		if len(rest) == 0 {
			set.ResumeToken = token
			if len(w.batch) > 0 {
				set.BatchChecksum = &sum
			}
		}
		if err := w.send(&bigtablepb.ExecuteQueryResponse{Response: &bigtablepb.ExecuteQueryResponse_Results{Results: set}}); err != nil {
			return err
		}
		if len(rest) == 0 {
			break
		}
	}
	w.batch, w.size = nil, min(w.size*4, fullMessage)
	return w.hold.message(0)
}
