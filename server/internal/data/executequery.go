package data

import (
	"cmp"
	"context"
	"errors"
	"hash/crc32"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	md "google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server/internal/access"
	"github.com/smolwc/smolwc/server/internal/account"
	"github.com/smolwc/smolwc/server/internal/catalog"
	"github.com/smolwc/smolwc/server/internal/codec"
	"github.com/smolwc/smolwc/sql"
	"github.com/smolwc/smolwc/sql/value"
	"github.com/smolwc/smolwc/views"
)

//lint:file-ignore SA1019 clients that do not prepare a query send fields that are deprecated

// A prepared query is its request and a checksum of its columns. The server holds nothing
// for it, and plans it again when it is executed: if its columns have changed since, it
// has expired.

// preparedFor is how long clients use a prepared query before they prepare it
// again.
const preparedFor = time.Hour

// A statement is a parsed query, and its sources.
type statement struct {
	*views.Statement
	tables map[string]*catalog.Table // by their names in the query
	params sql.Params                // not bound
}

func (s *service) PrepareQuery(ctx context.Context, req *bigtablepb.PrepareQueryRequest) (*bigtablepb.PrepareQueryResponse, error) {
	st, err := s.statement(ctx, req)
	if err != nil {
		return nil, err
	}
	p, err := st.plan(st.params)
	if err != nil {
		return nil, err
	}
	meta := metadata(p)
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

// statement reads the query of a request and looks up its tables.
func (s *service) statement(ctx context.Context, req *bigtablepb.PrepareQueryRequest) (*statement, error) {
	in, err := wire.ParseInstance(req.GetInstanceName())
	if err != nil {
		return nil, err
	}
	st := &statement{tables: map[string]*catalog.Table{}}
	if st.params, err = sql.NewParams(paramTypes(req.GetParamTypes())); err != nil {
		return nil, queryStatus(err)
	}
	q, err := sql.Parse(req.GetQuery())
	if err != nil {
		return nil, queryStatus(err)
	}
	if s.likeBigtable {
		if err := q.ForBigtable(); err != nil {
			return nil, queryStatus(err)
		}
	}
	may := func(stored string) bool { return access.MayRead(ctx, stored) }
	if st.Statement, err = s.views.Prepare(views.WithReadable(ctx, may), in.String(), q); err != nil {
		return nil, catalog.OfViews(ctx, err)
	}
	for _, r := range st.Reads {
		if r.View {
			st.tables[r.Name] = s.LookUpDerived(r.Table)
			continue
		}
		t, err := s.LookUp(s.Own.StoredTable(r.Table.Stored).String())
		if err != nil {
			return nil, err
		}
		t.Declared = r.Declared
		st.tables[r.Name] = t
	}
	st.Parsed = st.Parsed.At(s.DB.Plumbing().Wall())
	if s.inMemory {
		st.Parsed = st.Parsed.InMemory()
	}
	return st, nil
}

// paramTypes returns the types of parameters. A type that SQL lacks becomes the type of
// NULL, which [sql.NewParams] refuses.
func paramTypes(messages map[string]*bigtablepb.Type) map[string]value.Type {
	types := make(map[string]value.Type, len(messages))
	for name, m := range messages {
		t, err := wire.ReadSQLType(m)
		if err != nil {
			t = value.Type{}
		}
		types[name] = t
	}
	return types
}

// bind gives parameters the values of a request. The values share the bytes of the messages.
func bind(params sql.Params, messages map[string]*bigtablepb.Value) (sql.Params, error) {
	values := make(map[string]any, len(messages))
	for name, m := range messages {
		var err error
		if values[name], err = wire.ReadSQLValue(m, params.Types()[name]); err != nil {
			values[name] = err // and is of no type
		}
	}
	bound, err := params.Bind(values)
	return bound, queryStatus(err)
}

// bindView gives the parameters of views the values of a request, which are STRINGs.
func bindView(params sql.Params, messages map[string]*bigtablepb.Value) (sql.Params, error) {
	values := make(map[string]string, len(messages))
	for name, m := range messages {
		text, ok := m.GetKind().(*bigtablepb.Value_StringValue)
		if t := m.GetType(); !ok || t != nil && t.GetStringType() == nil {
			return params, wire.Invalid("view parameter %q: the value is not a valid STRING", name)
		}
		values[name] = text.StringValue
	}
	with, err := params.WithView(values)
	return with, queryStatus(err)
}

// metadata describes the columns of a result.
func metadata(p *sql.Plan) *bigtablepb.ResultSetMetadata {
	s := &bigtablepb.ProtoSchema{}
	for i, c := range p.Columns() {
		s.Columns = append(s.Columns, &bigtablepb.ColumnMetadata{Name: cmp.Or(c.Name, wire.Unnamed(i)), Type: wire.SQLType(c.Type)})
	}
	return &bigtablepb.ResultSetMetadata{Schema: &bigtablepb.ResultSetMetadata_ProtoSchema{ProtoSchema: s}}
}

func (st *statement) plan(params sql.Params) (*sql.Plan, error) {
	p, err := st.Parsed.Plan(params)
	if err != nil {
		return nil, queryStatus(err)
	}
	for i, c := range p.Columns() {
		if err := wire.CheckSQLType(c.Type); err != nil {
			return nil, wire.Invalid("column %d of the result, %q, has the type %s", i+1, c.Name, err)
		}
	}
	return p, nil
}

// table is the only table of a query; nil: it has none, or several.
func (st *statement) table() *catalog.Table {
	for _, t := range st.tables {
		if len(st.tables) == 1 {
			return t
		}
	}
	return nil
}

// named is the table with a name in the query.
func (st *statement) named(name string) sql.Table {
	if t := st.tables[name]; t != nil {
		return t
	}
	return nil
}

// queryStatus turns an error of a query into a status; other errors stay.
func queryStatus(err error) error {
	if e, ok := errors.AsType[*sql.Error](err); ok {
		return wire.Invalid("%s", e)
	}
	if e, ok := errors.AsType[*sql.BudgetError](err); ok {
		return status.Error(codes.ResourceExhausted, e.Error())
	}
	return err
}

func checksum(m proto.Message) (uint32, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	return crc32.Checksum(b, castagnoli), err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (s *service) ExecuteQuery(req *bigtablepb.ExecuteQueryRequest, stream bigtablepb.Bigtable_ExecuteQueryServer) error {
	prepared, sum, err := PreparedQuery(req)
	if err != nil {
		return err
	}
	st, err := s.statement(stream.Context(), prepared)
	if err != nil {
		return err
	}
	params, err := bindView(st.params, req.GetViewParameters())
	if err != nil {
		return err
	}
	if params, err = bind(params, req.GetParams()); err != nil {
		return err
	}
	p, err := st.plan(params)
	if err != nil {
		return err
	}
	meter, err := s.judge(stream, st, p)
	if err != nil {
		return err
	}
	meta := metadata(p)
	if req.GetPreparedQuery() == nil {
		if err := stream.Send(&bigtablepb.ExecuteQueryResponse{Response: &bigtablepb.ExecuteQueryResponse_Metadata{Metadata: meta}}); err != nil {
			return err
		}
	} else if now, err := checksum(meta); err != nil {
		return err
	} else if now != sum {
		return expired()
	}
	if err := st.CatchUp(stream.Context()); err != nil {
		return catalog.OfViews(stream.Context(), err)
	}
	ctx, h := account.Holding(stream.Context())
	defer h.Release()
	x := execution{plan: p, meter: meter, out: valueWriter{send: stream.Send, size: codec.FirstMessage, hold: h}}
	if err := x.resume(req); err != nil {
		return err
	}
	at, done, err := s.views.Moment(ctx, st.Statement)
	if err != nil {
		return catalog.Status(ctx, err)
	}
	defer done()
	err = queryStatus(x.run(at, st))
	switch t := st.table(); {
	case t != nil:
		return t.Status(ctx, err)
	case len(st.tables) > 0:
		return catalog.Status(ctx, err)
	}
	return err
}

// judge refuses a query that is beyond its budget, and tells how much it is expected to read. It
// returns nil for a query without a budget.
func (s *service) judge(stream bigtablepb.Bigtable_ExecuteQueryServer, st *statement, p *sql.Plan) (*sql.Meter, error) {
	ctx := stream.Context()
	header := wire.Header(ctx, wire.BudgetHeader)
	if len(header) == 0 {
		return nil, nil
	}
	var b sql.Budget
	var err error
	if b.Rows, b.Bytes, err = wire.ParseBudget(header[0]); err != nil {
		return nil, err
	}
	if err := st.CatchUp(ctx); err != nil {
		return nil, catalog.OfViews(ctx, err)
	}
	a, err := s.views.Estimate(ctx, st.Statement, p, b)
	if err == nil && !st.Parsed.Explains() {
		err = b.Refuse(a)
	}
	if err != nil {
		return nil, catalog.Status(ctx, queryStatus(err))
	}
	return &sql.Meter{Budget: b}, stream.SetHeader(md.Pairs(wire.EstimateHeader, wire.FormatEstimate(a.Rows, a.Bytes, a.Exact)))
}

// PreparedQuery is the request of a prepared query, and the checksum of the
// columns that it had. A query that was not prepared counts as prepared just now.
func PreparedQuery(req *bigtablepb.ExecuteQueryRequest) (prepared *bigtablepb.PrepareQueryRequest, sum uint32, err error) {
	prepared = &bigtablepb.PrepareQueryRequest{}
	switch {
	case (req.GetQuery() == "") == (len(req.GetPreparedQuery()) == 0):
		return nil, 0, wire.Invalid("the request must have one of query and prepared_query")
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
			return nil, 0, wire.Invalid("prepared_query is not one of this server")
		}
		if req.GetDataFormat() != nil {
			return nil, 0, wire.Invalid("data_format must be empty when prepared_query is set")
		}
		if prepared.GetInstanceName() != req.GetInstanceName() {
			return nil, 0, wire.Invalid("the query was prepared for %s", prepared.GetInstanceName())
		}
	}
	return prepared, sum, nil
}

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

// An execution is a query under way. Its tokens are the checksum of the request, the
// number of rows so far, and the key of the last row read.
type execution struct {
	plan    *sql.Plan
	meter   *sql.Meter // nil: it has no budget
	out     valueWriter
	request uint32
	rows    uint64 // matching rows, skipped rows included
	first   uint64 // how many of them to skip
	last    string
	done    bool
}

// resume continues after the rows that a token counts.
func (x *execution) resume(req *bigtablepb.ExecuteQueryRequest) (err error) {
	same := &bigtablepb.ExecuteQueryRequest{Query: req.GetQuery(), PreparedQuery: req.GetPreparedQuery(), Params: req.GetParams(), ViewParameters: req.GetViewParameters()}
	if x.request, err = checksum(same); err != nil {
		return err
	}
	token := req.GetResumeToken()
	if len(token) == 0 {
		return nil
	}
	sum, n := protowire.ConsumeFixed32(token)
	if n < 0 || sum != x.request {
		return wire.Invalid("resume_token is not one of this query")
	}
	rows, m := protowire.ConsumeVarint(token[n:])
	if m < 0 {
		return wire.Invalid("resume_token is not one of this query")
	}
	x.rows, x.last = rows, string(token[n+m:])
	x.done = x.last == ""
	return nil
}

func (x *execution) token() []byte {
	b := protowire.AppendFixed32(nil, x.request)
	return append(protowire.AppendVarint(b, x.rows), x.last...)
}

func (x *execution) run(ctx context.Context, st *statement) error {
	if !x.plan.Streams() {
		return x.whole(ctx, st)
	}
	first, end, err := x.plan.Bounds()
	if err != nil {
		return err
	}
	x.first = first
	if !x.done && x.rows < end {
		if err := x.scan(ctx, st.table(), end); err != nil {
			return err
		}
	}
	x.last = "" // the end
	return x.out.flush(x.token())
}

// whole sends a result that is computed as a whole. Only its last message carries a
// token: a client whose stream breaks before executes the query again.
func (x *execution) whole(ctx context.Context, st *statement) error {
	if x.done {
		return x.out.flush(x.token())
	}
	var tables sql.Tables = st.named
	if x.meter != nil {
		tables = x.meter.Tables(tables)
	}
	err := x.plan.Run(ctx, tables, func(values []any) error {
		x.rows++
		for _, v := range values {
			if err := x.out.value(v); err != nil {
				return err
			}
		}
		if x.out.full() {
			return x.out.flush(nil)
		}
		return nil
	})
	if err != nil {
		return err
	}
	x.last = "" // the end
	return x.out.flush(x.token())
}

// scan reads rows up to the wanted number.
func (x *execution) scan(ctx context.Context, t *catalog.Table, end uint64) error {
	opts, some := x.plan.Reads(x.last, end-x.rows)
	switch {
	case !some:
		return nil
	case t == nil:
		return x.row(ctx, nil)
	}
	seen := 0
	var from sql.Table = t
	if x.meter != nil {
		from = x.meter.Table(t)
	}
	for row, err := range from.ReadRows(ctx, opts...) {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil { // a row can take long, and a block holds many
			return err
		}
		seen++
		x.last = row.Key()
		wanted, err := x.plan.Wants(ctx, row)
		if err != nil {
			return err
		}
		if wanted {
			if err := x.row(ctx, row); err != nil {
				return err
			}
		}
		if x.out.full() || seen%scannedEvery == 0 {
			if err := x.out.flush(x.token()); err != nil {
				return err
			}
		}
		if x.rows == end {
			return nil
		}
	}
	return nil
}

func (x *execution) row(ctx context.Context, row *query.Row) error {
	if x.rows++; x.rows <= x.first {
		return nil
	}
	for v, err := range x.plan.Values(ctx, row) {
		if err != nil {
			return err
		}
		if err := x.out.value(v); err != nil {
			return err
		}
	}
	return nil
}

// A valueWriter sends values in batches. Clients check and take each batch as a
// whole. A large batch comes in several messages.
type valueWriter struct {
	send  func(*bigtablepb.ExecuteQueryResponse) error
	batch []byte        // a ProtoRows
	size  int           // the size from which a batch is sent
	hold  *account.Hold // counts batches that are large
}

// value adds a value: the field values of ProtoRows.
func (w *valueWriter) value(of any) error {
	const values = 2
	v := wire.SQLValue(of)
	size := proto.Size(v)
	if n := len(w.batch) + size; n > codec.LargestMessage {
		if err := w.hold.Message(n); err != nil {
			return err
		}
	}
	b := protowire.AppendTag(w.batch, values, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(size))
	b, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(b, v)
	w.batch = b
	return err
}

func (w *valueWriter) full() bool { return len(w.batch) >= w.size }

func (w *valueWriter) flush(token []byte) error {
	sum := crc32.Checksum(w.batch, castagnoli)
	for rest := w.batch; ; {
		part := rest[:min(len(rest), codec.LargestMessage)]
		rest = rest[len(part):]
		// No estimated_batch_size: Node's client fails when it is set.
		set := &bigtablepb.PartialResultSet{}
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
	w.batch, w.size = nil, min(w.size*4, codec.FullMessage)
	return w.hold.Message(0)
}
