package data

import (
	"context"
	"encoding/base64"
	"strings"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/server/internal/account"
	"github.com/smolwc/smolwc/server/internal/catalog"
	"github.com/smolwc/smolwc/server/internal/codec"
)

func (s *service) ReadRows(req *bigtablepb.ReadRowsRequest, stream bigtablepb.Bigtable_ReadRowsServer) error {
	began := time.Now()
	t, err := s.openToRead(stream.Context(), req)
	if err != nil {
		return err
	}
	opts, err := readOptions(t, req)
	if err == nil && wire.WantsExact(stream.Context()) {
		opts, err = withConditions(opts, t, req)
	}
	if err != nil {
		return err
	}
	opts = append(opts, read.Lend()) // chunks are copies
	var cost read.Cost
	stats := req.GetRequestStatsView() == bigtablepb.ReadRowsRequest_REQUEST_STATS_FULL
	if stats {
		opts = append(opts, read.ReportCost(&cost))
	}
	ctx, h := account.Holding(stream.Context())
	defer h.Release()
	w := newChunkWriter(func(m *codec.Encoded) error { return stream.SendMsg(m) }, func() division { return divisionFor(ctx) }, h)
	w.spelled, w.exact = plainClient(ctx), wire.WantsExact(ctx)
	defer w.close()
	p := progress{w: w, every: scannedEvery, read: func(key string) { t.LookedUp(ctx, key) }}
	if req.GetFilter() != nil {
		opts = append(opts, read.Rejected(p.rejected))
	}
	found := false
	for row, err := range t.ReadRows(ctx, opts...) {
		if err != nil {
			return readStatus(ctx, t, err)
		}
		p.last, found = p.last[:0], true
		if err := w.row(row); err != nil {
			return err
		}
	}
	if !found && p.seen == 0 {
		for _, key := range req.GetRows().GetRowKeys() {
			t.LookedUp(ctx, wire.Text(key))
		}
	}
	if err := p.end(ctx); err != nil || !stats {
		return err
	}
	m := requestStats(&cost, w.cellCount, time.Since(began))
	if w.exact {
		if err := wire.SetCost(m.GetFullReadStatsView(), &cost); err != nil {
			return err
		}
	}
	return stream.Send(&bigtablepb.ReadRowsResponse{RequestStats: m})
}

// withConditions adds the conditions of a request to the options of its read. Conditions
// are refused for a view, since they may be about columns outside of it.
func withConditions(opts []read.Option, t *catalog.Table, req *bigtablepb.ReadRowsRequest) ([]read.Option, error) {
	where, err := wire.ConditionsOf(req)
	if err == nil && len(where) > 0 && t.View != nil {
		err = wire.Invalid("an authorized view is read without conditions")
	}
	for _, c := range where {
		opts = append(opts, c)
	}
	return opts, err
}

// plainClient reports whether a client uses only gRPC: Bigtable's own clients
// send headers that it does not.
func plainClient(ctx context.Context) bool {
	for _, header := range []string{"google-cloud-resource-prefix", "x-goog-api-client", "bigtable-features"} {
		if len(wire.Header(ctx, header)) > 0 {
			return false
		}
	}
	return true
}

// divisionFor is the division of large rows that the client of a call accepts.
func divisionFor(ctx context.Context) division {
	agent := wire.Header(ctx, "user-agent")
	switch {
	case len(agent) == 0 || plainClient(ctx):
		return divided
	case strings.Contains(agent[0], "grpc-python"):
		return keyed
	case strings.Contains(agent[0], "grpc-go/"):
		return whole
	}
	return divided
}

// readStatus returns the status of a failed read. For a row that is too large it uses
// Bigtable's wording.
func readStatus(ctx context.Context, t *catalog.Table, err error) error {
	if query.KindOf(err) == query.KindResourceExhausted && ctx.Err() == nil {
		return status.Error(codes.FailedPrecondition, err.Error())
	}
	return t.Status(ctx, err)
}

// readOptions are the options of package query for a request.
func readOptions(t *catalog.Table, req *bigtablepb.ReadRowsRequest) ([]read.Option, error) {
	opts := make([]read.Option, 0, 8)
	if n := req.GetRowsLimit(); n < 0 {
		return nil, wire.Invalid("rows_limit is %d; it must not be negative", n)
	} else if n > 0 {
		opts = append(opts, read.Limit(int(n)))
	}
	if req.GetReversed() {
		opts = append(opts, read.Reverse())
	}
	rows, err := rowSet(req.GetRows())
	if err != nil {
		return nil, err
	}
	if rows, err = t.Within(rows); err != nil {
		return nil, err
	}
	opts = append(opts, rows...)
	if req.GetFilter() != nil {
		f, err := wire.Filter(req.GetFilter())
		if err != nil {
			return nil, err
		}
		opts = append(opts, read.BigtableFilter(f))
	}
	return opts, nil
}

// rowSet is the rows of a request: all rows when it names no rows.
func rowSet(set *bigtablepb.RowSet) ([]read.Option, error) {
	var opts []read.Option
	if len(set.GetRowKeys()) > 0 {
		keys := make([]string, len(set.GetRowKeys()))
		for i, k := range set.GetRowKeys() {
			if err := catalog.CheckRowKey(k); err != nil {
				return nil, err
			}
			keys[i] = wire.Text(k)
		}
		opts = append(opts, read.Key(keys...))
	}
	for i, r := range set.GetRowRanges() {
		o, err := rowRange(i, r)
		if err != nil {
			return nil, err
		}
		opts = append(opts, o)
	}
	return opts, nil
}

func rowRange(i int, r *bigtablepb.RowRange) (read.Option, error) {
	var start, end string
	var from, to []byte
	var fromField, toField string
	switch k := r.GetStartKey().(type) {
	case *bigtablepb.RowRange_StartKeyClosed:
		from, fromField = k.StartKeyClosed, "start_key_closed"
		start = wire.Text(from)
	case *bigtablepb.RowRange_StartKeyOpen:
		if from, fromField = k.StartKeyOpen, "start_key_open"; len(from) > 0 {
			start = string(from) + "\x00"
		}
	}
	switch k := r.GetEndKey().(type) {
	case *bigtablepb.RowRange_EndKeyClosed:
		if to, toField = k.EndKeyClosed, "end_key_closed"; len(to) > 0 {
			end = string(to) + "\x00"
		}
	case *bigtablepb.RowRange_EndKeyOpen:
		to, toField = k.EndKeyOpen, "end_key_open"
		end = wire.Text(to)
	}
	if len(to) > 0 && string(from) > string(to) {
		return nil, wire.Invalid("Error in element #%d: %s must be less than %s", i, fromField, toField)
	}
	if end != "" && start > end { // (k, k)
		end = start
	}
	return read.Range(start, end), nil
}

// A progress reports to the client the position of a read that returns no rows for a
// long time, so that the client can continue from there.
type progress struct {
	w     *chunkWriter
	every int
	read  func(key string) // counts a row that was rejected
	seen  int
	last  []byte // key of the row rejected since the last row was returned or reported
}

// scannedEvery is the number of rejected rows after which the client receives progress.
const scannedEvery = 10_000

func (p *progress) rejected(key string) error {
	p.last = append(p.last[:0], key...)
	p.read(key)
	if p.seen++; p.seen%p.every != 0 {
		return nil
	}
	p.last = p.last[:0]
	return p.w.scanned(key)
}

// end sends the remaining chunks and, to a client that asks for it, the last row
// that was looked at after the last one returned.
func (p *progress) end(ctx context.Context) error {
	if len(p.last) > 0 && features(ctx).GetLastScannedRowResponses() {
		return p.w.scanned(string(p.last))
	}
	return p.w.flush()
}

func features(ctx context.Context) *bigtablepb.FeatureFlags {
	flags := new(bigtablepb.FeatureFlags)
	for _, text := range wire.Header(ctx, "bigtable-features") {
		b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
		if err != nil || proto.Unmarshal(b, flags) != nil {
			return nil
		}
	}
	return flags
}

func requestStats(c *read.Cost, cells int64, took time.Duration) *bigtablepb.RequestStats {
	return &bigtablepb.RequestStats{StatsView: &bigtablepb.RequestStats_FullReadStatsView{
		FullReadStatsView: &bigtablepb.FullReadStatsView{
			ReadIterationStats: &bigtablepb.ReadIterationStats{
				RowsSeenCount:      max(c.RowsSeen, c.Rows),
				RowsReturnedCount:  c.Rows,
				CellsSeenCount:     c.CellsScanned,
				CellsReturnedCount: cells,
			},
			RequestLatencyStats: &bigtablepb.RequestLatencyStats{FrontendServerLatency: durationpb.New(took)},
		},
	}}
}
