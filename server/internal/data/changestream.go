package data

import (
	"context"
	"errors"
	"slices"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/server/internal/account"
	"github.com/smolwc/smolwc/server/internal/catalog"
)

// GenerateInitialChangeStreamPartitions divides the table's rows at the split
// points that the table was created with. Any other ranges can be read as well;
// each reading reads the whole log of the database.
func (s *service) GenerateInitialChangeStreamPartitions(req *bigtablepb.GenerateInitialChangeStreamPartitionsRequest, stream bigtablepb.Bigtable_GenerateInitialChangeStreamPartitionsServer) error {
	t, err := s.LookUp(req.GetTableName())
	if err != nil {
		return err
	}
	if declared, _ := s.DB.Plumbing().NewestTable(stream.Context(), t.Name.Stored); declared.ChangeStream == 0 {
		return noChangeStream(t)
	}
	start := ""
	for _, end := range append(spread(s.Note(t.Name.Stored).Splits, maxPartitions-1), "") {
		p := partition(read.RowRange{Start: start, End: end})
		if err := stream.Send(&bigtablepb.GenerateInitialChangeStreamPartitionsResponse{Partition: p}); err != nil {
			return err
		}
		start = end
	}
	return nil
}

// maxPartitions bounds how often clients read the log at the same time.
const maxPartitions = 16

// spread is up to n of the keys, at about equal distances.
func spread(keys []string, n int) []string {
	if len(keys) <= n {
		return slices.Clone(keys)
	}
	some := make([]string, n)
	for i := range some {
		some[i] = keys[i*len(keys)/n]
	}
	return some
}

func partition(rows read.RowRange) *bigtablepb.StreamPartition {
	return &bigtablepb.StreamPartition{RowRange: &bigtablepb.RowRange{
		StartKey: &bigtablepb.RowRange_StartKeyClosed{StartKeyClosed: []byte(rows.Start)},
		EndKey:   &bigtablepb.RowRange_EndKeyOpen{EndKeyOpen: []byte(rows.End)},
	}}
}

func noChangeStream(t *catalog.Table) error {
	return status.Errorf(codes.FailedPrecondition, "change stream is not enabled on table %q", t.Name)
}

// ReadChangeStream streams the changes of a partition, until end_time or until the client,
// the deadline of calls or the server ends it. A server in whose place another one was
// promoted sends no further changes.
func (s *service) ReadChangeStream(req *bigtablepb.ReadChangeStreamRequest, stream bigtablepb.Bigtable_ReadChangeStreamServer) error {
	t, err := s.LookUp(req.GetTableName())
	if err != nil {
		return err
	}
	opts, rows, err := changesOptions(req, s.DB.Now())
	if err != nil {
		return err
	}
	ctx, cancel := s.untilClosing(stream.Context())
	defer cancel()
	h := account.NewHold(ctx)
	defer h.Release()
	w := changeWriter{send: stream.Send, rows: rows, cluster: s.clusterOf(t.Name.In), hold: h, exact: wire.WantsExact(ctx)}
	for c, err := range t.Changes(ctx, opts...) {
		switch {
		case err == nil:
		case status.Code(context.Cause(s.leads)) == codes.Unavailable:
			return context.Cause(s.leads)
		case ctx.Err() != nil && stream.Context().Err() == nil && w.token != "":
			return w.close(w.token)
		default:
			return changesStatus(stream.Context(), t, err)
		}
		if err := w.write(c); err != nil {
			return err
		}
	}
	return w.close("")
}

// closingMargin is how long before the server's deadline for calls a stream ends
// in order.
const closingMargin = 2 * time.Second

// untilClosing is a context that ends when the server is about to stop or no longer leads,
// and shortly before its limit for calls.
func (s *service) untilClosing(ctx context.Context) (context.Context, func()) {
	limit := s.deadline - min(closingMargin, s.deadline/10)
	ctx, cancel := context.WithTimeout(ctx, limit)
	stop := context.AfterFunc(s.leads, cancel)
	return ctx, func() { stop(); cancel() }
}

func changesStatus(ctx context.Context, t *catalog.Table, err error) error {
	switch {
	case errors.Is(err, query.ErrNoChangeStream):
		return noChangeStream(t)
	case errors.Is(err, query.ErrChangesGone):
		return status.Error(codes.OutOfRange, err.Error())
	}
	return t.Status(ctx, err)
}

// changesOptions are the options of package query for a request. now is the
// database's.
func changesOptions(req *bigtablepb.ReadChangeStreamRequest, now cells.Timestamp) (opts []query.ChangesOption, rows read.RowRange, err error) {
	if rows, err = partitionRange(req.GetPartition()); err != nil {
		return nil, rows, err
	}
	beat := 5 * time.Second
	if d := req.GetHeartbeatDuration(); d != nil {
		if beat = d.AsDuration(); d.CheckValid() != nil || beat <= 0 {
			return nil, rows, wire.Invalid("heartbeat_duration must be longer than 0")
		}
	}
	opts = append(opts, query.ChangesIn(rows), query.Heartbeats(max(beat, leastHeartbeat)))
	switch from := req.GetStartFrom().(type) {
	case *bigtablepb.ReadChangeStreamRequest_StartTime:
		if err := from.StartTime.CheckValid(); err != nil {
			return nil, rows, wire.Invalid("start_time: %v", err)
		}
		opts = append(opts, query.ChangesSince(from.StartTime.AsTime()))
	case *bigtablepb.ReadChangeStreamRequest_ContinuationTokens:
		tokens := from.ContinuationTokens.GetTokens()
		if len(tokens) == 0 {
			return nil, rows, wire.Invalid("continuation_tokens has no tokens")
		}
		for i, token := range tokens {
			of, err := partitionRange(token.GetPartition())
			if err != nil {
				return nil, rows, err
			}
			if len(tokens) == 1 && token.GetPartition() != nil && of != rows {
				return nil, rows, wire.Invalid("continuation token %d is of another partition than the one to read", i)
			}
			opts = append(opts, query.ChangesAfter(token.GetToken()))
		}
	}
	if end := req.GetEndTime(); end != nil {
		if err := end.CheckValid(); err != nil {
			return nil, rows, wire.Invalid("end_time: %v", err)
		}
		opts = append(opts, query.ChangesUntil(endTime(end.AsTime(), time.Now(), now.Time())))
	}
	return opts, rows, nil
}

// endTime is the time at which a stream ends, by the database's clock, which may be ahead of the
// wall clock for a while. A client knows only the wall clock: a client that reads
// until about now, or later, should get all changes acknowledged before its request.
func endTime(end, wall, database time.Time) time.Time {
	if !database.After(wall) || end.Before(wall.Add(-aboutNow)) {
		return end
	}
	return database.Add(max(0, end.Sub(wall)))
}

// aboutNow is how long ago a client's now may be when its request arrives.
const aboutNow = time.Second

// leastHeartbeat is the shortest interval of heartbeats.
const leastHeartbeat = 10 * time.Millisecond

// partitionRange is the rows of a partition; nil is all.
func partitionRange(p *bigtablepb.StreamPartition) (rows read.RowRange, err error) {
	r := p.GetRowRange()
	switch k := r.GetStartKey().(type) {
	case nil:
	case *bigtablepb.RowRange_StartKeyClosed:
		rows.Start = string(k.StartKeyClosed)
	default:
		return rows, wire.Invalid("a partition starts with start_key_closed")
	}
	switch k := r.GetEndKey().(type) {
	case nil:
	case *bigtablepb.RowRange_EndKeyOpen:
		rows.End = string(k.EndKeyOpen)
	default:
		return rows, wire.Invalid("a partition ends with end_key_open")
	}
	return rows, nil
}

// A changeWriter turns changes into messages.
type changeWriter struct {
	send    func(*bigtablepb.ReadChangeStreamResponse) error
	rows    read.RowRange
	cluster string
	token   string        // of the last message, or of the start
	exact   bool          // each cell says the type of its value
	hold    *account.Hold // accounts for the memory of large changes
}

func (w *changeWriter) write(c *query.RowChange) error {
	first := w.token == ""
	w.token = c.Token()
	if !c.Heartbeat() {
		return w.dataChange(c)
	}
	if first { // of the start, which the client knows
		return nil
	}
	return w.send(&bigtablepb.ReadChangeStreamResponse{StreamRecord: &bigtablepb.ReadChangeStreamResponse_Heartbeat_{
		Heartbeat: &bigtablepb.ReadChangeStreamResponse_Heartbeat{
			ContinuationToken:     w.continuation(w.token),
			EstimatedLowWatermark: timestamppb.New(c.Watermark.Time()),
		},
	}})
}

func (w *changeWriter) continuation(token string) *bigtablepb.StreamContinuationToken {
	return &bigtablepb.StreamContinuationToken{Partition: partition(w.rows), Token: token}
}

// close ends a stream: for good, or with a token to continue from.
func (w *changeWriter) close(token string) error {
	c := &bigtablepb.ReadChangeStreamResponse_CloseStream{Status: &rpcstatus.Status{Code: int32(codes.OK)}}
	if token != "" {
		c.ContinuationTokens = []*bigtablepb.StreamContinuationToken{w.continuation(token)}
		c.NewPartitions = []*bigtablepb.StreamPartition{partition(w.rows)}
	}
	return w.send(&bigtablepb.ReadChangeStreamResponse{StreamRecord: &bigtablepb.ReadChangeStreamResponse_CloseStream_{CloseStream: c}})
}
