package data

import (
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
)

// A change of a row may be larger than a message: then it is sent in several, and
// so is a cell's value.

// changeMessage is the size from which a message of changes is sent.
const changeMessage = 512 << 10

// A changeMessages divides one change.
type changeMessages struct {
	w    *changeWriter
	c    *query.RowChange
	next *bigtablepb.ReadChangeStreamResponse_DataChange
	size int
}

func (w *changeWriter) dataChange(c *query.RowChange) error {
	size := 0
	for i := range c.Changes {
		size += len(c.Changes[i].Qualifier) + c.Changes[i].Value.Len()
	}
	if size > changeMessage {
		if err := w.hold.Hold(size, true); err != nil {
			return err
		}
		defer func() { _ = w.hold.Hold(-size, true) }()
	}
	m := changeMessages{w: w, c: c, next: &bigtablepb.ReadChangeStreamResponse_DataChange{
		Type:            bigtablepb.ReadChangeStreamResponse_DataChange_USER,
		SourceClusterId: w.cluster,
		RowKey:          []byte(c.Key),
		CommitTimestamp: timestamppb.New(c.Time.Time()),
		Tiebreaker:      int32(c.TieBreaker),
	}}
	if c.Collected {
		m.next.Type, m.next.SourceClusterId = bigtablepb.ReadChangeStreamResponse_DataChange_GARBAGE_COLLECTION, ""
	}
	for i := range c.Changes {
		if err := m.add(&c.Changes[i]); err != nil {
			return err
		}
	}
	m.next.Done = true
	m.next.Token = w.token
	m.next.EstimatedLowWatermark = timestamppb.New(c.Watermark.Time())
	return m.send()
}

func (m *changeMessages) add(c *write.Change) error {
	mutation := wire.Mutation(c)
	set := mutation.GetSetCell()
	value := set.GetValue()
	if m.w.exact && set != nil {
		wire.SetExact(set, c.Value.Type())
	}
	for at := 0; ; {
		chunk := &bigtablepb.ReadChangeStreamResponse_MutationChunk{Mutation: mutation}
		n := len(value) - at
		if len(value) > changeMessage {
			n = min(n, max(changeMessage-m.size, 1))
			part := &bigtablepb.Mutation_SetCell{Value: value[at : at+n]}
			if at == 0 {
				part.FamilyName, part.ColumnQualifier, part.TimestampMicros = set.GetFamilyName(), set.GetColumnQualifier(), set.GetTimestampMicros()
				part.ProtoReflect().SetUnknown(set.ProtoReflect().GetUnknown())
			}
			chunk.Mutation = &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: part}}
			chunk.ChunkInfo = &bigtablepb.ReadChangeStreamResponse_MutationChunk_ChunkInfo{
				ChunkedValueSize: int32(len(value)), ChunkedValueOffset: int32(at), LastChunk: at+n == len(value),
			}
		}
		m.next.Chunks = append(m.next.Chunks, chunk)
		m.size += n + len(c.Family) + len(c.Qualifier) + 32
		at += n
		if m.size >= changeMessage {
			if err := m.flush(); err != nil {
				return err
			}
		}
		if at >= len(value) {
			return nil
		}
	}
}

// flush sends the chunks so far; more of the same change follows.
func (m *changeMessages) flush() error {
	if err := m.send(); err != nil {
		return err
	}
	m.next = &bigtablepb.ReadChangeStreamResponse_DataChange{Type: bigtablepb.ReadChangeStreamResponse_DataChange_CONTINUATION}
	m.size = 0
	return nil
}

func (m *changeMessages) send() error {
	return m.w.send(&bigtablepb.ReadChangeStreamResponse{StreamRecord: &bigtablepb.ReadChangeStreamResponse_DataChange_{DataChange: m.next}})
}
