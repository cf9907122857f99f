package client

import (
	"context"
	"errors"
	"io"
	"iter"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
)

// Changes reads the changes of a table, as [query.Table.Changes] does, without heartbeats.
// When the server ends a stream in order, it goes on with the next one.
func (t *Table) Changes(ctx context.Context, want query.ChangesRequest) iter.Seq2[*query.ChangeAt, error] {
	return func(yield func(*query.ChangeAt, error) bool) {
		t, err := t.ready(ctx)
		if err != nil {
			yield(nil, clientError(readChanges, t.name, "", err))
			return
		}
		r := &changesReader{table: t, want: want, yield: yield}
		for more := true; more && err == nil; {
			more, err = r.stream(ctx)
		}
		if err != nil {
			yield(nil, clientError(readChanges, t.name, "", err))
		}
	}
}

const readChanges = "read changes"

// A changesReader is a reading of changes, over several streams if the server ends them.
type changesReader struct {
	table *Table
	want  query.ChangesRequest
	yield func(*query.ChangeAt, error) bool

	next  *query.RowChange // the change whose parts are arriving
	value []byte           // of a cell whose parts are arriving
	of    write.Change     // that cell
	exact cells.Type       // the type of its value
}

func (r *changesReader) request() *bigtablepb.ReadChangeStreamRequest {
	rows := &bigtablepb.StreamPartition{RowRange: &bigtablepb.RowRange{
		StartKey: &bigtablepb.RowRange_StartKeyClosed{StartKeyClosed: []byte(r.want.Rows.Start)},
		EndKey:   &bigtablepb.RowRange_EndKeyOpen{EndKeyOpen: []byte(r.want.Rows.End)},
	}}
	req := &bigtablepb.ReadChangeStreamRequest{TableName: r.table.client.name(r.table.name), Partition: rows}
	switch {
	case r.want.Token != "":
		req.StartFrom = &bigtablepb.ReadChangeStreamRequest_ContinuationTokens{ContinuationTokens: &bigtablepb.StreamContinuationTokens{
			Tokens: []*bigtablepb.StreamContinuationToken{{Partition: rows, Token: r.want.Token}},
		}}
	case r.want.Since > 0:
		req.StartFrom = &bigtablepb.ReadChangeStreamRequest_StartTime{StartTime: timestamppb.New(r.want.Since.Time())}
	}
	if r.want.Until > 0 {
		req.EndTime = timestamppb.New(r.want.Until.Time())
	}
	return req
}

// stream reads one stream of the server. more says that another one goes on where it
// ended.
func (r *changesReader) stream(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := r.table.client.data.ReadChangeStream(ctx, r.request())
	if err != nil {
		return false, err
	}
	r.next, r.value = nil, nil
	for {
		resp, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if closed := resp.GetCloseStream(); closed != nil {
			tokens := closed.GetContinuationTokens()
			if len(tokens) == 0 {
				return false, nil
			}
			r.want.Token = tokens[0].GetToken()
			return true, nil
		}
		if beat := resp.GetHeartbeat(); beat != nil {
			r.want.Token = beat.GetContinuationToken().GetToken()
		}
		c := resp.GetDataChange()
		if c == nil {
			continue
		}
		if err := r.add(c); err != nil {
			return false, err
		}
		if !c.GetDone() {
			continue
		}
		r.want.Token = c.GetToken()
		r.next.Watermark = cells.TimestampOf(c.GetEstimatedLowWatermark().AsTime())
		if !r.yield(&query.ChangeAt{RowChange: r.next, After: c.GetToken()}, nil) {
			return false, nil
		}
		r.next = nil
	}
}

// add adds the part of a change that is in a message.
func (r *changesReader) add(m *bigtablepb.ReadChangeStreamResponse_DataChange) error {
	if r.next == nil {
		r.next = &query.RowChange{
			Key: string(m.GetRowKey()), Time: cells.TimestampOf(m.GetCommitTimestamp().AsTime()), TieBreaker: int(m.GetTiebreaker()),
			Collected: m.GetType() == bigtablepb.ReadChangeStreamResponse_DataChange_GARBAGE_COLLECTION,
		}
	}
	for _, chunk := range m.GetChunks() {
		c, done, err := r.change(chunk)
		if err != nil {
			return err
		}
		if done {
			r.next.Changes = append(r.next.Changes, c)
		}
	}
	return nil
}

// change is the change in a chunk; done is false if more of its value follows.
func (r *changesReader) change(chunk *bigtablepb.ReadChangeStreamResponse_MutationChunk) (c write.Change, done bool, err error) {
	switch m := chunk.GetMutation().GetMutation().(type) {
	case *bigtablepb.Mutation_SetCell_:
		set, info := m.SetCell, chunk.GetChunkInfo()
		if info.GetChunkedValueOffset() == 0 {
			r.of = write.Change{Kind: write.SetChange, Family: set.GetFamilyName(), Qualifier: string(set.GetColumnQualifier()), Since: cells.Timestamp(set.GetTimestampMicros())}
			r.value, r.exact = nil, wire.ExactOf(set)
		}
		r.value = append(r.value, set.GetValue()...)
		if info != nil && !info.GetLastChunk() {
			return c, false, nil
		}
		r.of.Value = r.table.decoded(r.of.Family, r.exact, r.value)
		return r.of, true, nil
	case *bigtablepb.Mutation_AddToCell_:
		return write.Change{
			Kind: write.AddChange, Family: m.AddToCell.GetFamilyName(), Qualifier: string(m.AddToCell.GetColumnQualifier().GetRawValue()),
			Since: cells.Timestamp(m.AddToCell.GetTimestamp().GetRawTimestampMicros()), Value: cells.I64(m.AddToCell.GetInput().GetIntValue()),
		}, true, nil
	case *bigtablepb.Mutation_MergeToCell_:
		return write.Change{
			Kind: write.MergeChange, Family: m.MergeToCell.GetFamilyName(), Qualifier: string(m.MergeToCell.GetColumnQualifier().GetRawValue()),
			Since: cells.Timestamp(m.MergeToCell.GetTimestamp().GetRawTimestampMicros()), Value: cells.Bytes(m.MergeToCell.GetInput().GetRawValue()),
		}, true, nil
	case *bigtablepb.Mutation_DeleteFromColumn_:
		d := m.DeleteFromColumn
		return write.Change{
			Kind: write.DeleteVersionsChange, Family: d.GetFamilyName(), Qualifier: string(d.GetColumnQualifier()),
			Since: cells.Timestamp(d.GetTimeRange().GetStartTimestampMicros()), Until: cells.Timestamp(d.GetTimeRange().GetEndTimestampMicros()),
		}, true, nil
	case *bigtablepb.Mutation_DeleteFromFamily_:
		return write.Change{Kind: write.DeleteFamilyChange, Family: m.DeleteFromFamily.GetFamilyName()}, true, nil
	case *bigtablepb.Mutation_DeleteFromRow_:
		return write.Change{Kind: write.DeleteRowChange}, true, nil
	}
	return c, false, wire.Invalid("the server sends a change of a kind that this version does not know")
}
